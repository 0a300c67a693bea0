"""What an ablation's runs are scored on, checked before the first of them, and the scores that `evaluate` gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.compute.device import find_device
from locater.config import ModelConfig
from locater.datasets.catalog import Source, find_source
from locater.datasets.drawn_worlds import Drawing
from locater.errors import LocaterError
from locater.evaluation.report.tables import Report
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.evaluation.run.runner import chosen
from locater.inference.averaged_views import PLAIN
from locater.inference.segmenter import Segmenter
from locater.model.checkpoint import from_pretrained
from locater.records import SampleInfo, Views

_Asked = tuple[str, str, str | None]  # video, sentence and object: keys may be numbered within a split

NO_KIND = "all"  # the column of a set whose sentences have no kinds


@dataclass(frozen=True)
class Amount:
    """How much of a set is scored."""

    count: int | None = None  # videos per kind, of a world; scenes, of positions
    limit: int | None = None  # questions, of a dataset; None: all


@dataclass(frozen=True)
class ScoredSet:
    """A set with the split that is scored, known to have questions and masks."""

    name: str  # as it was asked for
    source: Source
    split: str
    amount: Amount


def find_scored_sets(names: Sequence[str], split: str | None, amount: Amount) -> list[ScoredSet]:
    """The sets, of which the first is also trained on; one sentence where one of them cannot serve.

    `split` is the first one's, where that is not the usual one.
    """
    sources = {name: find_source(name) for name in names}
    trained_on = _trained_on(next(iter(sources.values())))
    found = []
    for number, (name, source) in enumerate(sources.items()):
        is_first = number == 0
        own = Amount(count=amount.count) if source.entry.is_drawn else Amount(limit=amount.limit)
        wanted = _unseen_split(source, split, trained_on) if is_first else source.find_split(None)
        dataset = source.open(wanted, Drawing(own.count))
        if not any(dataset.load(info).masks for info in chosen(dataset, own.limit)):
            raise LocaterError(f"{name} has no masks in {dataset.name}, so that nothing can be scored on it.")
        found.append(ScoredSet(name, source, wanted, own))
    return found


def score(run: Path, config: ModelConfig, scored: ScoredSet, out: Path, views: Views = PLAIN) -> Report:
    """The report on a finished run, used with `config` in some views; answers are kept in `out`, and given once."""
    model = from_pretrained(run / "checkpoint")
    memory = model.config.memory.model_copy(update={"interval": config.memory.interval})
    model.config = model.config.model_copy(update={"memory": memory, "keep_aspect": config.keep_aspect})
    asked = EvaluateRequest(
        str(run / "checkpoint"),
        scored.source,
        out,
        scored.split,
        count=scored.amount.count,
        limit=scored.amount.limit,
        failures=0,
        views=views,
    )
    report = evaluate(asked, Segmenter(model, find_device(None)), Place()).report
    assert report is not None  # of the first process, which this one is
    return report


def miou_by_kind(report: Report) -> dict[str, float]:
    """mIoU of each kind; of all questions together where some have no kind."""
    kinds = report.groups.get("kind", {})
    has_all = sum(scores["samples"] or 0 for scores in kinds.values()) == report.scores["samples"]
    groups = kinds if has_all else {NO_KIND: report.scores}
    return {kind: float(miou) for kind, scores in groups.items() if (miou := scores["miou"]) is not None}


def _trained_on(source: Source) -> frozenset[_Asked]:
    """The videos and sentences that are trained on, of a dataset; a world never draws those of another split."""
    split = source.find_training_split()
    if source.entry.is_drawn:
        source.find_root()
        return frozenset()
    return _asked(chosen(source.open(split), None))


def _unseen_split(source: Source, split: str | None, trained_on: frozenset[_Asked]) -> str:
    """The split asked for or the usual one; the validation split where those would be scored on what was learned."""
    usual = [source.find_split(split)]
    if split is None and source.entry.validation_split is not None:
        usual.append(source.entry.validation_split)
    for each in usual:
        if not trained_on or not trained_on & _asked(source.open(each).samples()):
            return each
    raise LocaterError(
        f"{source} would be scored on sentences that it is trained on; name a split without them, as --split test."
    )


def _asked(infos: Sequence[SampleInfo]) -> frozenset[_Asked]:
    return frozenset((info.video, info.expression, info.object_id) for info in infos)
