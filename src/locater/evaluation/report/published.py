"""The numbers the paper prints, to stand beside ours: its tables for A2D-S, J-HMDB-S, Ref-YTVOS and A2D-S+."""

from collections.abc import Mapping

# The paper's mAP column mixes two definitions (see docs/evaluation.md), so it stands under its own name.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "a2d-sentences": ("mAP", "oIoU", "mIoU"),
    "jhmdb-sentences": ("mAP", "oIoU", "mIoU"),
    "refer-youtube-vos": ("J&F",),
    "a2d-s+-M": ("mAP", "oIoU", "mIoU"),
    "a2d-s+-S": ("mAP", "oIoU", "mIoU"),
    "a2d-s+-T": ("mAP", "oIoU", "mIoU"),
}
_ROWS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "a2d-sentences": {
        "LOCATER ViT-B/6": (42.8, 69.0, 59.7),
        "LOCATER Video-Swin-T": (48.8, 71.6, 64.2),
        "MTTR": (46.1, 72.0, 64.0),
        "ReferFormer": (48.6, 72.3, 64.1),
    },
    "jhmdb-sentences": {
        "LOCATER ViT-B/6": (36.3, 67.3, 66.3),
        "LOCATER Video-Swin-T": (39.4, 70.8, 69.6),
        "MTTR": (39.2, 70.1, 69.8),
        "ReferFormer": (39.1, 70.0, 69.3),
    },
    "refer-youtube-vos": {
        "LOCATER ViT-B/6": (50.0,),
        "LOCATER Video-Swin-T": (56.5,),
        "MTTR": (55.3,),
        "ReferFormer": (56.0,),
    },
    "a2d-s+-M": {
        "LOCATER ViT-B/6": (33.6, 54.5, 49.0),
        "LOCATER without memory": (31.0, 52.8, 46.5),
        "Hui et al. 2021": (26.7, 50.6, 43.3),
        "Wang et al. 2019": (16.0, 45.3, 37.2),
    },
    "a2d-s+-S": {
        "LOCATER ViT-B/6": (19.0, 31.4, 29.9),
        "LOCATER without memory": (17.8, 30.0, 28.4),
        "Hui et al. 2021": (16.3, 34.1, 28.7),
        "Wang et al. 2019": (9.7, 25.3, 20.1),
    },
    "a2d-s+-T": {
        "LOCATER ViT-B/6": (23.6, 37.0, 30.2),
        "LOCATER without memory": (23.0, 35.9, 29.7),
        "Hui et al. 2021": (19.2, 38.3, 27.5),
        "Wang et al. 2019": (11.1, 29.8, 24.4),
    },
}
# The paper's Table 7: objects per video and LOCATER's mIoU, in three groups.
_THIRDS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "a2d-s+-S": ((2.40, 40.8), (4.11, 29.8), (8.56, 19.2)),
    "a2d-s+-T": ((2.39, 38.1), (4.19, 30.4), (8.79, 22.2)),
}


def published_rows(dataset_name: str) -> dict[str, dict[str, float]]:
    """The printed results on a dataset, in per cent, by method and column; nothing for a dataset the paper lacks."""
    for name, columns in _COLUMNS.items():
        if dataset_name == name or dataset_name.startswith(f"{name}-"):
            return {method: dict(zip(columns, values, strict=True)) for method, values in _ROWS[name].items()}
    return {}


def published_thirds(dataset_name: str) -> tuple[tuple[float, float], ...]:
    """Objects per video and LOCATER's mIoU in per cent, by number of objects; nothing for datasets but S and T."""
    return _THIRDS.get(dataset_name, ())
