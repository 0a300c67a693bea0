"""Two encoders side by side: one knows what things are, the other where they end."""

from torch import Tensor

from locater.model.visual.encoder import IMAGENET_STATISTICS, VisualEncoder
from locater.records import VisualFeatures


class JoinedEncoder(VisualEncoder):
    """The sum of both encoders' patches, with the early maps of `where`.

    Each ends in a projection of its own, so the sum is one projection of both side by side.
    """

    def __init__(self, what: VisualEncoder, where: VisualEncoder) -> None:
        if (what.patch_size, what.width) != (where.patch_size, where.width):
            raise ValueError("encoders can be joined only when their patches have one size and one width")
        if what.window != 1 or where.window != 1:
            raise ValueError("only encoders of single frames can be joined")
        super().__init__(
            patch_size=what.patch_size,
            width=what.width,
            pixels=IMAGENET_STATISTICS,  # unused: each encoder normalises for itself
            early_channels=where.early_channels,
            early_strides=where.early_strides,
        )
        self.what = what
        self.where = where

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), each frame on its own."""
        what, where = self.what(frames), self.where(frames)
        patches = what.patches + where.patches
        return VisualFeatures(patches, where.early, where.grid, what.meanings, what.class_scores)
