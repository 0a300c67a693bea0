"""A checkpoint's answers to every question of a dataset: resumable, on one or many processes, each question once."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.errors import LocaterError
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.run.answering import answer
from locater.evaluation.run.journal import JournalReader, JournalWriter, journal_path
from locater.evaluation.run.passes import Pass, plan_passes, shard
from locater.evaluation.run.processes import Place
from locater.inference.averaged_views import PLAIN
from locater.inference.segmenter import NotUnderstoodWarning, Segmenter
from locater.io.results_folder import claim_folder
from locater.records import Dataset, SampleInfo, Views

RUN = "run.json"
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    answered: int  # by this process, or before it
    questions: int  # of this process
    frames: int  # segmented since the start
    before: int = 0  # questions that an earlier run has answered


Listener = Callable[[Progress], None]


def chosen(dataset: Dataset, limit: int | None) -> Sequence[SampleInfo]:
    """The questions to answer: all, or the first `limit`."""
    if limit is not None and limit < 1:
        raise LocaterError(f"--limit is {limit}; it must be at least 1.")
    infos = dataset.samples()[:limit]
    if not infos:
        raise LocaterError(f"The dataset {dataset.name} holds no questions; check the folder and the split.")
    return infos


def claim(folder: Path, identity: Mapping[str, str | bool | None]) -> None:
    """Marks the folder as this run's; refuses one that holds answers of another network, dataset or precision."""
    claim_folder(folder / RUN, identity, "answers of another run")


def answer_share(
    segmenter: Segmenter,
    dataset: Dataset,
    infos: Sequence[SampleInfo],
    folder: Path,
    place: Place,
    *,
    keep_every_frame: bool = False,
    is_live: bool = False,
    views: Views = PLAIN,
    listen: Listener | None = None,
) -> list[str]:
    """Answers this process's share of the questions into its journal; what the network did not understand.

    A pass is done when all its questions are: a half-done one is answered again whole, so that a resumed run computes
    exactly what an uninterrupted one does.
    """
    mine = shard(plan_passes(infos), place.rank, place.world_size)
    journals = JournalReader(folder)
    with JournalWriter(journal_path(folder, place.rank)) as journal:
        journals.refresh()
        waiting = [each for each in mine if any(info.key not in journals.answers for info in each.infos)]
        tracker = _Tracker(mine, waiting, listen)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", NotUnderstoodWarning)
            for each in waiting:
                samples = [dataset.load(info) for info in each.infos]
                scores = answer(
                    segmenter,
                    samples,
                    keep_every_frame=keep_every_frame,
                    is_live=is_live,
                    views=views,
                    on_frame=tracker.frame,
                )
                journal.write(scores)
                tracker.done(len(scores))
    return list(dict.fromkeys(str(each.message) for each in heard))


def gather(infos: Sequence[SampleInfo], folder: Path, patience: float | None = None) -> list[SampleScore]:
    """Every question's score in the dataset's order, once all processes have answered their share.

    The journals themselves say when: no message can be lost, and any number of processes may have written them.
    """
    journals = JournalReader(folder)
    started_at = time.monotonic()
    while True:
        journals.refresh()
        missing = [info.key for info in infos if info.key not in journals.answers]
        if not missing:
            return [journals.answers[info.key] for info in infos]
        if patience is not None and time.monotonic() - started_at > patience:
            raise LocaterError(f"{len(missing)} questions have no answer in {folder}, the first is '{missing[0]}'.")
        time.sleep(_POLL_SECONDS)


class _Tracker:
    def __init__(self, mine: Sequence[Pass], waiting: Sequence[Pass], listen: Listener | None) -> None:
        self._questions = sum(len(each.infos) for each in mine)
        self._answered = self._before = self._questions - sum(len(each.infos) for each in waiting)
        self._frames = 0
        self._listen = listen
        self._tell()

    def frame(self) -> None:
        self._frames += 1
        self._tell()

    def done(self, questions: int) -> None:
        self._answered += questions
        self._tell()

    def _tell(self) -> None:
        if self._listen is not None:
            self._listen(Progress(self._answered, self._questions, self._frames, self._before))
