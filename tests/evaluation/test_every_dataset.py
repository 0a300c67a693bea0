"""Every dataset's official layout, small, goes through the same runner to the same kind of results."""

from collections.abc import Callable
from pathlib import Path

import pytest

from locater.datasets.catalog import Source
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.inference.segmenter import Segmenter
from tests.support.datasets.layouts import LAYOUTS
from tests.support.datasets.making_datasets import Truth

ONE_SPLIT_EACH = list({name: (name, split, make) for name, split, make in reversed(LAYOUTS)}.values())


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
@pytest.mark.parametrize(("name", "split", "make"), ONE_SPLIT_EACH, ids=[name for name, _, _ in ONE_SPLIT_EACH])
def test_a_layout_is_scored(
    checkpoint: Path, tmp_path: Path, name: str, split: str | None, make: Callable[[Path], Truth]
) -> None:
    truth = make(tmp_path / "root")
    asked = EvaluateRequest(str(checkpoint), Source(name, tmp_path / "root"), tmp_path / "out", split=split, failures=2)
    finished = evaluate(asked, Segmenter.from_pretrained(checkpoint, "cpu"), Place(0, 1, 0))
    assert finished.results is not None
    rows = (tmp_path / "out" / "per_sample.csv").read_text().splitlines()[1:]
    scores = finished.results["scores"]
    keys = {row.split(",")[0] for row in rows}
    assert len(rows) == scores["samples"] > 0 and keys <= truth.keys()
    assert scores["frames"] == sum(len(truth[key]) for key in keys)
    assert 0 <= scores["miou"] <= 1 and 0 <= scores["j&f"] <= 1
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results.json", "results.md", "per_sample.csv"}
