"""What the paper prints of a dataset that is evaluated, to stand beside ours: A2D-S, J-HMDB-S, Ref-YTVOS and A2D-S+."""

from collections.abc import Mapping

from locater.published.tables import printed_table

Values = Mapping[str, float | None]  # in per cent, by the score's name; None where the paper has none

# The paper's mAP column mixes two definitions (see docs/evaluation.md), so it stands under its own name.
_PRECISIONS = ("P@0.5", "P@0.6", "P@0.7", "P@0.8", "P@0.9", "mAP", "oIoU", "mIoU")
_ON_DATASETS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "a2d-sentences": ("a2dsota", _PRECISIONS),
    "jhmdb-sentences": ("jhmdbsota", _PRECISIONS),
    "refer-youtube-vos": ("youtubesota", ("J&F", "J", "F")),
}
_ON_SUBSETS = ("mAP", "oIoU", "mIoU")
_SUBSETS = {f"a2d-s+-{subset}": subset for subset in ("M", "S", "T")}
LOCATER = "LOCATER"


def published_rows(dataset_name: str) -> dict[str, Values]:
    """The printed results on a dataset by method and column; nothing for a dataset the paper lacks."""
    for name, subset in _SUBSETS.items():
        if _is(dataset_name, name):
            rows = printed_table("subsets").rows
            return {row.name: {title: row.value(f"{subset} {title}") for title in _ON_SUBSETS} for row in rows}
    for name, (table, columns) in _ON_DATASETS.items():
        if _is(dataset_name, name):
            return {row.name: {title: row.value(title) for title in columns} for row in printed_table(table).rows}
    return {}


def published_thirds(dataset_name: str) -> tuple[tuple[float, float], ...]:
    """Objects per video and LOCATER's mIoU in per cent, by number of objects; nothing for datasets but S and T."""
    subset = _SUBSETS.get(dataset_name)
    printed = printed_table("num_objects")
    found = []
    for column, text in printed.row(LOCATER).cells.items():
        of, _, objects = column.partition(", ")
        if of == subset:
            found.append((float(objects.removesuffix(" objects")), float(text)))
    return tuple(found)


def _is(dataset_name: str, name: str) -> bool:
    return dataset_name == name or dataset_name.startswith(f"{name}-")
