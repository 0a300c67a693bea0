"""How a checkpoint is fine-tuned, chosen by the machine and by how much there is to learn from."""

from collections.abc import Mapping
from typing import Any

from locater.config import ModelConfig, TrainingConfig, parse_training

# Parts that a handful of clips would only spoil: what was pretrained on millions of pictures, V's statistics over all
# data, and what only worlds teach.
FROZEN = ("visual", "refiner", "fusion.norm", "motion_targets")
# A vector that belongs to one word costs no other sentence anything, so it may learn faster than what all share.
OWN_VECTORS, OWN_VECTORS_RATE = ("text.embedding.learned", "text.embedding"), 10.0
_ALIKE: Mapping[str, Any] = {
    "optimizer": "adamw",
    "weight_decay": 0.0,  # it would draw the vectors of words that are not said here towards nothing
    "max_gradient_norm": 1.0,
    "warmup_steps": 5,
    "dice_weight": 1.0,
    "clip_strides": [1, 2, 0],
    "global_frames": 0,
    "is_refined": False,
    "rehearsed": 1,  # three, mostly absent, made what is rarely said find nothing
    "keep_best": True,
}
# Minutes on two cores: the patch grid's masks alone, of few and short clips.
_CPU: Mapping[str, Any] = {"batch_size": 2, "clip_frames": 3, "learning_rate": 1e-4, "is_fine": False}
_GPU: Mapping[str, Any] = {"batch_size": 8, "clip_frames": 6, "learning_rate": 1e-4, "precision": "bf16"}
_STEPS_PER_SENTENCE = {"cpu": 12, "cuda": 30}
_BOUNDS = {"cpu": (40, 160), "cuda": (150, 3000)}
_VALIDATIONS = {"cpu": 4, "cuda": 8}


def settings_for(
    network: ModelConfig, parts: frozenset[str], device: str, sentences: int, changes: Mapping[str, Any]
) -> TrainingConfig:
    """The settings for a network with these parts (by name, as in `rates`), with a user's changes on top."""
    kind = "cuda" if device == "cuda" else "cpu"
    low, high = _BOUNDS[kind]
    steps = changes.get("steps", min(max(low, _STEPS_PER_SENTENCE[kind] * sentences), high))
    rates = {part: 0.0 for part in FROZEN if part in parts}
    own = next((part for part in OWN_VECTORS if part in parts), None)
    if own is not None:
        rates[own] = OWN_VECTORS_RATE
    every = max(1, int(steps) // _VALIDATIONS[kind])
    chosen = {
        **_ALIKE,
        **(_GPU if kind == "cuda" else _CPU),
        "steps": steps,
        "rates": rates,
        "validate_every": every,
        "save_every": every,
        "validation_videos": 8 if kind == "cpu" else 32,
        "image_size": network.image_size,
    }
    return parse_training({**chosen, **changes}, "fine-tuning")
