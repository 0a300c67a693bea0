"""The clips that people have open: what is known of each, who looks at it, and when it is let go."""

import logging
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter
from locater.records import Correction
from locater.video.guarded.source import GuardedSource, guarded_video
from locater.web.segment.exports import Export, write_export
from locater.web.segment.limits import Limits
from locater.web.segment.previews import Previews
from locater.web.segment.runs import Run, segment_clip
from locater.web.segment.scratch import Scratch
from locater.web.segment.turns import CancelledError, FairQueue, Job
from locater.web.server.requests import RefusedError

_PREPARING = 8  # clips whose pictures are made at the same time
_EXPORTING = 2

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Clip:
    """An open clip. Its folder holds the upload, its pictures and its exports, and goes with it."""

    key: str  # who knows it may use the clip
    client: str
    source: GuardedSource
    upload: Path
    folder: Path
    previews: Previews
    runs: list[Run] = field(default_factory=list)  # the last that is over and worth showing, and the current one
    exports: dict[str, Export] = field(default_factory=dict)
    job: Job | None = None
    is_prepared: bool = False
    problem: str = ""  # why there are no more pictures
    is_gone: bool = False
    is_left: bool = False  # its tab said goodbye
    listeners: int = 0
    keep_until: float = 0.0
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def run(self) -> Run | None:
        """The current run."""
        return self.runs[-1] if self.runs else None

    def find_run(self, number: int) -> Run | None:
        """The run of that number, while it is kept."""
        return next((run for run in self.runs if run.number == number), None)


