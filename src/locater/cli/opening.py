"""What several commands open: a checkpoint on a device in a precision, and data by its name."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.inference.segmenter import Segmenter

DEFAULT_CHECKPOINT = "default"
DEFAULT_FORMATS = "overlay,png,rle"
# How every command names data, and what help says of it.
DATA = "shapes, composed:PACK, positions:PACK, or a dataset and its folder, as a2d-sentences:~/data/a2d."
OLD_ROOT = "The folder, where it is not part of the name."


def open_segmenter(checkpoint: str, device: str | None, precision: str) -> "Segmenter":
    """A ready segmenter; one sentence where device, precision or checkpoint cannot be had."""
    from locater.compute.device import find_device
    from locater.compute.precision import find_precision
    from locater.inference.segmenter import load

    place = find_device(device)
    return load(checkpoint, place, find_precision(precision, place))


def need_web() -> None:
    """Nothing, where the libraries that serve pages are installed."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise LocaterError(f"Pages need {name}, which is not installed; run: pip install 'locater[web]'.")
