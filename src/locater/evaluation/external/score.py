"""Any system's masks against the field's ground truth, by the same code as our own: what `locater score` calls."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.datasets.a2d import COCO_MASKS
from locater.datasets.catalog import Source
from locater.datasets.folder import FolderDataset
from locater.errors import LocaterError
from locater.evaluation.external.folder_masks import FolderMasks, folder_questions
from locater.evaluation.external.mask_files import open_mask_files
from locater.evaluation.external.score_coco import score_coco
from locater.evaluation.external.score_davis import open_truth, score_annotators, score_davis
from locater.evaluation.external.score_expressions import mevis_questions, refer_youtube_vos_questions, score_questions
from locater.evaluation.report.annotators import annotators_table
from locater.evaluation.report.tables import Report, as_json
from locater.io.atomic import atomic_path
from locater.io.text_files import need, read_lines


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
    return Judged(found, "\n".join([annotators_table({str(predictions): modes}).markdown(), *notes]))


def _ref_davis17(predictions: Path, truth: Path, videos: list[str] | None, _: str | None) -> Judged:
    annotators, notes = score_annotators(open_mask_files(predictions), open_truth(truth), videos)
    found = {"protocol": "ref_davis17", "annotators": annotators, "notes": notes}
    return Judged(found, "\n".join([annotators_table(annotators).markdown(), *notes]))


def _a2d(predictions: Path, truth: Path, videos: list[str] | None, _: str | None) -> Judged:
    if videos is not None:
        raise LocaterError("The protocol a2d scores every image of its ground truth; leave --videos out.")
    masks = need(truth, COCO_MASKS) if truth.is_dir() else truth
    return _judged(Report({"protocol": "a2d"}, str(predictions), "a2d-sentences", score_coco(predictions, masks), {}))


def _refer_youtube_vos(predictions: Path, truth: Path, videos: list[str] | None, split: str | None) -> Judged:
    chosen = Source("refer-youtube-vos").find_split(split)
    samples = score_questions(open_mask_files(predictions), refer_youtube_vos_questions(truth, chosen), videos)
    run = {"protocol": "refer_youtube_vos"}
    return _judged(Report.of(run, str(predictions), f"refer-youtube-vos-{chosen}", samples))


def _mevis(predictions: Path, truth: Path, videos: list[str] | None, split: str | None) -> Judged:
    chosen = Source("mevis").find_split(split)
    samples = score_questions(open_mask_files(predictions), mevis_questions(truth, chosen), videos)
    return _judged(Report.of({"protocol": "mevis"}, str(predictions), f"mevis-{chosen}", samples))


def _folder(predictions: Path, truth: Path, videos: list[str] | None, split: str | None) -> Judged:
    files = FolderMasks(open_mask_files(predictions))
    samples = score_questions(files, folder_questions(truth, split or ""), videos)
    return _judged(Report.of({"protocol": "folder"}, str(predictions), FolderDataset(truth, split or "").name, samples))


def _judged(report: Report) -> Judged:
    return Judged(report.figures(), report.markdown())


@dataclass(frozen=True)
class Protocol:
    """How masks of one dataset are scored: from predictions, the truth's place, a list of videos and a split."""

    dataset_name: str  # in the catalog
    judge: Callable[[Path, Path, list[str] | None, str | None], Judged]


PROTOCOLS: Mapping[str, Protocol] = {
    "davis": Protocol("davis", _davis),
    "a2d": Protocol("a2d-sentences", _a2d),
    "refer_youtube_vos": Protocol("refer-youtube-vos", _refer_youtube_vos),
    "mevis": Protocol("mevis", _mevis),
    "ref_davis17": Protocol("ref-davis17", _ref_davis17),
    "folder": Protocol("folder", _folder),
}


def protocol_of(source: Source) -> str:
    """The name of the protocol by which the field scores what the catalog has under that name."""
    names = {protocol.dataset_name: name for name, protocol in PROTOCOLS.items()}
    if source.name not in names:
        raise LocaterError(f"There is no protocol for {source.name}; masks are scored on {', '.join(names)}.")
    return names[source.name]


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
    return PROTOCOLS[known].judge(predictions, truth, read_lines(videos) if videos else None, split)
