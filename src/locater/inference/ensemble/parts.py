"""The things that a mask sequence marks, each as a mask sequence of its own: more for a module to choose from.

A network that takes "the left dog" for any dog marks all of them. Its regions are followed through the frames, on a
coarse grid, so that a large picture costs what a small one does.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional as F

from locater.inference.ensemble.scoring import Candidate
from locater.records import Mask

CELLS = 64  # of the grid's side
REACH = 2  # cells: how far beyond where it was a thing is looked for
LEAST = 4  # cells: a smaller region is no thing
SHARE = 0.1  # of all that is marked: what marks less is no thing
MOST = 4  # things of one candidate

Cells = npt.NDArray[np.bool_]  # (CELLS, CELLS)


def parts_of(candidate: Candidate) -> list[Candidate]:
    """The things that a candidate marks, the largest first; none where it marks one thing alone, or nothing."""
    indices = sorted(candidate)
    grids = [_grid(candidate[index]) for index in indices]
    tracks = _followed([_regions(grid) for grid in grids])
    marked = sum(int(grid.sum()) for grid in grids)
    sizes = [int(track.sum()) for track in tracks]
    kept = [place for place in np.argsort(sizes)[::-1][:MOST] if sizes[place] >= SHARE * marked]
    if len(kept) < 2:
        return []
    return [
        {
            index: candidate[index] & _at_size(tracks[place][number], candidate[index].shape)
            for number, index in enumerate(indices)
        }
        for place in kept
    ]


def _grid(mask: Mask) -> Cells:
    """The cells that hold any of a mask."""
    pooled = F.adaptive_max_pool2d(torch.from_numpy(mask.astype(np.float32))[None], CELLS)
    return np.asarray(pooled[0].numpy() > 0)


def _at_size(cells: Cells, size: tuple[int, ...]) -> Mask:
    rows, columns = (np.arange(side) * CELLS // side for side in size)
    return np.asarray(cells[rows][:, columns])


def _regions(grid: Cells) -> list[Cells]:
    """The grid's connected regions, corners counted, the largest first."""
    inside = torch.from_numpy(grid)[None].float()
    labels = inside * torch.arange(1, grid.size + 1).view(1, *grid.shape)
    while True:
        spread = F.max_pool2d(labels, 3, stride=1, padding=1) * inside
        if torch.equal(spread, labels):
            break
        labels = spread
    numbers, sizes = np.unique(labels[0].numpy()[grid], return_counts=True)
    kept = sorted(((size, number) for number, size in zip(numbers, sizes, strict=True) if size >= LEAST), reverse=True)
    return [labels[0].numpy() == number for _, number in kept]


def _followed(frames: Sequence[Sequence[Cells]]) -> list[npt.NDArray[np.bool_]]:
    """Regions of all frames as things, (T, CELLS, CELLS) each: a region goes on where one was the frame before.

    One that covers the places of several things is divided among them, each cell to the nearest.
    """
    last: list[Cells] = []  # where each thing was when it was seen last
    tracks: list[npt.NDArray[np.bool_]] = []
    for number, regions in enumerate(frames):
        now: dict[int, Cells] = {}
        for region in regions:
            owners = _owners(region, last, set(now))
            for place, cells in zip(owners, _divided(region, [last[place] for place in owners]), strict=True):
                now[place] = now[place] | cells if place in now else cells
            if not owners:
                now[len(tracks)] = region
                tracks.append(np.zeros((len(frames), CELLS, CELLS), dtype=np.bool_))
        for place, cells in sorted(now.items()):
            tracks[place][number] = cells
            if place == len(last):
                last.append(cells)
            elif cells.any():
                last[place] = cells
    return tracks


def _owners(region: Cells, last: Sequence[Cells], taken: set[int]) -> list[int]:
    """The things that a region belongs to: all that were where it is or, of those near it, the nearest; none if new."""
    shared = {place: int((cells & region).sum()) for place, cells in enumerate(last)}
    over = [place for place, cells in shared.items() if cells]
    if over:
        return [place for place in over if place not in taken] or [max(over, key=lambda place: shared[place])]
    near = {place: int((_grown(last[place]) & region).sum()) for place in shared if place not in taken}
    nearest = max(near, key=lambda place: near[place], default=-1)
    return [nearest] if near.get(nearest) else []


def _grown(cells: Cells) -> Cells:
    spread = F.max_pool2d(torch.from_numpy(cells)[None].float(), 2 * REACH + 1, stride=1, padding=REACH)
    return np.asarray(spread[0].numpy() > 0)


def _divided(region: Cells, owners: Sequence[Cells]) -> list[Cells]:
    """The region's cells, each with the nearest of its owners."""
    if len(owners) < 2:
        return [region] * len(owners)
    places = np.argwhere(region)
    far = np.stack([_distance(places, np.argwhere(owner)) for owner in owners])
    nearest = far.argmin(0)
    found = []
    for number in range(len(owners)):
        cells = np.zeros_like(region)
        cells[tuple(places[nearest == number].T)] = True
        found.append(cells)
    return found


def _distance(places: npt.NDArray[np.int64], others: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Of each place, its squared distance to the nearest of the others."""
    apart = places[:, None] - others[None]
    return np.asarray((apart**2).sum(-1).min(1))
