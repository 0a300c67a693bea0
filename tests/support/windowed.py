"""Networks with an encoder of windows, small enough for tests."""

from typing import Any

from locater.config import preset
from locater.model.build import build
from locater.model.locater import Locater

WORDS = ["a", "dog", "left", "on", "the"]
VIDEO_ENCODERS: dict[str, dict[str, Any]] = {
    # The first stage of 64 pixels is 16 cells wide: padded, and shifted.
    "video_swin": {"kind": "video_swin", "width": 8, "depths": [2, 1, 1], "heads": [1, 2, 2]},
    "i3d": {"kind": "i3d", "scale": 0.03},
}


def windowed_model(kind: str, upsampling: str = "fine") -> Locater:
    """`tiny`, narrower, with such an encoder; a global memory that remembers every third frame."""
    changes = {
        "width": 16,
        "visual": VIDEO_ENCODERS[kind],
        "text": {"vocabulary": WORDS, "max_words": 5, "embedding_width": 8},
        "fusion": {"modules": 1},
        "memory": {"interval": 3, "global_ratio": 1.0, "local_ratio": 1.0},
        "decoder": {"upsampling": upsampling},
    }
    return build(preset("tiny", changes), seed=0)
