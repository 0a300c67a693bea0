"""What a video may be, and how more is allowed: `LOCATER_LIMITS="megapixels=200 gigabytes=8"`."""

import math
import os
from dataclasses import dataclass

from locater.errors import LocaterError

VARIABLE = "LOCATER_LIMITS"
_NAMES = ("megapixels", "gigabytes", "stall_seconds", "frames", "seconds")


@dataclass(frozen=True)
class Limits:
    """Bounds on one source of frames. The defaults take 8K and any length."""

    pixels: int = 8192 * 8192  # of a frame: 8K, also of a whole sphere
    memory_bytes: int = 4 * 2**30  # of the process that decodes, beside what it starts with
    stall_seconds: float = 60.0  # without a packet or a frame
    frames: int | None = None
    seconds: float | None = None
    taker: str = "the limit is"  # how an error begins to say what is taken, and ends
    remedy: str = ""


def limits_of_environment() -> Limits:
    """The defaults, with what the environment says instead."""
    told: dict[str, float] = {}
    for word in os.environ.get(VARIABLE, "").replace(",", " ").split():
        name, _, text = word.partition("=")
        try:
            told[name] = float(text)
        except ValueError:
            told[name] = math.nan
        if name not in _NAMES or not (math.isfinite(told[name]) and told[name] > 0):
            raise LocaterError(
                f"{VARIABLE} has '{word}'; write NAME=NUMBER, with a number above zero, of {', '.join(_NAMES)}."
            )
    usual = Limits()
    return Limits(
        pixels=round(told["megapixels"] * 1e6) if "megapixels" in told else usual.pixels,
        memory_bytes=round(told["gigabytes"] * 2**30) if "gigabytes" in told else usual.memory_bytes,
        stall_seconds=told.get("stall_seconds", usual.stall_seconds),
        frames=round(told["frames"]) if "frames" in told else None,
        seconds=told.get("seconds"),
    )


def check_size(name: str, width: int, height: int, limits: Limits) -> None:
    """Nothing, for frames that are not too large."""
    if width * height > limits.pixels:
        megapixels = width * height / 1e6
        remedy = limits.remedy or f"or allow it with {VARIABLE}=megapixels={math.ceil(megapixels)}."
        raise LocaterError(
            f"{name} has frames of {width} x {height}, which is {megapixels:.1f} megapixels; {limits.taker} "
            f"{limits.pixels / 1e6:.1f}. Scale it down, {remedy}"
        )


def check_length(name: str, seconds: float, frames: int, limits: Limits) -> None:
    """Nothing, for a length that the headers tell and that is not too long."""
    if limits.seconds is not None and seconds > limits.seconds:
        remedy = limits.remedy or f"or allow it with {VARIABLE}=seconds={math.ceil(seconds)}."
        raise LocaterError(
            f"{name} is {_length(seconds)} long; {limits.taker} {_length(limits.seconds)}. Cut it, {remedy}"
        )
    if limits.frames is not None and frames > limits.frames:
        remedy = limits.remedy or f"or allow it with {VARIABLE}=frames={frames}."
        raise LocaterError(f"{name} has {frames:,} frames; {limits.taker} {limits.frames:,}. Cut it, {remedy}")


def check_reached(name: str, index: int, timestamp: float, limits: Limits) -> None:
    """Nothing, for a frame within the bounds; a header may say less than the file holds."""
    is_late = limits.seconds is not None and timestamp > 1.1 * limits.seconds + 1
    if is_late or (limits.frames is not None and index >= limits.frames):
        raise LocaterError(f"{name} is longer than its header says, and than the limit; cut it.")


def out_of_memory(name: str, limits: Limits) -> LocaterError:
    """What is said of a file that needs more memory than it may have."""
    allowed = limits.memory_bytes / 2**30
    remedy = limits.remedy or f"or allow more with {VARIABLE}=gigabytes={math.ceil(2 * allowed)}."
    return LocaterError(f"{name} cannot be decoded in {allowed:.3g} GiB of memory; scale it down, {remedy}")


def stalled(name: str, limits: Limits) -> LocaterError:
    """What is said of a file that makes its decoder stand still."""
    return LocaterError(
        f"{name} takes too long to decode: nothing came for {limits.stall_seconds:.0f} seconds; convert it to an "
        "H.264 mp4 and try again."
    )


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
