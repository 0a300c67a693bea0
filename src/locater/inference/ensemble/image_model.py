"""An image-level referring model as a source of candidates: CLIPSeg, and its surest masks followed through the video.

Such a model sees each frame alone. Its masks flicker, and where a frame is hard it loses the thing; so only the frames
in which it is surest are believed, and a segmenter follows what they show, as it follows a mask that a person drew.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from locater.compute.device import find_device
from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter
from locater.model.decoder import presence
from locater.records import Correction, Frame, FrameSource, Mask, Pixels

if TYPE_CHECKING:
    from transformers import CLIPSegForImageSegmentation, CLIPSegProcessor

THRESHOLD = 0.5


class ImageModel:
    """A CLIPSeg from a local folder or the hub."""

    def __init__(
        self, model: "CLIPSegForImageSegmentation", processor: "CLIPSegProcessor", device: str | None = None
    ) -> None:
        self._device = find_device(device)
        self._model = model.to(self._device).eval()  # type: ignore[arg-type]
        self._processor = processor

    @classmethod
    def from_pretrained(cls, folder: str | Path, device: str | None = None) -> "ImageModel":
        """The model of a folder as `save_pretrained` of transformers writes it, with its processor."""
        from transformers import AutoConfig, CLIPSegForImageSegmentation, CLIPSegProcessor

        try:
            kind = AutoConfig.from_pretrained(folder).model_type
            if kind != "clipseg":
                raise LocaterError(f"{folder} is a {kind}; image models of the kind clipseg can be read.")
            model = CLIPSegForImageSegmentation.from_pretrained(folder, use_safetensors=True)
            return cls(model, CLIPSegProcessor.from_pretrained(folder), device)
        except (OSError, ValueError) as error:
            reason = str(error).split("\n", maxsplit=1)[0]
            raise LocaterError(
                f"The image model {folder} cannot be loaded ({reason}); give a CLIPSeg folder."
            ) from None

    @torch.inference_mode()
    def soft_mask(self, pixels: Pixels, expression: str) -> Tensor:
        """One frame's soft mask (H, W), on the CPU."""
        given = self._processor(
            text=[expression], images=[Image.fromarray(pixels)], return_tensors="pt", padding=True, truncation=True
        )
        logits = self._model(**given.to(self._device)).logits.float().reshape(1, 1, *self._mask_size())
        soft = F.interpolate(logits, size=pixels.shape[:2], mode="bilinear", align_corners=False).sigmoid()
        return soft[0, 0].cpu()

    def _mask_size(self) -> tuple[int, int]:
        side = self._model.config.vision_config.image_size
        return side, side

    def masks(self, source: FrameSource, expression: str) -> Iterator[tuple[Frame, Mask, float]]:
        """Each frame with its mask and how sure the model is of it."""
        for frame in source.frames():
            soft = self.soft_mask(frame.pixels, expression)
            yield frame, np.asarray((soft > THRESHOLD).numpy()), float(presence(soft[None])[0])


def followed(
    source: FrameSource, masks: Sequence[Mask], sureness: Sequence[float], segmenter: Segmenter, key_frames: int = 1
) -> list[Mask]:
    """A video's masks, those of its surest frames followed through the others; empty ones where none marks anything."""
    surest = sorted(range(len(masks)), key=lambda index: (-sureness[index], index))
    keys = [index for index in surest if masks[index].any()][:key_frames]
    if not keys:
        return [np.zeros_like(mask) for mask in masks]
    told = [Correction(index, mask=masks[index]) for index in keys]
    return [result.masks[0] for result in segmenter.segment(source, [""], mode="file", corrections=told)]
