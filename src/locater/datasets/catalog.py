"""Every dataset by its name: a new one is one file and one line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from locater.datasets import a2d, a2d_plus, coco, davis, folder, jhmdb, mevis, ref_davis17, refcoco, refer_youtube_vos
from locater.datasets.annotated import AnnotatedDataset, Figures
from locater.errors import LocaterError


@dataclass(frozen=True)
class Entry:
    """How a dataset is opened, its splits with their published figures (none: any split), and what each is for."""

    open: Callable[[Path, str], AnnotatedDataset]
    published: Mapping[str, Figures]
    default_split: str  # to evaluate on
    training_split: str | None = None  # None: for evaluation alone
    validation_split: str | None = None  # with masks, to watch a training; None where there is none


CATALOG: Mapping[str, Entry] = {
    "a2d-sentences": Entry(a2d.A2DSentences, a2d.PUBLISHED, "test", "train", "test"),
    "jhmdb-sentences": Entry(jhmdb.JhmdbSentences, jhmdb.PUBLISHED, "test"),
    "refer-youtube-vos": Entry(refer_youtube_vos.ReferYouTubeVos, refer_youtube_vos.PUBLISHED, "valid", "train"),
    "ref-davis17": Entry(ref_davis17.RefDavis17, ref_davis17.PUBLISHED, "val", "train", "val"),
    "davis": Entry(davis.DavisSentences, davis.PUBLISHED, "train"),  # its licence forbids training what ships
    "mevis": Entry(mevis.Mevis, mevis.PUBLISHED, "valid_u", "train", "valid_u"),
    "a2d-s+": Entry(a2d_plus.open_a2d_plus, a2d_plus.PUBLISHED, "all"),
    "folder": Entry(folder.FolderDataset, folder.PUBLISHED, "", "train"),
    "coco": Entry(coco.CocoInstances, coco.PUBLISHED, "train2017", "train2017", "val2017"),
    "refcoco": Entry(refcoco.open_refcoco, refcoco.PUBLISHED_REFCOCO, "val", "train", "val"),
    "refcoco+": Entry(refcoco.open_refcoco_plus, refcoco.PUBLISHED_REFCOCO_PLUS, "val", "train", "val"),
    "refcocog": Entry(refcoco.open_refcocog, refcoco.PUBLISHED_REFCOCOG, "val", "train", "val"),
}


def dataset_names() -> list[str]:
    """Every name that `open_dataset` knows."""
    return list(CATALOG)


def find_entry(name: str) -> Entry:
    """The catalog's line for a name."""
    if name not in CATALOG:
        raise LocaterError(f"There is no dataset '{name}'; choose one of {', '.join(CATALOG)}.")
    return CATALOG[name]


def find_split(name: str, split: str | None) -> str:
    """The split asked for, or the dataset's usual one."""
    entry = find_entry(name)
    if split is None:
        return entry.default_split
    if entry.published and split not in entry.published:
        raise LocaterError(f"{name} has no split '{split}'; it has {', '.join(entry.published)}.")
    return split


def open_dataset(name: str, root: Path | None, split: str | None) -> AnnotatedDataset:
    """The dataset that lies in `root`; listing its samples needs the annotations alone."""
    chosen = find_split(name, split)
    if root is None:
        raise LocaterError(f"{name} needs the folder it was unpacked in; give it after the name.")
    folder_given = root.expanduser()
    if not folder_given.is_dir():
        raise LocaterError(f"There is no folder {root}; give the one that {name} was unpacked in.")
    return find_entry(name).open(folder_given, chosen)