class Clips:
    """Every open clip, and the one network that all of them share."""

    def __init__(self, segmenter: Segmenter, scratch: Scratch, limits: Limits) -> None:
        self.limits = limits
        self.scratch = scratch
        self._segmenter = segmenter
        self._queue = FairQueue(limits.running)
        self._preparing = ThreadPoolExecutor(_PREPARING, "preparing")
        self._exporting = ThreadPoolExecutor(_EXPORTING, "exporting")
        self._clips: dict[str, Clip] = {}
        self._lock = threading.Lock()
        self._opening: dict[str, int] = {}  # uploads under way, a client

    # ---- Opening and letting go --------------------------------------------------------------------------------------

    def reserve(self, client: str) -> None:
        """Hold a place for one more clip of `client`; `release` gives it back."""
        with self._lock:
            of_client = sum(clip.client == client for clip in self._clips.values()) + self._opening.get(client, 0)
            if len(self._clips) + sum(self._opening.values()) >= self.limits.clips:
                raise RefusedError(
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    f"The page is busy: {self.limits.clips} clips are open already. Try again in a few minutes.",
                )
            if client and of_client >= self.limits.clips_of_a_client:
                raise RefusedError(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    f"You have {of_client} clips open in other tabs; close one first, and wait half a minute.",
                )
            self._opening[client] = self._opening.get(client, 0) + 1

    def release(self, client: str) -> None:
        """Give the place back, the clip being open or refused."""
        with self._lock:
            self._opening[client] -= 1
            if not self._opening[client]:
                del self._opening[client]

    def open(self, path: Path, name: str, folder: Path, client: str) -> Clip:
        """The clip in a file, when it is one within the limits; its pictures are made from now on."""
        source = guarded_video(path, self.limits.of_a_clip, name)
        clip = Clip(secrets.token_urlsafe(16), client, source, path, folder, Previews(folder / "previews"))
        self.touch(clip)
        with self._lock:
            self._clips[clip.key] = clip
        self._preparing.submit(self._prepare, clip)
        return clip

    def find(self, key: str) -> Clip:
        """An open clip; being asked for keeps it open."""
        with self._lock:
            clip = self._clips.get(key)
        if clip is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "This clip is no longer here; open it again.")
        self.touch(clip)
        return clip

    def touch(self, clip: Clip) -> None:
        """Keep the clip for a while from now."""
        clip.is_left = False
        clip.keep_until = time.monotonic() + self.limits.away_seconds

    def leave(self, clip: Clip) -> None:
        """Keep the clip for a moment only, unless somebody asks for it: its tab may be reloading."""
        clip.is_left = True
        clip.keep_until = time.monotonic() + self.limits.leaving_seconds

    def drop(self, clip: Clip) -> None:
        """Let go of the clip: its job ends, its files are removed."""
        with self._lock:
            self._clips.pop(clip.key, None)
        clip.is_gone = True
        self.cancel(clip)
        clip.previews.close()
        shutil.rmtree(clip.folder, ignore_errors=True)

    def drop_forgotten(self) -> None:
        """Let go of every clip that nobody has looked at for too long."""
        with self._lock:
            forgotten = [
                clip for clip in self._clips.values() if not clip.listeners and clip.keep_until < time.monotonic()
            ]
        for clip in forgotten:
            self.drop(clip)

    def close(self) -> None:
        """Let go of everything."""
        for clip in list(self._clips.values()):
            self.drop(clip)
        self._queue.close()
        for pool in (self._preparing, self._exporting):
            pool.shutdown(cancel_futures=True)

    def _prepare(self, clip: Clip) -> None:
        try:
            for number, size in enumerate(clip.source.small_jpegs(clip.previews.path)):
                clip.previews.add(size)
                if clip.is_gone:
                    return
                if number % 100 == 0:
                    self.scratch.check_room(0)
        except LocaterError as error:
            clip.problem = str(error)
        except Exception:
            clip.problem = "The pictures of this clip cannot be made; the terminal of the server says why."
            log.exception("no pictures of a clip")
        finally:
            clip.is_prepared = True

    # ---- Segmenting --------------------------------------------------------------------------------------------------

    def segment(self, clip: Clip, sentences: tuple[str, ...], corrections: tuple[Correction, ...], anyway: bool) -> Run:
        """Begin to answer; what the clip was being asked is given up, what was answered is kept until then.

        A noun that the network does not know is told first, and taken `anyway` when somebody insists.
        """
        notices = self._notices([text for text in sentences if text], anyway)
        with clip.lock:
            self.cancel(clip)
            number = clip.runs[-1].number + 1 if clip.runs else 1
            run = Run(number, sentences, corrections, notices)
            clip.runs = [*[old for old in clip.runs if len(old)][-1:], run]
            clip.exports.clear()

            def work(pause: Callable[[], None]) -> None:
                segment_clip(self._segmenter, clip.source, run, pause)

            def never_began() -> None:
                run.status = "cancelled"

            clip.job = Job(clip.client or clip.key, work, on_cancelled=never_began)
        self._queue.submit(clip.job)
        return run

    def _notices(self, texts: list[str], anyway: bool) -> tuple[str, ...]:
        if not texts:
            return ()
        tokens = self._segmenter.chunks.model.text.tokenize(texts)
        if tokens.not_understood and not anyway:
            raise RefusedError(
                HTTPStatus.CONFLICT,
                f"{'; '.join(tokens.not_understood)}. Use other English words, point at it, or segment it anyway.",
            )
        return tokens.notices

    def cancel(self, clip: Clip) -> None:
        """End what the clip is being asked, if anything."""
        with clip.lock:
            if clip.job is not None:
                self._queue.cancel(clip.job)
                clip.job = None

    def ahead_of(self, clip: Clip) -> int:
        """How many jobs wait before this clip's."""
        return 0 if clip.job is None else self._queue.ahead_of(clip.job)

    # ---- Taking away -------------------------------------------------------------------------------------------------

    def export(self, clip: Clip, name: str) -> Export:
        """Begin to write a format of the current run, unless it is there already."""
        with clip.lock:
            run = clip.run
            if run is None or not run.is_over or not len(run):
                raise LocaterError("There are no finished masks yet; wait until the clip is segmented.")
            known = clip.exports.get(name)
            if known is not None and not known.message:
                return known
            export = clip.exports[name] = Export(name, run.number)
        self.scratch.check_room(0)
        self._exporting.submit(self._export, clip, run, export)
        return export

    def _export(self, clip: Clip, run: Run, export: Export) -> None:
        def check() -> None:
            if clip.is_gone or clip.exports.get(export.format) is not export:
                raise CancelledError

        try:
            folder = clip.folder / secrets.token_hex(8)
            folder.mkdir()
            write_export(export, clip.source, clip.upload, run, folder, check)
        except CancelledError:
            shutil.rmtree(folder, ignore_errors=True)
        except LocaterError as error:
            export.message = str(error)
        except Exception:
            export.message = "This file could not be written; the terminal of the server says why."
            log.exception("no export")

    def state(self, clip: Clip) -> dict[str, Any]:
        """All that a page shows of a clip, but for pictures and frames' figures."""
        run = clip.run
        return {
            "prepared": len(clip.previews),
            "is_prepared": clip.is_prepared,
            "problem": clip.problem,
            "run": None if run is None else {**run.as_json(), "ahead": self.ahead_of(clip)},
            "exports": [export.as_json() for export in clip.exports.values()],
        }


def clip_facts(clip: Clip) -> dict[str, Any]:
    """What a page needs to know of a clip once."""
    info = clip.source.info
    return {
        "key": clip.key,
        "name": info.name,
        "width": info.width,
        "height": info.height,
        "frame_count": info.frame_count,
        "frames_per_second": info.frames_per_second,
        "duration": info.duration,
    }
