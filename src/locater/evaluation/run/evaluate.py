"""From a checkpoint's and a dataset's name to a folder of results: what `locater evaluate` calls."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.errors import LocaterError
from locater.evaluation.external.submission import protocol_of, write_submission
from locater.evaluation.metrics.positions import position_results
from locater.evaluation.metrics.words_decide import answerable
from locater.evaluation.report.failures import write_failures
from locater.evaluation.report.tables import results, write_report
from locater.evaluation.run.contrasts import ContrastedDataset
from locater.evaluation.run.processes import Place
from locater.evaluation.run.runner import Listener, answer_share, chosen, claim, gather
from locater.evaluation.run.sources import open_evaluated
from locater.inference.segmenter import Segmenter
from locater.io.atomic import atomic_entries
from locater.model.checkpoint import WEIGHTS, find_checkpoint
from locater.worlds.composed.position_world import PositionWorld


@dataclass(frozen=True)
class EvaluateRequest:
    """What is evaluated, on what, and what is written."""

    checkpoint: str
    dataset: str
    out: Path
    root: Path | None = None
    split: str | None = None
    count: int | None = None  # videos a kind, of a world; scenes, of positions
    limit: int | None = None  # questions, of anything
    submission: Path | None = None  # a zip to hand in
    failures: int = 12  # pictures of the worst answers
    contrasts: tuple[str, ...] = ()  # kinds of joined pairs, of a dataset that knows what its videos show


@dataclass(frozen=True)
class Finished:
    """What came of it: `results` is None in every process but the first."""

    results: dict[str, Any] | None
    not_understood: list[str]


def evaluate(asked: EvaluateRequest, segmenter: Segmenter, place: Place, listen: Listener | None = None) -> Finished:
    """Answer, wait for the other processes, and write the results; a finished run is only reported again."""
    size = segmenter.model.config.image_size  # a world is drawn as the network wants it
    dataset = open_evaluated(
        asked.dataset,
        asked.root,
        asked.split,
        count=asked.count,
        size=size,
        device=segmenter.device,
        contrasts=asked.contrasts,
    )
    is_contrasted = isinstance(dataset, ContrastedDataset)
    protocol = None if asked.submission is None else protocol_of(dataset.name)
    infos = chosen(dataset, asked.limit)
    claim(asked.out, _identity(asked, segmenter, dataset.name))
    not_understood = answer_share(
        segmenter, dataset, infos, asked.out, place, keep_every_frame=protocol is not None, listen=listen
    )
    if not place.is_first:
        return Finished(None, not_understood)
    samples = gather(infos, asked.out)
    run = {"checkpoint": asked.checkpoint, "precision": segmenter.precision}
    found = results(run, dataset.name, samples, is_contrasted)
    if isinstance(dataset, PositionWorld):
        found |= position_results(dataset, samples)
    with atomic_entries(asked.out) as partial:
        write_report(partial, found, samples)
        if asked.failures:
            judged = answerable(samples) if is_contrasted else samples
            write_failures(partial / "failures", dataset, judged, asked.failures)
    if asked.submission is not None and protocol is not None:
        write_submission(asked.submission, protocol, dataset, samples)
    return Finished(found, not_understood)


def _identity(asked: EvaluateRequest, segmenter: Segmenter, dataset_name: str) -> dict[str, str | bool | None]:
    """What must not change between the parts of one run; how many questions and processes may."""
    weights = find_checkpoint(asked.checkpoint) / WEIGHTS
    try:
        with weights.open("rb") as file:
            fingerprint = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LocaterError(f"{weights} cannot be read: {(error.strerror or str(error)).lower()}.") from None
    return {
        "weights": fingerprint,
        "dataset": dataset_name,
        "root": str(asked.root.resolve()) if asked.root else None,
        "precision": segmenter.precision,
        "device": segmenter.device.type,
        "submission": asked.submission is not None,
    }
