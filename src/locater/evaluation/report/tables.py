"""A run's results as files for people and programs: JSON, Markdown beside the paper's rows, and one CSV row a question.

Nothing in them depends on the time, the machine or the number of processes: the same answers give the same files.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from locater.evaluation.metrics.davis import DavisSummary, four_annotators, grids_of
from locater.evaluation.metrics.flicker import flicker
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.sequences import SEQUENCE_SCORES, by_sequence
from locater.evaluation.metrics.subsets import subset_results
from locater.evaluation.metrics.summary import Scores, grouped, summarise
from locater.evaluation.metrics.words_decide import rightly_asked, words_results
from locater.evaluation.report.published import published_rows

TITLES = {
    "oiou": "oIoU",
    "miou": "mIoU",
    "map_of_precisions": "mAP (mean of P@K)",
    "coco_ap": "mAP (COCO AP)",
    "p@0.5": "P@0.5",
    "p@0.6": "P@0.6",
    "p@0.7": "P@0.7",
    "p@0.8": "P@0.8",
    "p@0.9": "P@0.9",
    "j": "J",
    "f": "F",
    "j&f": "J&F",
    "presence_accuracy": "presence",
    "stability": "stability",
    "truth_stability": "stability of the truth",
    "flicker": "flicker (lower is better)",
    "flicker_of_overlap": "flicker of the overlap",
    "flicker_of_area": "flicker of the area",
}
_GROUP_TITLES = {
    "kind": "By kind of sentence",
    "object_count": "By number of objects in the video",
    "length": "By length of the video",
}
_WORDS_TITLES = {
    "right": "the right sentence",
    "crowd": "a right sentence that tells look-alikes apart",
    "wrong": "a wrong sentence (lower is better)",
    "wrong_far": "wrong: another kind of thing",
    "wrong_kin": "wrong: near kin",
    "wrong_attribute": "wrong: a look-alike's attribute",
    "spatial": "two videos side by side",
    "temporal": "two videos one after the other",
}
_POSITION_TITLES = {
    "all": "all",
    "left": "on the left",
    "right": "on the right",
    "two_pictures": "two pictures of one class",
    "one_picture_twice": "one picture twice",
}
_GROUP_COLUMNS = ("oiou", "miou", "p@0.5", "map_of_precisions", "coco_ap", "j", "f", "j&f", "presence_accuracy")
_PAPER_COLUMNS = {
    "mAP (mean of P@K)": "map_of_precisions",
    "mAP (COCO AP)": "coco_ap",
    "oIoU": "oiou",
    "mIoU": "miou",
    "J&F": "j&f",
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


def results(
    run: Mapping[str, Any], dataset_name: str, samples: Sequence[SampleScore], is_contrasted: bool = False
) -> dict[str, Any]:
    """All that `results.json` holds; of a contrasted dataset, `scores` and `by` are of the right sentences."""
    right = rightly_asked(samples) if is_contrasted else samples
    found: dict[str, Any] = {**run, "dataset": dataset_name, "scores": summarise(right), "by": grouped(right)}
    if is_contrasted:
        found["words"] = words_results(samples)
        found["sequences"] = by_sequence(right)
    grids = grids_of(samples)
    if grids:
        summaries: dict[str, DavisSummary] = {}
        for annotation, some in grids.items():
            summaries[annotation] = DavisSummary()
            for grid in some:
                summaries[annotation].add(grid)
        found["annotators"] = four_annotators(summaries)
    paper = published_rows(dataset_name)
    if paper:
        found["published"] = paper
    return found | subset_results(dataset_name, samples, found["by"].get("kind", {}))


def as_json(found: Mapping[str, Any]) -> str:
    """The text of `results.json`."""
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def as_markdown(found: Mapping[str, Any]) -> str:
    """The text of `results.md`."""
    scores: Scores = found["scores"]
    parts = [
        f"# {found['dataset']}: {found.get('checkpoint', 'predictions')}",
        f"{scores['samples']} questions to {scores['videos']} videos, {scores['frames']} annotated frames. "
        "All scores in per cent; docs/evaluation.md says how each is computed.",
        _table(["score", ""], [[title, percent(scores[name])] for name, title in TITLES.items()]),
    ]
    if "words" in found:
        parts += ["## Whether the words decide", _words_table(found["words"])]
    if "positions" in found:
        parts += ["## Whether the meant one of two is chosen", _positions_table(found["positions"], _POSITION_TITLES)]
        parts += ["## By noun", _positions_table(found["nouns"])]
    if "published" in found:
        parts += ["## Beside the published results", _paper_table(scores, found["published"])]
    if "annotators" in found:
        parts += ["## The four annotations, by matching mode", davis_table(found["annotators"])]
    if "average" in found:
        parts += ["## M, S, T and their average", _subset_table(found)]
    if found.get("thirds"):
        parts += ["## By number of objects, in thirds", _thirds_table(found)]
    for group, of_group in found["by"].items():
        columns = ["", "questions", *(TITLES[name] for name in _GROUP_COLUMNS)]
        rows = [
            [name, str(each["samples"]), *(percent(each[column]) for column in _GROUP_COLUMNS)]
            for name, each in of_group.items()
        ]
        parts += [f"## {_GROUP_TITLES[group]}", _table(columns, rows)]
    if "sequences" in found:
        parts += ["## By sequence", _sequence_table({**found["sequences"], "all": scores})]
    return "\n\n".join(parts) + "\n"


def _words_table(words: Mapping[str, Scores]) -> str:
    columns = {
        "j": "J",
        "f": "F",
        "j&f": "J&F",
        "j&f_visible": "J&F where visible",
        "empty_share": "empty masks",
        "not_taken_share": "not taken",
    }
    rows = [
        [_WORDS_TITLES[name], str(scores["samples"]), *(percent(scores[column]) for column in columns)]
        for name, scores in words.items()
    ]
    return _table(["", "questions", *columns.values()], rows)


def _positions_table(rows: Mapping[str, Scores], titles: Mapping[str, str] | None = None) -> str:
    columns = {
        "chosen_right": "chosen rightly",
        "marked_right": "and marked (IoU 50)",
        "both_right": "both sides rightly",
        "miou": "mIoU",
        "empty_share": "empty answers",
    }
    cells = [
        [name if titles is None else titles[name], str(row["questions"]), *(percent(row[column]) for column in columns)]
        for name, row in rows.items()
    ]
    return _table(["", "questions", *columns.values()], cells)


def _sequence_table(sequences: Mapping[str, Scores]) -> str:
    rows = [
        [name, str(scores["samples"]), *(percent(scores[column]) for column in SEQUENCE_SCORES)]
        for name, scores in sequences.items()
    ]
    return _table(["", "questions", *(TITLES[column] for column in SEQUENCE_SCORES)], rows)


def _paper_table(scores: Scores, published: Mapping[str, Mapping[str, float]]) -> str:
    has = next(iter(published.values()))
    columns = [name for name in _PAPER_COLUMNS if name in has or (name.startswith("mAP") and "mAP" in has)]
    rows = [["ours", *(percent(scores[_PAPER_COLUMNS[name]]) for name in columns)]]
    for method, values in published.items():
        # One printed column for two definitions: it stands under both, marked.
        rows.append(
            [
                method,
                *(f"{values['mAP']:.1f} *" if name.startswith("mAP") else f"{values[name]:.1f}" for name in columns),
            ]
        )
    note = "\n\n\\* printed as mAP without saying which of the two." if "mAP" in has else ""
    return _table(["", *columns], rows) + note


def _subset_table(found: Mapping[str, Any]) -> str:
    """The paper's Table 6: a row a subset and one for their average, each above the printed ones."""
    columns = ("map_of_precisions", "coco_ap", "oiou", "miou", "j&f", "presence_accuracy")
    printed = {"oiou": "oIoU", "miou": "mIoU", "map_of_precisions": "mAP", "coco_ap": "mAP"}
    rows: list[list[str]] = []
    for subset, scores in {**found["by"]["kind"], "average": found["average"]}.items():
        rows.append([subset, *(percent(scores[column]) for column in columns)])
        for method, values in found["published_subsets"].get(subset, {}).items():
            cells = [f"{values[printed[column]]:.1f}" if column in printed else "-" for column in columns]
            rows.append([f"{subset}, {method}", *cells])
    return _table(["", *(TITLES[column] for column in columns)], rows)


