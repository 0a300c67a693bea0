"""Any system's masks against the field's ground truth, by the same code as our own: what `locater score` calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.errors import LocaterError
from locater.evaluation.external.mask_files import open_mask_files
from locater.evaluation.external.score_coco import score_coco
from locater.evaluation.external.score_davis import open_truth, score_annotators, score_davis
from locater.evaluation.external.score_expressions import mevis_questions, refer_youtube_vos_questions, score_questions
from locater.evaluation.report.published import published_rows
from locater.evaluation.report.tables import as_json, as_markdown, davis_table, results
from locater.io.atomic import atomic_path
from locater.io.text_files import read_lines


@dataclass(frozen=True)
class Judged:
    """The scores, for programs and for people."""

    results: dict[str, Any]
    text: str

    def save(self, path: Path) -> None:
        """Write the scores as JSON, whole or not at all."""
        with atomic_path(path) as partial:
            partial.write_text(as_json(self.results), "utf-8")


def _davis(predictions: Path, truth: Path, videos: list[str] | None, _: str | None) -> Judged:
    modes, notes = score_davis(open_mask_files(predictions), open_truth(truth), videos)
    found = {"protocol": "davis", "modes": modes, "notes": notes}
    return Judged(found, "\n".join([davis_table({str(predictions): modes}), *notes]))


def _ref_davis17(predictions: Path, truth: Path, videos: list[str] | None, _: str | None) -> Judged:
    annotators, notes = score_annotators(open_mask_files(predictions), open_truth(truth), videos)
    found = {"protocol": "ref_davis17", "annotators": annotators, "notes": notes}
    return Judged(found, "\n".join([davis_table(annotators), *notes]))


def _a2d(predictions: Path, truth: Path, videos: list[str] | None, _: str | None) -> Judged:
    if videos is not None:
        raise LocaterError("The protocol a2d scores every image of its ground truth; leave --videos out.")
    found = {
        "protocol": "a2d",
        "dataset": "a2d-sentences",
        "scores": score_coco(predictions, truth),
        "by": {},
        "published": published_rows("a2d-sentences"),
    }
    return Judged(found, as_markdown(found | {"checkpoint": str(predictions)}))


def _refer_youtube_vos(predictions: Path, truth: Path, videos: list[str] | None, split: str | None) -> Judged:
    samples = score_questions(
        open_mask_files(predictions), refer_youtube_vos_questions(truth, split or "valid"), videos
    )
    found = results({"protocol": "refer_youtube_vos"}, f"refer-youtube-vos-{split or 'valid'}", samples)
    return Judged(found, as_markdown(found | {"checkpoint": str(predictions)}))


def _mevis(predictions: Path, truth: Path, videos: list[str] | None, split: str | None) -> Judged:
    samples = score_questions(open_mask_files(predictions), mevis_questions(truth, split or "valid_u"), videos)
    found = results({"protocol": "mevis"}, f"mevis-{split or 'valid_u'}", samples)
    return Judged(found, as_markdown(found | {"checkpoint": str(predictions)}))


PROTOCOLS: Mapping[str, Callable[[Path, Path, list[str] | None, str | None], Judged]] = {
    "davis": _davis,
    "a2d": _a2d,
    "refer_youtube_vos": _refer_youtube_vos,
    "mevis": _mevis,
    "ref_davis17": _ref_davis17,
}


def score(
    predictions: Path, truth: Path, protocol: str, *, videos: Path | None = None, split: str | None = None
) -> Judged:
    """The scores of a folder, zip or JSON of masks; `videos` is a file that lists the ones to score."""
    known = protocol.replace("-", "_")  # as the datasets are written
    if known not in PROTOCOLS:
        raise LocaterError(f"There is no protocol '{protocol}'; choose one of {', '.join(PROTOCOLS)}.")
    for path in (predictions, truth):
        if not path.exists():
            raise LocaterError(f"There is no {path}; check the name.")
    return PROTOCOLS[known](predictions, truth, read_lines(videos) if videos else None, split)
