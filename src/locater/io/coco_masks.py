"""COCO's three ways to write a mask: compressed runs, plain runs, polygons."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from locater.errors import LocaterError
from locater.io import rle
from locater.io.extras import data_library

Mask = npt.NDArray[np.bool_]

_FARTHEST = 2**20  # pixels from the corner


def decode_segmentation(segmentation: Any, height: int, width: int, name: str) -> Mask:
    """The (H, W) mask; `name` says where it stands when it is broken."""
    try:
        if isinstance(segmentation, Mapping):
            return _from_runs(segmentation)
        return _from_polygons(segmentation, height, width)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError):
        raise LocaterError(f"{name} holds a mask that cannot be decoded; download it again.") from None


def _from_runs(segmentation: Mapping[str, Any]) -> Mask:
    height, width = (int(side) for side in segmentation["size"])
    counts = segmentation["counts"]
    if isinstance(counts, str):
        return rle.decode(counts.encode("ascii"), height, width)
    if not 0 <= height * width == sum(counts) <= rle.MOST_PIXELS:
        raise ValueError("the runs do not cover the mask")
    values = np.arange(len(counts)) % 2 == 1
    return np.repeat(values, counts).reshape((height, width), order="F")


def _from_polygons(polygons: Any, height: int, width: int) -> Mask:
    if not polygons:
        return np.zeros((height, width), dtype=np.bool_)
    for polygon in polygons:  # the rasteriser itself checks nothing, and takes memory for every pixel of an edge
        points = np.asarray(polygon, dtype=np.float64)
        if points.ndim != 1 or len(points) < 6 or len(points) % 2 or not (np.abs(points) < _FARTHEST).all():
            raise ValueError("a polygon has odd points")
    # COCO's own rasteriser: any other differs by a pixel along the edges.
    coco = data_library("pycocotools.mask")
    runs = coco.merge(coco.frPyObjects(polygons, height, width))
    return rle.decode(runs["counts"], height, width)
