"""What a job writes down of its videos, each a small JSON file that appears whole or not at all."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Record(_Frozen):
    """Lies in the folder of a finished video's results."""

    key: str  # of the content, the sentences, the checkpoint and the settings
    asked: str  # of all of them but the content
    version: str | None  # of the file when it was read; while it stays the same, so does the content
    frames: int
    seconds: float  # of work by the worker that finished it
    resumed_from: int  # the frame that it went on from; 0 where it was done in one go
    findings: tuple[str, ...]
    warnings: tuple[str, ...]


class Failure(_Frozen):
    """Why there is no result of a video."""

    asked: str
    reason: str
    tries: int


class Tries(_Frozen):
    """How often work on a video has begun from the same place."""

    asked: str
    place: str
    count: int


class Outcome(_Frozen):
    """What a worker says of one row of the manifest."""

    name: str
    status: Literal["done", "kept", "failed", "stopped"]  # stopped: nothing can be done on that machine
    reason: str = ""
    tries: int = 0
    record: Record | None = None  # of what is done, now or earlier
