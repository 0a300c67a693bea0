"""One catalog: every name, one spelling, and one sentence for what cannot be opened."""

from pathlib import Path

import pytest

from locater.datasets.catalog import CATALOG, Annotated, Source, find_source, open_dataset
from locater.datasets.drawn_worlds import Drawing
from locater.errors import LocaterError
from locater.evaluation.run.evaluators import EVALUATORS
from locater.training.data.sources import DRAWN
from tests.support.composed_sources import small_pack
from tests.support.datasets.making_datasets import make_folder
from tests.support.datasets.making_davis import make_davis


def test_one_spelling_and_the_old_one_name_the_same(tmp_path: Path) -> None:
    assert find_source("shapes") == Source("shapes")
    assert find_source(f"folder:{tmp_path}") == find_source("folder", tmp_path) == Source("folder", tmp_path)
    assert find_source("folder:~/x").root == Path.home() / "x" == find_source("folder", Path("~/x")).root
    assert find_source("folder:a:b").root == Path("a:b")
    assert str(find_source("folder:a")) == "folder:a" and str(find_source("shapes")) == "shapes"


@pytest.mark.parametrize(
    ("spec", "root", "split", "count", "told"),
    [
        (
            "a2d",
            None,
            None,
            None,
            r"There is no dataset 'a2d'; choose one of shapes, composed:PACK, failures, positions:PACK, a2d-",
        ),
        ("folder:a", Path("b"), None, None, "folder is given two folders, a and b; write folder:a alone"),
        ("a2d-sentences:{}", None, "valid", None, "a2d-sentences has no split 'valid'; it has train, test"),
        ("a2d-sentences", None, None, None, "needs the folder it was unpacked in; write a2d-sentences:FOLDER"),
        ("a2d-sentences:{}/absent", None, None, None, "There is no folder"),
        ("mevis:{}", None, None, 3, "--count is for worlds"),
        ("shapes:{}", None, None, None, "The world shapes is drawn, not read"),
        ("shapes", None, "train", None, "shapes has no split 'train'; it has test, heldout, validation"),
        ("shapes", None, None, 0, "--count is 0"),
        ("composed", None, None, None, "The world composed needs its pack's folder; make one with"),
        ("composed:{}", None, None, None, "is no pack of cut-outs"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    tmp_path: Path, spec: str, root: Path | None, split: str | None, count: int | None, told: str
) -> None:
    with pytest.raises(LocaterError, match=told) as failed:
        find_source(spec.format(tmp_path), root).open(split, Drawing(count))
    assert str(failed.value).endswith(".") and "\n" not in str(failed.value)


def test_worlds_and_datasets_open_alike(tmp_path: Path) -> None:
    make_folder(tmp_path / "own")
    for spec, name, questions in (
        ("shapes", "shapes-test", 9),
        (f"composed:{small_pack().folder}", "composed-test", 9),
        (f"folder:{tmp_path / 'own'}", "own", 5),
    ):
        source = find_source(spec)
        dataset = source.open(None, Drawing(1 if source.entry.is_drawn else None, size=32))
        assert dataset.name == name and len(dataset.samples()) == questions
        assert dataset.load(dataset.samples()[0]).masks


def test_a_dataset_opens_with_its_own_sentences_alone(tmp_path: Path) -> None:
    make_davis(tmp_path)
    opened = find_source(f"davis:{tmp_path}").open().samples()
    assert len(opened) == 90 and {info.kind for info in opened} == {"noun", "attribute", "action"}


def test_every_line_has_a_usual_split_and_names_the_file_it_misses(tmp_path: Path) -> None:
    for name, entry in CATALOG.items():
        assert not entry.splits or entry.default_split in entry.splits
        if isinstance(entry, Annotated):
            with pytest.raises(LocaterError, match="is missing"):
                open_dataset(name, tmp_path, None).samples()
        else:
            with pytest.raises(LocaterError, match="is drawn, not read; it has no files"):
                open_dataset(name, None, None)


def test_what_is_registered_elsewhere_is_in_the_catalog() -> None:
    assert EVALUATORS.keys() <= CATALOG.keys()
    assert DRAWN.keys() == {name for name, entry in CATALOG.items() if entry.is_drawn and entry.training_split}
