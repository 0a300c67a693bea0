"""The numbers the paper prints, to stand beside ours: its tables for A2D-Sentences, J-HMDB-Sentences, Ref-YTVOS."""

from collections.abc import Mapping

# The paper's mAP column mixes two definitions (see docs/evaluation.md), so it stands under its own name.
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "a2d-sentences": ("mAP", "oIoU", "mIoU"),
    "jhmdb-sentences": ("mAP", "oIoU", "mIoU"),
    "refer-youtube-vos": ("J&F",),
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
}


def published_rows(dataset_name: str) -> dict[str, dict[str, float]]:
    """The printed results on a dataset, in per cent, by method and column; nothing for a dataset the paper lacks."""
    for name, columns in _COLUMNS.items():
        if dataset_name == name or dataset_name.startswith(f"{name}-"):
            return {method: dict(zip(columns, values, strict=True)) for method, values in _ROWS[name].items()}
    return {}
