"""The actor that Ray Data feeds with rows: it opens the network once, and answers for every video."""

from collections.abc import Sequence
from pathlib import Path

import torch

from locater.batch.job_folder import JobFolder
from locater.batch.manifest import Named
from locater.batch.records import Outcome
from locater.batch.settings import Settings, checkpoint_digest
from locater.batch.work import CannotWork, VideoWork
from locater.compute.device import find_device
from locater.compute.precision import find_precision
from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter, load

ROW, OUTCOME = "row", "outcome"  # the columns in and out, both JSON: Arrow has no types for ours


class Worker:
    """Does rows of one job on one machine."""

    def __init__(self, settings: str, folder: str, threads: int) -> None:
        torch.set_num_threads(threads)
        self._settings = Settings.model_validate_json(settings)
        self._segmenter: Segmenter | None = None
        self._work = VideoWork(JobFolder(Path(folder)), self._settings, self._opened)

    def __call__(self, batch: dict[str, Sequence[str]]) -> dict[str, list[str]]:
        """The outcomes of a batch of rows."""
        return {OUTCOME: [self._done(Named.model_validate_json(row)).model_dump_json() for row in batch[ROW]]}

    def _done(self, row: Named) -> Outcome:
        try:
            return self._work.do(row)
        except (CannotWork, LocaterError) as error:  # not of this video: there would be one for each
            return Outcome(name=row.name, status="stopped", reason=str(error))

    def _opened(self) -> Segmenter:
        """The network, loaded when a video first needs it: a job that finds all done needs none."""
        if self._segmenter is None:
            try:
                self._segmenter = _network(self._settings)
            except LocaterError as error:
                raise CannotWork(str(error)) from error
        return self._segmenter


def _network(settings: Settings) -> Segmenter:
    if checkpoint_digest(settings.checkpoint) != settings.weights:
        raise LocaterError(
            f"The checkpoint {settings.checkpoint} is another one on a worker's machine than where the job began; give "
            "one that all machines share."
        )
    device = find_device(None)
    segmenter = load(settings.checkpoint, device, find_precision(settings.precision, device))
    segmenter.judge(settings.threshold)  # refuses one that cannot be had
    return segmenter
