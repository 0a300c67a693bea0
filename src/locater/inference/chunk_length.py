"""How many frames are segmented together."""

from collections.abc import Iterator
from itertools import repeat

import torch

CHUNK_FRAMES = 2  # on a CPU: more make it no faster
CHUNK_BYTES = 32 * 2**20  # of such a chunk's frames: of 4K video one
CUDA_CHUNK_ROWS = 36  # frames times sentences that keep a large GPU busy
CUDA_LEAST_FRAMES = 8


def chunk_frames_of(device: torch.device, sentences: int, frame_bytes: int = 1) -> int:
    """The frames of a chunk: on a GPU more, but not for many sentences, as each has its memories."""
    if device.type == "cuda":
        return max(CUDA_LEAST_FRAMES, CUDA_CHUNK_ROWS // sentences)
    return max(1, min(CHUNK_FRAMES, CHUNK_BYTES // frame_bytes))


def chunk_lengths(first: int, chunk: int, is_by_frame: bool) -> Iterator[int]:
    """The length of each chunk from frame `first` on, without end.

    Where frames are encoded one by one, the very first one is a chunk of its own: its masks wait for no other frame.
    """
    if is_by_frame and first == 0 and chunk > 1:
        yield from (1, chunk - 1)
    yield from repeat(chunk)
