"""A run's results as files for people and programs: JSON, Markdown beside the paper's rows, and a CSV row per question.

Nothing in them depends on the time, the machine or the number of processes: the same answers give the same files.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.evaluation.metrics.flicker import flicker
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores, grouped, summarise
from locater.evaluation.report.published import Values, published_rows
from locater.evaluation.report.sections import NO_SECTIONS, Sections
from locater.evaluation.report.titles import TITLES
from locater.report.tables import Table, percent, printed_cell

_GROUP_TITLES = {
    "kind": "By kind of sentence",
    "object_count": "By number of objects in the video",
    "length": "By length of the video",
}
_GROUP_COLUMNS = ("oiou", "miou", "p@0.5", "map_of_precisions", "coco_ap", "j", "f", "j&f", "presence_accuracy")
_PAPER_COLUMNS = {
    **{f"P@0.{tenths}": f"p@0.{tenths}" for tenths in range(5, 10)},
    "mAP (mean of P@K)": "map_of_precisions",
    "mAP (COCO AP)": "coco_ap",
    "oIoU": "oiou",
    "mIoU": "miou",
    "J&F": "j&f",
    "J": "j",
    "F": "f",
}

_CSV_COLUMNS = (
    "key",
    "video",
    "expression",
    "kind",
    "object_count",
    "object_id",
    "annotation",
    "frame_count",
    "annotated_frames",
    "j",
    "f",
    "j&f",
    "intersection",
    "union",
    "presence_agrees",
    "mean_confidence",
    "stability",
    "truth_stability",
    "flicker",
)


@dataclass(frozen=True)
class Report:
    """The scores of a run, of all and of groups, and what its dataset's evaluator adds."""

    run: Mapping[str, str]  # what was run, for programs: checkpoint and precision, or the protocol
    answers: str  # whose answers they are, for people
    dataset_name: str
    scores: Scores
    groups: Mapping[str, Mapping[str, Scores]]
    sections: Sections = NO_SECTIONS

    @classmethod
    def of(
        cls,
        run: Mapping[str, str],
        answers: str,
        dataset_name: str,
        samples: Sequence[SampleScore],
        sections: Sections = NO_SECTIONS,
    ) -> "Report":
        """The report on some answers."""
        return cls(run, answers, dataset_name, summarise(samples), grouped(samples), sections)

    @property
    def published(self) -> dict[str, Values]:
        """What the paper prints of the same dataset; nothing of most."""
        return published_rows(self.dataset_name)

    def figures(self) -> dict[str, Any]:
        """All that `results.json` holds."""
        published = {"published": self.published} if self.published else {}
        common = {"dataset": self.dataset_name, "scores": self.scores, "by": self.groups}
        return {**self.run, **common, **published, **self.sections.figures}

    def markdown(self) -> str:
        """The text of `results.md`."""
        scores, *others = self.tables()
        parts = [f"# {self.title}", self.about, scores.markdown()]
        for table in others:
            parts += [f"## {table.title}", table.markdown()]
        return "\n\n".join(parts) + "\n"

    @property
    def title(self) -> str:
        """What was asked, and whose answers they are."""
        return f"{self.dataset_name}: {self.answers}"

    @property
    def about(self) -> str:
        """How much was asked, and where to read on."""
        counts = self.scores
        return (
            f"{counts['samples']} questions to {counts['videos']} videos, {counts['frames']} annotated frames. "
            "All scores in per cent; docs/evaluation.md says how each is computed."
        )

    def tables(self) -> list[Table]:
        """Every table, that of all scores first."""
        scores = [[title, percent(self.scores[name])] for name, title in TITLES.items()]
        published = [_paper_table(self.scores, self.published)] if self.published else []
        groups = [_group_table(_GROUP_TITLES[name], group) for name, group in self.groups.items()]
        all_scores = Table("All scores", ["score", ""], scores)
        return [all_scores, *published, *self.sections.tables, *groups, *self.sections.details]

    def write(self, folder: Path, samples: Sequence[SampleScore]) -> None:
        """Fill a folder with results.json, results.md and per_sample.csv."""
        (folder / "results.json").write_text(as_json(self.figures()), "utf-8")
        (folder / "results.md").write_text(self.markdown(), "utf-8")
        (folder / "per_sample.csv").write_text(as_csv(samples), "utf-8")


def as_json(figures: Mapping[str, Any]) -> str:
    """The text of `results.json`."""
    return json.dumps(figures, indent=1, ensure_ascii=False) + "\n"


def _group_table(title: str, group: Mapping[str, Scores]) -> Table:
    rows = [
        [name, str(scores["samples"]), *(percent(scores[column]) for column in _GROUP_COLUMNS)]
        for name, scores in group.items()
    ]
    return Table(title, ["", "questions", *(TITLES[name] for name in _GROUP_COLUMNS)], rows)


def _paper_table(scores: Scores, published: Mapping[str, Values]) -> Table:
    has = next(iter(published.values()))
    columns = [name for name in _PAPER_COLUMNS if name in has or (name.startswith("mAP") and "mAP" in has)]
    rows = [["ours", *(percent(scores[_PAPER_COLUMNS[name]]) for name in columns)]]
    for method, values in published.items():
        # One printed column for two definitions: it stands under both, marked.
        cells = {name: values["mAP" if name.startswith("mAP") else name] for name in columns}
        marks = {name: " *" if name.startswith("mAP") and cells[name] is not None else "" for name in columns}
        rows.append([method, *(printed_cell(cells[name]) + marks[name] for name in columns)])
    note = "* printed as mAP without saying which of the two." if "mAP" in has else ""
    return Table("Beside the published results", ["", *columns], rows, note)


def as_csv(samples: Sequence[SampleScore]) -> str:
    """The text of `per_sample.csv`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(_CSV_COLUMNS)
    for sample in samples:
        info, frames = sample.info, sample.frames
        confidence = sum(frame.confidence for frame in frames) / len(frames) if frames else None
        flickering = flicker(frames)
        rows.writerow(
            [
                info.key,
                info.video,
                info.expression,
                info.kind,
                info.object_count,
                info.object_id,
                info.annotation,
                sample.frame_count,
                len(frames),
                sample.j,
                sample.f,
                sample.j_and_f,
                sum(frame.counts.intersection for frame in frames),
                sum(frame.counts.union for frame in frames),
                sum(frame.counts.agrees_on_presence for frame in frames),
                confidence,
                sample.stability,
                sample.truth_stability,
                None if flickering is None else flickering.value,
            ]
        )
    return text.getvalue()