def _thirds_table(found: Mapping[str, Any]) -> str:
    """The paper's Table 7: mIoU by number of objects, beside the printed ones."""
    rows: list[list[str]] = []
    for subset, groups in found["thirds"].items():
        printed = found["published_thirds"][subset] or [None] * len(groups)
        for group, paper in zip(groups, printed, strict=True):
            row = [subset, f"{group['objects_per_video']:.2f}", str(group["samples"]), percent(group["miou"])]
            rows.append(row + (["-", "-"] if paper is None else [f"{paper[0]:.2f}", f"{paper[1]:.1f}"]))
    columns = ["", "objects a video", "questions", "mIoU", "the paper's objects a video", "LOCATER's mIoU"]
    return _table(columns, rows)


def davis_table(annotators: Mapping[str, Mapping[str, Mapping[str, float | int | None]]]) -> str:
    """One row an annotation (or whatever `annotators` is keyed by), J, F and J&F in every mode."""
    modes = list(next(iter(annotators.values())))
    columns = [f"{name} {mode.replace('_', '-')}" for mode in modes for name in ("J", "F", "J&F")]
    rows = [
        [annotation, *(percent(by_mode[mode][name]) for mode in modes for name in ("j", "f", "j&f"))]
        for annotation, by_mode in annotators.items()
    ]
    return _table(["", *columns], rows)


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


def write_report(folder: Path, found: Mapping[str, Any], samples: Sequence[SampleScore]) -> None:
    """Fill a folder with results.json, results.md and per_sample.csv."""
    (folder / "results.json").write_text(as_json(found), "utf-8")
    (folder / "results.md").write_text(as_markdown(found), "utf-8")
    (folder / "per_sample.csv").write_text(as_csv(samples), "utf-8")


def percent(value: float | int | None) -> str:
    """A share as a person reads it."""
    return "-" if value is None else f"{100 * value:.2f}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows])
