"""Validation by sentence kind, on whole videos, many at once, with pictures."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from locater.compute.precision import mixed
from locater.inference.async_results import THRESHOLD
from locater.io.atomic import atomic_path
from locater.model.locater import Locater
from locater.records import Batch
from locater.training.data.batches import TrainingData
from locater.video.overlap import iou
from locater.video.overlay import draw
from locater.video.transforms import resize_soft

VIDEOS_AT_ONCE = 16


@dataclass(frozen=True)
class Validation:
    """Mean IoU per kind of sentence (of an absent referent: the share of empty masks), and one video of each kind."""

    scores: dict[str, float]
    pictures: dict[str, Image.Image]


@torch.no_grad()
def validate(
    model: Locater,
    data: TrainingData,
    videos: int,
    device: torch.device,
    precision: str,
    is_fine: bool = True,
    is_refined: bool = True,
) -> Validation:
    """Scores of `videos` whole validation videos per kind, by the same step that inference runs.

    Of a stage that learns coarser masks, those are scored (`is_fine`, `is_refined` as in training).
    """
    was_training = model.training
    model.eval()
    scores: dict[str, float] = {}
    pictures: dict[str, Image.Image] = {}
    for kind in data.kinds:
        overlaps = []
        for first in range(0, videos, VIDEOS_AT_ONCE):
            numbers = range(first, min(first + VIDEOS_AT_ONCE, videos))
            batch = data.draw(data.validation(kind, numbers), device)
            predicted = predict(model, batch, precision, is_fine, is_refined)
            overlaps.append(iou(predicted, batch.masks > 0.5)[batch.is_annotated])
            if first == 0:
                pictures[kind] = picture(batch, predicted)
        scores[kind] = float(torch.cat(overlaps).mean())
    model.train(was_training)
    return Validation(scores, pictures)


def predict(
    model: Locater, batch: Batch, precision: str, is_fine: bool = True, is_refined: bool = True
) -> torch.Tensor:
    """The masks (B, T, H, W) bool of whole videos."""
    with mixed(precision, batch.frames.device):
        tokens = model.read(batch.expressions)
        logits = model(
            batch.frames, batch.times, batch.global_frames, batch.global_times, tokens, is_fine, is_refined
        ).logits
    soft = logits.float().sigmoid()
    return torch.stack([resize_soft(video, *batch.masks.shape[-2:]) for video in soft]) > THRESHOLD


def picture(batch: Batch, predicted: torch.Tensor, columns: int = 8) -> Image.Image:
    """The first video's frames, the truth above the prediction, its sentence on top."""
    times = torch.linspace(0, batch.frames.shape[1] - 1, columns).round().long().tolist()
    rows = []
    for masks in (batch.masks[0] > 0.5, predicted[0]):
        tiles = []
        for t in times:
            pixels = (batch.frames[0, t].permute(1, 2, 0).cpu().numpy() * 255).round().astype(np.uint8)
            tiles.append(draw(pixels, masks[t].cpu().numpy()[None]))
        rows.append(np.concatenate(tiles, axis=1))
    return Image.fromarray(np.concatenate(rows))


def save_pictures(validation: Validation, folder: Path) -> None:
    """One PNG per kind, each whole or not at all."""
    for kind, image in validation.pictures.items():
        with atomic_path(folder / f"{kind}.png") as partial:
            image.save(partial)
