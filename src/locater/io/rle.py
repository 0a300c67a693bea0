"""COCO's compressed run lengths: column-major runs, differences to the run before last, six bits per character."""

import numpy as np
import numpy.typing as npt

MOST_PIXELS = 2**30
_MOST_SHIFT = 60  # bits: a longer number is no run, and takes the time of its square


def encode(mask: npt.NDArray[np.bool_]) -> bytes:
    """The `counts` string that pycocotools writes for an (H, W) mask."""
    flat = np.asarray(mask, dtype=np.bool_).ravel(order="F")
    changes = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate([[0], changes, [flat.size]])
    runs = np.diff(edges).tolist() if flat.size else []
    if flat.size and flat[0]:
        runs.insert(0, 0)  # the first run counts background
    return _pack(runs)


def decode(counts: bytes, height: int, width: int) -> npt.NDArray[np.bool_]:
    """The (H, W) mask behind a `counts` string."""
    runs = _unpack(counts)
    if height < 0 or width < 0 or height * width > MOST_PIXELS:
        raise ValueError(f"a mask of {height} x {width} is larger than any picture")
    if sum(runs) != height * width:
        raise ValueError(f"run lengths cover {sum(runs)} pixels, the mask has {height} x {width}")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape((height, width), order="F")


def area(counts: bytes) -> int:
    """Pixels inside the mask."""
    return sum(_unpack(counts)[1::2])


def _pack(runs: list[int]) -> bytes:
    packed = bytearray()
    for index, run in enumerate(runs):
        value = run - runs[index - 2] if index > 2 else run
        more = True
        while more:
            bits = value & 0x1F
            value >>= 5  # arithmetic: the sign stays
            more = value != -1 if bits & 0x10 else value != 0
            packed.append((bits | 0x20 if more else bits) + 48)
    return bytes(packed)


def _unpack(counts: bytes) -> list[int]:
    runs: list[int] = []
    value, shift = 0, 0
    for byte in counts:
        bits = byte - 48
        if not 0 <= bits < 64 or shift > _MOST_SHIFT:
            raise ValueError("the run lengths are damaged")
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            if bits & 0x10:
                value |= -1 << shift
            runs.append(value + runs[-2] if len(runs) > 2 else value)
            value, shift = 0, 0
    return runs
