"""A pack's pictures on one device, each decoded when it is first drawn and kept."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from multiprocessing import get_all_start_methods

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from locater.worlds.composed.pack.pack import Pack

_THREADS = min(os.cpu_count() or 1, 16)
_AHEAD = 8192  # pictures that are decoded beside those that are needed
_MANY = 1024  # pictures that are worth starting processes
_AT_A_TIME = 64  # copied to the device
LEVELS = 5  # each half the size of the one before


class Textures:
    """Cut-outs with their smaller versions beside them, premultiplied, and photographs."""

    def __init__(self, pack: Pack, device: str | torch.device = "cpu") -> None:
        self.pack = pack
        self.device = torch.device(device)
        side, large = pack.cutout_side, pack.photograph_side
        # Memory of the CPU is taken only where something is written.
        self._cutouts = torch.empty((len(pack.cutouts), 4, side, side * 3 // 2), dtype=torch.uint8, device=device)
        self._photographs = torch.empty((len(pack.photographs), 4, large, large), dtype=torch.uint8, device=device)
        # Training draws nearly all of a pack: a few at each step would keep most threads idle.
        self._ahead = _AHEAD if self.device.type == "cuda" else 0
        self._known_cutouts: set[int] = set()
        self._known_photographs: set[int] = set()
        self.centres = torch.tensor([entry.centre for entry in pack.cutouts], device=device)  # (C, 2) in pixels
        self.radii = torch.tensor([entry.radius for entry in pack.cutouts], device=device)  # (C,) in pixels

    @property
    def side(self) -> int:
        """The largest cut-out's side in pixels."""
        return self.pack.cutout_side

    def cutouts(self, numbers: Tensor) -> Tensor:
        """Cut-outs at all sizes, (..., 4, side, 1.5 side) uint8; `numbers` is on the CPU."""
        self._fetch(numbers, self._known_cutouts, self._cutouts, self._cutout)
        return self._cutouts[numbers.to(self.device)]

    def photographs(self, numbers: Tensor) -> Tensor:
        """Photographs with their things' numbers as the fourth channel, (..., 4, S, S) uint8."""
        self._fetch(numbers, self._known_photographs, self._photographs, self._photograph)
        return self._photographs[numbers.to(self.device)]

    def _fetch(self, numbers: Tensor, known: set[int], store: Tensor, read: Callable[[int], Tensor]) -> None:
        missing = sorted(set(numbers.flatten().tolist()) - known)
        if not missing:
            return
        if self._ahead:
            others = (number for number in range(len(store)) if number not in known)
            missing = sorted({*missing, *islice(others, self._ahead)})
        for some, pictures in _read_all(read, missing):
            store[torch.tensor(some, device=self.device)] = pictures.to(self.device)
        known.update(missing)

    def _cutout(self, number: int) -> Tensor:
        pixels = torch.from_numpy(self.pack.cutout_pixels(number).copy()).permute(2, 0, 1).float()  # (4, h, w)
        pixels[:3] *= pixels[3:] / 255
        side = self.side
        level = F.pad(pixels, (0, side - pixels.shape[2], 0, side - pixels.shape[1]))[None]
        sheet = torch.zeros((4, side, side * 3 // 2))
        sheet[:, :, :side] = level[0]
        top = 0
        for _ in range(1, LEVELS):
            level = F.avg_pool2d(level, 2)
            size = level.shape[-1]
            sheet[:, top : top + size, side : side + size] = level[0]
            top += size
        return sheet.round().to(torch.uint8)

    def _photograph(self, number: int) -> Tensor:
        pixels, numbers = self.pack.photograph_pixels(number), self.pack.photograph_numbers(number)
        return torch.from_numpy(np.ascontiguousarray(np.dstack([pixels, numbers]).transpose(2, 0, 1)))


def _read_all(read: Callable[[int], Tensor], numbers: Sequence[int]) -> Iterator[tuple[list[int], Tensor]]:
    """Pictures by their numbers, some at a time."""
    groups = [list(numbers[first : first + _AT_A_TIME]) for first in range(0, len(numbers), _AT_A_TIME)]
    if len(numbers) < _MANY or "fork" not in get_all_start_methods():
        with ThreadPoolExecutor(_THREADS) as pool:
            for some in groups:
                yield some, torch.stack(list(pool.map(read, some)))
        return
    # Threads wait for Python's lock most of the time: on 16 cores they decoded with less than two.
    loader = DataLoader(
        _Pictures(read),
        batch_sampler=groups,
        num_workers=_THREADS,
        multiprocessing_context="fork",
        generator=torch.Generator(),  # else it draws from the one whose state a training keeps
    )
    yield from zip(groups, loader, strict=True)


class _Pictures(Dataset[Tensor]):
    """What `read` reads, for worker processes."""

    def __init__(self, read: Callable[[int], Tensor]) -> None:
        self.read = read

    def __getitem__(self, number: int) -> Tensor:
        return self.read(number)
