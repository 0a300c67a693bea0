"""Runs networks that `locater export` wrote, by onnxruntime and numpy: `Lite(folder).segment(frames, 24, "a dog")`."""

from locater_lite.errors import LocaterError
from locater_lite.lite import Lite, Segmented
from locater_lite.sources import PictureFolder, VideoFile

__all__ = ["Lite", "LocaterError", "PictureFolder", "Segmented", "VideoFile"]
