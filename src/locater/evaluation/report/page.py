"""The page of an evaluation, `results.html`: scores, charts, every table, pictures of the worst and best answers."""

from collections.abc import Mapping, Sequence

from PIL import Image

from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.reliability import reliability_section
from locater.evaluation.report.tables import Report
from locater.evaluation.report.titles import TITLES
from locater.report.charts import Bars, Lines
from locater.report.page import Block, Facts, Page, Section
from locater.report.pictures import Picture
from locater.report.tables import percent

Strips = Sequence[tuple[SampleScore, Image.Image]]

_FIRST = ("j&f", "j", "f", "miou", "oiou", "presence_accuracy")
_REMARKS = {"presence_accuracy": "frames where both or neither is empty"}


def results_page(report: Report, samples: Sequence[SampleScore], worst: Strips, best: Strips) -> Page:
    """The whole page; `samples` are the answers that the scores are made of."""
    facts = [(TITLES[name], percent(report.scores[name]), _REMARKS.get(name, "")) for name in _FIRST]
    charts: list[Block] = [spread_chart({"J&F": samples})]
    charts += [Bars("J&F by kind of sentence", {"J&F": kinds})] if (kinds := _by_kind(report)) else []
    tables = [Section(table.title, [table]) for table in report.tables()]
    return Page(
        report.title,
        report.about,
        [
            Section("Scores", [Facts(facts)]),
            Section("How the answers are spread", charts, are_beside=True),
            reliability_section(samples),
            *tables,
            Section("The worst answers", answer_pictures(worst)),
            Section("The best answers", answer_pictures(best)),
        ],
    )


def spread_chart(answers: Mapping[str, Sequence[SampleScore]]) -> Lines:
    """J&F of every question, from the worst to the best, a curve for each system."""
    curves = {}
    for name, samples in answers.items():
        scores = sorted(100 * sample.j_and_f for sample in samples if sample.j_and_f is not None)
        curves[name] = [(100 * (place + 0.5) / len(scores), score) for place, score in enumerate(scores)]
    return Lines("J&F of every question", "questions, from the worst to the best, in per cent", curves, (0.0, 100.0))


def answer_pictures(strips: Strips) -> list[Picture]:
    """A picture for each answer, its sentence and its scores below."""
    return [
        Picture(
            strip,
            f"\u201c{score.info.expression}\u201d",
            f"J {percent(score.j)}, F {percent(score.f)}; {score.info.key}. Above what is true, below what was marked.",
        )
        for score, strip in strips
    ]


def _by_kind(report: Report) -> dict[str, float]:
    kinds = report.groups.get("kind", {})
    found = {kind: scores["j&f"] for kind, scores in kinds.items()}
    return {kind: 100 * value for kind, value in found.items() if value is not None}
