"""From a checkpoint's and a dataset's name to a folder of results: what `locater evaluate` calls."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.datasets.catalog import Source
from locater.datasets.drawn_worlds import Drawing
from locater.errors import LocaterError
from locater.evaluation.external.submission import protocol_of, write_submission
from locater.evaluation.report.failures import answer_strip, best, worst, write_failures
from locater.evaluation.report.page import results_page
from locater.evaluation.report.tables import Report
from locater.evaluation.run.evaluators import evaluator_of
from locater.evaluation.run.processes import Place
from locater.evaluation.run.runner import Listener, answer_share, chosen, claim, gather
from locater.inference.averaged_views import PLAIN
from locater.inference.segmenter import Segmenter
from locater.io.atomic import atomic_entries
from locater.model.checkpoint import SECOND_LOOK, WEIGHTS, find_checkpoint
from locater.records import Views

WORST_SHOWN, BEST_SHOWN = 6, 3  # on the page


@dataclass(frozen=True)
class EvaluateRequest:
    """What is evaluated, on what, and what is written."""

    checkpoint: str
    data: Source
    out: Path
    split: str | None = None
    count: int | None = None  # videos per kind, of a world; scenes, of positions
    limit: int | None = None  # questions, of anything
    submission: Path | None = None  # a zip to hand in
    failures: int = 12  # pictures of the worst answers
    is_live: bool = False  # every video read once, as a camera would be
    contrasts: tuple[str, ...] = ()  # kinds of joined pairs, of a dataset that knows what its videos show
    views: Views = PLAIN  # in which each video is segmented


@dataclass(frozen=True)
class Finished:
    """What came of it: `report` is None in every process but the first."""

    report: Report | None
    not_understood: list[str]

    @property
    def results(self) -> dict[str, Any] | None:
        """All that `results.json` holds."""
        return None if self.report is None else self.report.figures()


def evaluate(request: EvaluateRequest, segmenter: Segmenter, place: Place, listen: Listener | None = None) -> Finished:
    """Answer, wait for the other processes, and write the results; a finished run is only reported again."""
    size = segmenter.config.image_size  # a world is drawn as the network wants it
    own = request.data.open(request.split, Drawing(request.count, size, segmenter.device))
    evaluator = evaluator_of(request.data.name, own).with_contrasts(request.contrasts)
    dataset = evaluator.dataset
    protocol = None if request.submission is None else protocol_of(request.data.name)
    infos = chosen(dataset, request.limit)
    claim(request.out, _identity(request, segmenter, dataset.name))
    not_understood = answer_share(
        segmenter,
        dataset,
        infos,
        request.out,
        place,
        keep_every_frame=protocol is not None,
        is_live=request.is_live,
        views=request.views,
        listen=listen,
    )
    if not place.is_first:
        return Finished(None, not_understood)
    samples = gather(infos, request.out)
    run = {"checkpoint": request.checkpoint, "precision": segmenter.precision}
    if segmenter.quality != "default":
        run["quality"] = segmenter.quality
    if request.is_live:
        run["mode"] = "live"
    if request.views != PLAIN:
        run["views"] = str(request.views)
    sections = evaluator.sections(samples)
    report = Report.of(run, request.checkpoint, dataset.name, evaluator.counted(samples), sections)
    with atomic_entries(request.out) as partial:
        report.write(partial, samples)
        answerable = evaluator.answerable(samples)
        bad, good = (
            [(score, answer_strip(dataset, score)) for score in chosen_ones]
            for chosen_ones in (
                worst(answerable, request.failures),
                best(answerable, min(BEST_SHOWN, request.failures)),
            )
        )
        if request.failures:
            write_failures(partial / "failures", bad)
        page = results_page(report, evaluator.counted(samples), bad[:WORST_SHOWN], good)
        (partial / "results.html").write_text(page.html(), "utf-8")
    if request.submission is not None and protocol is not None:
        write_submission(request.submission, protocol, dataset, samples)
    return Finished(report, not_understood)


def _identity(request: EvaluateRequest, segmenter: Segmenter, dataset_name: str) -> dict[str, str | bool | None]:
    """What must not change between the parts of one run; how many questions and processes may."""
    folder = find_checkpoint(request.checkpoint)
    look = folder / SECOND_LOOK
    return {
        "weights": _fingerprint(folder / WEIGHTS),
        "second_look": _fingerprint(look) if look.exists() else None,
        "dataset": dataset_name,
        "root": str(request.data.root.resolve()) if request.data.root else None,
        "precision": segmenter.precision,
        "quality": segmenter.quality,
        "device": segmenter.device.type,
        "submission": request.submission is not None,
        "live": request.is_live or None,  # None as in runs that knew no other way
        "views": None if request.views == PLAIN else str(request.views),  # likewise
    }


def _fingerprint(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LocaterError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
