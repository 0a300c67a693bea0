"""Small videos to give to a command, whole and damaged, and a checkpoint that knows two sentences."""

import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from locater.config import preset
from locater.model.build import build
from locater.model.checkpoint import save_pretrained

FRAMES, WIDTH, HEIGHT = 20, 96, 64
DOG, OTHER = "the dog on the left", "the other dog"
ALL_FORMATS = "overlay,png,rle,sheet"


def write_video(
    path: Path, count: int, movflags: str = "", seed: int = 0, width: int = WIDTH, height: int = HEIGHT
) -> Path:
    """A clip of a red square that moves."""
    with av.open(str(path), "w", options={"movflags": movflags} if movflags else {}) as container:
        stream = container.add_stream("libx264", rate=Fraction(24), options={"preset": "ultrafast"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if count == 0:
            container.start_encoding()
        noise = np.random.default_rng(seed).integers(0, 60, (height, width, 3)).astype(np.uint8)
        for index in range(count):
            picture = noise.copy()
            picture[10:40, 5 + index % 50 : 35 + index % 50] = (250, 20, 20)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None) if count else [])
    return path


def bad_video(name: str, folder: Path) -> Path:
    """A file that is no video, in one of several ways; `missing` is not there."""
    path = folder / f"{name}.mp4"
    if name == "text":
        path.write_text("This is no video at all.\n" * 40)
    elif name == "empty":
        path.touch()
    elif name == "frameless":
        write_video(path, 0)
    elif name == "sound":
        with wave.open(str(path), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(8000)
            sound.writeframes(bytes(16000))
    elif name in ("cut_behind_index", "cut_before_index"):
        whole = write_video(path, 60, "+faststart" if name == "cut_behind_index" else "").read_bytes()
        path.write_bytes(whole[: len(whole) * 2 // 3])
    return path


def two_sentence_checkpoint(folder: Path) -> Path:
    """An untrained network of the tiny preset that knows the words of both sentences."""
    words = sorted({*DOG.split(), *OTHER.split()})
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": words}}), seed=0), folder)
    return folder
