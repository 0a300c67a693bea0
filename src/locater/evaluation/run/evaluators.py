"""Which evaluator asks and reports on what the catalog names; everything else has the plain one."""

from collections.abc import Callable, Mapping
from typing import Any

from locater.evaluation.report.annotators import AnnotatorsEvaluator
from locater.evaluation.report.failure_types import FailureTypesEvaluator
from locater.evaluation.report.positions import PositionsEvaluator
from locater.evaluation.report.sections import Evaluator
from locater.evaluation.report.stills import StillsEvaluator
from locater.evaluation.report.subsets import SubsetsEvaluator
from locater.evaluation.report.words import WordsEvaluator
from locater.records import Dataset

# Each takes the kind of dataset that the catalog opens under its name.
EVALUATORS: Mapping[str, Callable[[Any], Evaluator[Any]]] = {
    "positions": PositionsEvaluator,
    "failures": FailureTypesEvaluator,
    "ref-davis17": AnnotatorsEvaluator,
    "davis": WordsEvaluator,
    "a2d-s+": SubsetsEvaluator,
    "coco-val": StillsEvaluator,
}


def evaluator_of(name: str, dataset: Dataset) -> Evaluator[Any]:
    """The evaluator of a dataset that the catalog opened under `name`."""
    return EVALUATORS.get(name, Evaluator)(dataset)
