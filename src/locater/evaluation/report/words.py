"""The report on DAVIS with our sentences: whether the words decide, and every sequence by itself."""

from collections.abc import Mapping, Sequence
from typing import Self

from locater.datasets.annotated import ClassedDataset
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.sequences import SEQUENCE_SCORES, by_sequence
from locater.evaluation.metrics.summary import Scores, summarise
from locater.evaluation.metrics.words_decide import answerable, rightly_asked, words_results
from locater.evaluation.report.sections import Evaluator, Sections
from locater.evaluation.report.titles import TITLES
from locater.evaluation.run.contrasts import ContrastedDataset
from locater.report.tables import Table, percent

_ROWS = {
    "right": "the right sentence",
    "crowd": "a right sentence that tells look-alikes apart",
    "wrong": "a wrong sentence (lower is better)",
    "wrong_far": "wrong: another kind of thing",
    "wrong_kin": "wrong: near kin",
    "wrong_attribute": "wrong: a look-alike's attribute",
    "spatial": "two videos side by side",
    "temporal": "two videos one after the other",
}
_COLUMNS = {
    "j": "J",
    "f": "F",
    "j&f": "J&F",
    "j&f_visible": "J&F where visible",
    "empty_share": "empty masks",
    "not_taken_share": "not taken",
}


class WordsEvaluator(Evaluator[ClassedDataset]):
    """Asks a wrong sentence beside every right one, and counts the right ones alone as the dataset's scores."""

    def __init__(self, dataset: ClassedDataset, contrasts: Sequence[str] = ()) -> None:
        super().__init__(dataset)
        self._contrasted = ContrastedDataset(dataset, contrasts)

    @property
    def dataset(self) -> ContrastedDataset:
        """Its own questions, wrong ones, and the pairs asked for."""
        return self._contrasted

    def with_contrasts(self, contrasts: Sequence[str]) -> Self:
        """The same, with joined pairs of these kinds."""
        return type(self)(self.source, contrasts)

    def counted(self, samples: Sequence[SampleScore]) -> Sequence[SampleScore]:
        """Those to right sentences about single videos."""
        return rightly_asked(samples)

    def answerable(self, samples: Sequence[SampleScore]) -> Sequence[SampleScore]:
        """All but those to wrong sentences."""
        return answerable(samples)

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`words` and `sequences`."""
        right = rightly_asked(samples)
        words, sequences = words_results(samples), by_sequence(right)
        return Sections(
            {"words": words, "sequences": sequences},
            (_words_table(words),),
            (_sequence_table({**sequences, "all": summarise(right)}),),
        )


def _words_table(words: Mapping[str, Scores]) -> Table:
    rows = [
        [_ROWS[name], str(scores["samples"]), *(percent(scores[column]) for column in _COLUMNS)]
        for name, scores in words.items()
    ]
    return Table("Whether the words decide", ["", "questions", *_COLUMNS.values()], rows)


def _sequence_table(sequences: Mapping[str, Scores]) -> Table:
    rows = [
        [name, str(scores["samples"]), *(percent(scores[column]) for column in SEQUENCE_SCORES)]
        for name, scores in sequences.items()
    ]
    return Table("By sequence", ["", "questions", *(TITLES[column] for column in SEQUENCE_SCORES)], rows)
