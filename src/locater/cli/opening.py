"""What several commands open: a checkpoint on a device in a precision, and data by its name."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from locater.cli.process.collecting import uncollected
from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.inference.segmenter import Segmenter

DEFAULT_CHECKPOINT = "default"
DEFAULT_FORMATS = "overlay,png,rle"
# How every command names data, and what help says of it.
DATA = "shapes, composed:PACK, positions:PACK, or a dataset and its folder, as a2d-sentences:~/data/a2d."
OLD_ROOT = "The folder, where it is not part of the name."


def open_segmenter(
    checkpoint: str, device: str | None, precision: str, fast: bool = False, best: bool = False
) -> "Segmenter":
    """A ready segmenter; one sentence where device, precision, checkpoint or quality cannot be had."""
    if fast and best:
        raise LocaterError("Masks are either made fast or as well as can be; choose one of --fast and --best.")
    with uncollected():
        from locater.compute.device import find_device
        from locater.compute.precision import AUTO, find_precision
        from locater.inference.segmenter import load

        place = find_device(device)
        chosen = AUTO if precision == AUTO else find_precision(precision, place)
        return load(checkpoint, place, chosen, "fast" if fast else "best" if best else "default")


def need_web() -> None:
    """Nothing, where the libraries that serve pages are installed."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise LocaterError(f"Pages need {name}, which is not installed; run: pip install 'locater[web]'.")
