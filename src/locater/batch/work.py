"""One video from its address to its folder of results, whatever happened to it before."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from locater.batch.addresses import local_video, version_of
from locater.batch.job_folder import JobFolder
from locater.batch.manifest import Named
from locater.batch.parts import SavedVideo, only, place_of
from locater.batch.records import Failure, Outcome, Record, Tries
from locater.batch.settings import Settings, key_of
from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter
from locater.inference.writing import Writing, write_results
from locater.io.results_folder import results_folder
from locater.records import FrameResult
from locater.video.reader import open_source

MADE_BY = "locater batch"


class CannotWork(BaseException):
    """No video can be done on this machine; not an `Exception`, which would be told of one video."""


@dataclass(frozen=True)
class VideoWork:
    """Does rows of a manifest, one after another; `segmenter` opens the network when it is first needed."""

    job: JobFolder
    settings: Settings
    segmenter: Callable[[], Segmenter]

    def do(self, row: Named) -> Outcome:
        """What came of it; a video that cannot be had is a failure with its reason, not an error."""
        asked = self.settings.asked(row)
        try:
            kept = kept_record(self.job, row, asked)
            if kept is None:
                self._count_try(row.name, asked)
                version = version_of(row.video)  # asked before reading: what changes meanwhile is read again next time
                with local_video(row.video) as (path, content):
                    kept = self._kept_by_content(row.name, key_of(asked, content), version)
                    record = kept or self._finished(row, path, asked, content, version)
            else:
                record = kept
            self.job.forget_work(row.name)
            return Outcome(name=row.name, status="done" if kept is None else "kept", record=record)
        except Exception as error:  # whatever a file does to a decoder is told of that file
            told = " ".join(str(error).split())[:1000]
            reason = told if isinstance(error, LocaterError) else f"{type(error).__name__}: {told}"
            tries = self.job.tries(row.name)
            count = 1 if tries is None else tries.count
            self.job.put_failure(row.name, Failure(asked=asked, reason=reason, tries=count))
            return Outcome(name=row.name, status="failed", reason=reason, tries=count)

    def _count_try(self, name: str, asked: str) -> None:
        """Write down that work begins; a video at whose place workers die again and again is given up."""
        place, before = place_of(self.job.work(name)), self.job.tries(name)
        is_same = before is not None and (before.asked, before.place) == (asked, place)
        count = before.count if before is not None and is_same else 0
        if count >= self.settings.most_tries:
            raise LocaterError(
                f"The worker died {count} times on it, each time after {place}, as when memory runs out; try it alone "
                "with `locater segment`."
            )
        self.job.put_tries(name, Tries(asked=asked, place=place, count=count + 1))

    def _kept_by_content(self, name: str, key: str, version: str | None) -> Record | None:
        """An earlier result of the same content, wherever the file is now, and whatever its time."""
        found = self.job.record(name)
        if found is None or found.key != key:
            return None
        renewed = found.model_copy(update={"version": version})
        self.job.put_record(self.job.results(name), renewed)
        return renewed

    def _finished(self, row: Named, path: Path, asked: str, content: str, version: str | None) -> Record:
        """Segment it, from where an earlier worker saved it, and put the results in place."""
        began, settings, key = time.monotonic(), self.settings, key_of(asked, content)
        writing = Writing(settings.formats, anyway=settings.anyway, threshold=settings.threshold)
        saved = SavedVideo(only(self.job.work(row.name), key), settings.save_every)
        start = count = saved.frames

        def take(result: FrameResult) -> None:
            nonlocal count
            count += 1
            saved.take(result)

        source = open_source(path)
        with (
            warnings.catch_warnings(record=True) as caught,
            results_folder(self.job.results(row.name), MADE_BY, force=settings.replaces) as folder,
        ):
            warnings.simplefilter("always", UserWarning)
            findings = write_results(
                self.segmenter(),
                source,
                row.sentences,
                writing,
                folder,
                before=saved.before(source),
                on_global_state=saved.take_look,
                on_result=take,
            )
            record = Record(
                key=key,
                asked=asked,
                version=version,
                frames=count,
                seconds=round(time.monotonic() - began, 3),
                resumed_from=start,
                findings=tuple(findings),
                warnings=tuple(dict.fromkeys(" ".join(str(each.message).split()) for each in caught)),
            )
            self.job.put_record(folder, record)
        return record


def kept_record(job: JobFolder, row: Named, asked: str) -> Record | None:
    """An earlier result that is known to be right without reading the video."""
    found = job.record(row.name)
    if found is None or found.asked != asked or found.version is None:
        return None
    return found if found.version == version_of(row.video) else None
