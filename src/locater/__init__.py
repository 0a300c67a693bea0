"""Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from locater.config import ModelConfig, preset
    from locater.errors import LocaterError
    from locater.inference.segmenter import Segmenter, load
    from locater.model.build import build
    from locater.model.checkpoint import from_pretrained, save_pretrained
    from locater.model.locater import Locater
    from locater.records import FrameResult, VideoState, Views
    from locater.video.track import MaskTrack

__version__ = "0.1.0"

_HOMES = {
    "FrameResult": "locater.records",
    "Locater": "locater.model.locater",
    "LocaterError": "locater.errors",
    "MaskTrack": "locater.video.track",
    "ModelConfig": "locater.config",
    "Segmenter": "locater.inference.segmenter",
    "VideoState": "locater.records",
    "Views": "locater.records",
    "build": "locater.model.build",
    "from_pretrained": "locater.model.checkpoint",
    "load": "locater.inference.segmenter",
    "preset": "locater.config",
    "save_pretrained": "locater.model.checkpoint",
}

__all__ = [
    "FrameResult",
    "Locater",
    "LocaterError",
    "MaskTrack",
    "ModelConfig",
    "Segmenter",
    "VideoState",
    "Views",
    "build",
    "from_pretrained",
    "load",
    "preset",
    "save_pretrained",
]


def __getattr__(name: str) -> Any:
    """A public name, imported when first asked for, so that `locater --help` never waits for torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'locater' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
