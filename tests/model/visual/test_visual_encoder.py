"""The interface fits encoders of single frames and of whole windows alike."""

import pytest
import torch
import torch.nn.functional as F
from einops import reduce, repeat
from torch import Tensor, nn

from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.encoder import IMAGENET_STATISTICS, PixelStatistics, VisualEncoder
from locater.records import VisualFeatures

PIXELS = PixelStatistics(mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 2.0))


class WindowedEncoder(VisualEncoder):
    """Like Video-Swin or I3D in small: halves the time inside a window of 4 frames, then repeats it a frame."""

    def __init__(self) -> None:
        super().__init__(patch_size=8, width=6, pixels=PIXELS, early_channels=(3,), early_strides=(4,), window=4)
        self.projection = nn.Linear(3, 6)

    def forward(self, frames: Tensor) -> VisualFeatures:
        grid = self.grid(frames)
        parts = [self._encode_window(window) for window in torch.split(self.normalise(frames), self.window, dim=1)]
        early = reduce(self.normalise(frames), "b t c (h 4) (w 4) -> b t c h w", "mean")
        return VisualFeatures(patches=torch.cat(parts, dim=1), early=(early,), grid=grid)

    def _encode_window(self, frames: Tensor) -> Tensor:
        length = frames.shape[1]
        padded = F.pad(frames, (0, 0, 0, 0, 0, 0, 0, self.window - length))
        halved = reduce(padded, "b (t 2) c (r 8) (k 8) -> b t (r k) c", "mean")
        mixed = halved + halved.mean(dim=1, keepdim=True)  # every frame sees its whole window
        doubled: Tensor = self.projection(repeat(mixed, "b t p c -> b (t 2) p c"))
        return doubled[:, :length]


def test_windows_one_by_one_equal_the_whole_clip() -> None:
    encoder = WindowedEncoder()
    frames = torch.rand(2, 10, 3, 16, 24)

    whole = encoder(frames)
    streamed = [encoder(part) for part in torch.split(frames, encoder.window, dim=1)]  # 4, 4 and a shorter 2

    assert whole.patches.shape == (2, 10, 6, 6)
    assert whole.grid == (2, 3)
    torch.testing.assert_close(torch.cat([part.patches for part in streamed], dim=1), whole.patches)
    torch.testing.assert_close(torch.cat([part.early[0] for part in streamed], dim=1), whole.early[0])


def test_a_window_matters() -> None:
    encoder = WindowedEncoder()
    frames = torch.rand(1, 4, 3, 8, 8)
    changed = frames.clone()
    changed[:, 3] = 0

    assert not torch.allclose(encoder(frames).patches[:, 0], encoder(changed).patches[:, 0])


def test_normalisation_is_inside_and_not_saved() -> None:
    encoder = WindowedEncoder()
    frames = torch.rand(1, 1, 3, 8, 8)

    expected = (frames - torch.tensor(PIXELS.mean).view(3, 1, 1)) / torch.tensor(PIXELS.std).view(3, 1, 1)

    torch.testing.assert_close(encoder.normalise(frames), expected)
    assert set(encoder.state_dict()) == {"projection.weight", "projection.bias"}
    assert encoder.to(torch.bfloat16).normalise(frames).dtype == torch.bfloat16


@pytest.mark.parametrize(
    "frames",
    [
        torch.zeros(1, 1, 3, 8, 8, dtype=torch.uint8),
        torch.zeros(1, 3, 8, 8),
        torch.zeros(1, 1, 8, 8, 3),
    ],
    ids=["bytes", "no time", "channels last"],
)
def test_frames_of_another_form_are_refused(frames: Tensor) -> None:
    with pytest.raises(ValueError, match="frames must be float"):
        WindowedEncoder().normalise(frames)


def test_sides_that_leave_a_rest_are_refused() -> None:
    with pytest.raises(ValueError, match="20 x 16 cannot be cut into patches of 8"):
        WindowedEncoder()(torch.zeros(1, 1, 3, 20, 16))


def test_every_early_map_has_channels_and_a_stride() -> None:
    class Uneven(WindowedEncoder):
        def __init__(self) -> None:
            VisualEncoder.__init__(self, patch_size=8, width=6, pixels=IMAGENET_STATISTICS, early_channels=(3,))

    with pytest.raises(ValueError, match="1 early channels for 0 early strides"):
        Uneven()


@pytest.mark.parametrize(
    ("patch_size", "strides"), [(32, (2, 4, 8)), (16, (2, 4, 8)), (14, (2, 4, 8)), (8, (2, 4)), (4, (2,)), (2, ())]
)
def test_an_early_stem_is_finer_than_the_patches(patch_size: int, strides: tuple[int, ...]) -> None:
    stem = EarlyStem(patch_size)
    side = 2 * patch_size

    maps = stem(torch.randn(2, 3, side, 3 * side))

    assert stem.strides == strides
    assert stem.channels == (16, 24, 32)[: len(strides)]
    assert [fine.shape for fine in maps] == [
        (2, channels, -(-side // stride), -(-3 * side // stride))
        for channels, stride in zip(stem.channels, strides, strict=True)
    ]


def test_an_early_stem_does_not_look_at_batch_mates() -> None:
    stem = EarlyStem(16)
    pixels = torch.randn(3, 3, 32, 32)
    noisy = torch.cat([pixels[:1], 100 * torch.randn(2, 3, 32, 32)])

    for alone, together in zip(stem(pixels), stem(noisy), strict=True):
        torch.testing.assert_close(alone[:1], together[:1])
