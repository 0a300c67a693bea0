"""Everything that is opened by its name, `NAME[:ROOT]`: a new dataset is one file and one line here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.datasets import (
    a2d,
    a2d_plus,
    coco,
    coco_val,
    davis,
    drawn_worlds,
    folder,
    jhmdb,
    mevis,
    ref_davis17,
    refcoco,
    refer_youtube_vos,
)
from locater.datasets.annotated import AnnotatedDataset, Figures
from locater.datasets.drawn_worlds import TRAINING_SPLIT, VALIDATION_SPLIT, Drawing
from locater.errors import LocaterError
from locater.records import Dataset

AS_USUAL = Drawing()


@dataclass(frozen=True)
class World:
    """A world that we draw: how it is opened, its usual split and number, and whether it is drawn from a pack."""

    open: Callable[[Path | None, str, int, Drawing], Dataset]
    default_split: str  # to evaluate on
    default_count: int  # videos per kind of sentence; of positions, scenes
    has_pack: bool
    training_split: str | None = None  # None: for evaluation alone
    validation_split: str | None = None  # to watch a training
    may_have_pack: bool = False  # it is drawn from a pack where one is given

    is_drawn = True

    @property
    def splits(self) -> Sequence[str]:
        """Those to evaluate on."""
        return drawn_worlds.SPLITS

    @property
    def root(self) -> str:
        """What stands after the colon."""
        return "PACK" if self.has_pack else ""

    def find_root(self, name: str, root: Path | None) -> Path | None:
        """The pack's folder, which the world itself looks into; None where it has none."""
        if self.has_pack and root is None:
            raise LocaterError(f"The world {name} needs its pack's folder; make one with `locater data compose`.")
        if not self.has_pack and not self.may_have_pack and root is not None:
            raise LocaterError(f"The world {name} is drawn, not read; leave {root} out.")
        return root

    def open_split(self, name: str, root: Path | None, split: str, drawing: Drawing) -> Dataset:
        """Its videos of a split."""
        if drawing.count is not None and drawing.count < 1:
            raise LocaterError(f"--count is {drawing.count}; it must be at least 1.")
        return self.open(self.find_root(name, root), split, drawing.count or self.default_count, drawing)


@dataclass(frozen=True)
class Annotated:
    """A dataset that others made: how it is opened, its splits with their published figures (none: any split)."""

    open: Callable[[Path, str], AnnotatedDataset]
    published: Mapping[str, Figures]
    default_split: str  # to evaluate on
    training_split: str | None = None  # None: for evaluation alone
    validation_split: str | None = None  # with masks, to watch a training; None where there is none

    is_drawn = False
    root = "ROOT"

    @property
    def splits(self) -> Sequence[str]:
        """Those with published figures; none: any that its files name."""
        return list(self.published)

    def find_root(self, name: str, root: Path | None) -> Path:
        """The folder it was unpacked in, which must be there."""
        if root is None:
            raise LocaterError(f"{name} needs the folder it was unpacked in; write {name}:FOLDER.")
        if not root.is_dir():
            raise LocaterError(f"There is no folder {root}; give the one that {name} was unpacked in.")
        return root

    def open_split(self, name: str, root: Path | None, split: str, drawing: Drawing) -> AnnotatedDataset:
        """Its questions of a split; listing them needs the annotations alone."""
        if drawing.count is not None:
            raise LocaterError("--count is for worlds; `locater evaluate --limit` scores a dataset's first questions.")
        return self.open(self.find_root(name, root), split)


Entry = World | Annotated

CATALOG: Mapping[str, Entry] = {
    "shapes": World(drawn_worlds.open_shapes, "test", 100, False, TRAINING_SPLIT, VALIDATION_SPLIT),
    "composed": World(drawn_worlds.open_composed, "test", 100, True, TRAINING_SPLIT, VALIDATION_SPLIT),
    "failures": World(drawn_worlds.open_failures, "test", 100, False, may_have_pack=True),
    "positions": World(drawn_worlds.open_positions, "heldout", 200, True),
    "a2d-sentences": Annotated(a2d.A2DSentences, a2d.PUBLISHED, "test", "train", "test"),
    "jhmdb-sentences": Annotated(jhmdb.JhmdbSentences, jhmdb.PUBLISHED, "test"),
    "refer-youtube-vos": Annotated(refer_youtube_vos.ReferYouTubeVos, refer_youtube_vos.PUBLISHED, "valid", "train"),
    "ref-davis17": Annotated(ref_davis17.RefDavis17, ref_davis17.PUBLISHED, "val", "train", "val"),
    "davis": Annotated(davis.DavisSentences, davis.PUBLISHED, "train"),  # its licence forbids training what ships
    "mevis": Annotated(mevis.Mevis, mevis.PUBLISHED, "valid_u", "train", "valid_u"),
    "a2d-s+": Annotated(a2d_plus.open_a2d_plus, a2d_plus.PUBLISHED, "all"),
    "folder": Annotated(folder.FolderDataset, folder.PUBLISHED, "", "train"),
    "coco": Annotated(coco.CocoInstances, coco.PUBLISHED, "train2017", "train2017", "val2017"),
    "coco-val": Annotated(coco_val.CocoVal, coco_val.PUBLISHED, "val"),
    "refcoco": Annotated(refcoco.open_refcoco, refcoco.PUBLISHED_REFCOCO, "val", "train", "val"),
    "refcoco+": Annotated(refcoco.open_refcoco_plus, refcoco.PUBLISHED_REFCOCO_PLUS, "val", "train", "val"),
    "refcocog": Annotated(refcoco.open_refcocog, refcoco.PUBLISHED_REFCOCOG, "val", "train", "val"),
}


@dataclass(frozen=True)
class Source:
    """What `NAME[:ROOT]` stands for; nothing is read before it is opened."""

    name: str
    root: Path | None = None

    def __str__(self) -> str:
        return self.name if self.root is None else f"{self.name}:{self.root}"

    @property
    def entry(self) -> Entry:
        """The catalog's line."""
        return CATALOG[self.name]

    def find_root(self) -> Path | None:
        """What it is opened from: a folder that is there, a pack, or None for what needs neither."""
        return self.entry.find_root(self.name, self.root)

    def find_split(self, split: str | None) -> str:
        """The split asked for, or the usual one to evaluate on."""
        if split is None:
            return self.entry.default_split
        if self.entry.splits and split not in self.entry.splits:
            raise LocaterError(f"{self.name} has no split '{split}'; it has {', '.join(self.entry.splits)}.")
        return split

    def find_training_split(self) -> str:
        """The split to train on."""
        if self.entry.training_split is None:
            raise LocaterError(f"{self.name} is for evaluation alone; train on another dataset and evaluate on it.")
        return self.entry.training_split

    def open(self, split: str | None = None, drawing: Drawing = AS_USUAL) -> Dataset:
        """Its own questions of a split, and no others."""
        return self.entry.open_split(self.name, self.root, self.find_split(split), drawing)


def find_source(spec: str, root: Path | None = None) -> Source:
    """What `NAME[:ROOT]` names; in the old spelling ROOT is an argument of its own."""
    name, _, inside = spec.partition(":")
    if name not in CATALOG:
        known = ", ".join(f"{each}:{entry.root}" if entry.root else each for each, entry in CATALOG.items())
        raise LocaterError(f"There is no dataset '{name}'; choose one of {known}.")
    if inside and root is not None:
        raise LocaterError(f"{name} is given two folders, {inside} and {root}; write {name}:{inside} alone.")
    given = Path(inside) if inside else root
    return Source(name, None if given is None else given.expanduser())


def find_annotated(name: str) -> Annotated:
    """The catalog's line of a dataset that others made: one with files, published figures and their problems."""
    entry = find_source(name).entry
    if isinstance(entry, World):
        raise LocaterError(f"The world {name} is drawn, not read; it has no files that could be checked.")
    return entry


def open_dataset(name: str, root: Path | None, split: str | None) -> AnnotatedDataset:
    """The dataset that others made and that lies in `root`; it can say what is wrong with its files."""
    source = find_source(name, root)
    return find_annotated(name).open_split(name, source.root, source.find_split(split), AS_USUAL)
