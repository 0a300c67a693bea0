"""The Vision Transformer's shapes, independence of frames, and gradients."""

import pytest
import torch

from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.vit import VisionTransformer, resample_positions


def tiny(width: int = 24, layer_scale: bool = False, early_stem: EarlyStem | None = None) -> VisionTransformer:
    return VisionTransformer(
        image_size=32,
        patch_size=8,
        inner_width=24,
        depth=2,
        heads=4,
        width=width,
        layer_scale=layer_scale,
        early_stem=early_stem,
    )


@pytest.mark.parametrize(("height", "width"), [(32, 32), (16, 16), (24, 56)])
def test_any_size_gives_one_token_a_patch(height: int, width: int) -> None:
    encoder = tiny(early_stem=EarlyStem(8))

    features = encoder(torch.rand(2, 3, 3, height, width))

    assert encoder.window == 1
    assert features.grid == (height // 8, width // 8)
    assert features.patches.shape == (2, 3, height * width // 64, encoder.width)
    assert encoder.early_strides == (2, 4)
    assert [fine.shape for fine in features.early] == [
        (2, 3, 16, height // 2, width // 2),
        (2, 3, 24, height // 4, width // 4),
    ]


def test_without_a_stem_there_are_no_early_maps() -> None:
    encoder = tiny()

    assert encoder(torch.rand(1, 1, 3, 32, 32)).early == ()
    assert (encoder.early_channels, encoder.early_strides) == ((), ())


def test_another_width_is_projected_to() -> None:
    assert tiny(width=40)(torch.rand(1, 2, 3, 32, 32)).patches.shape == (1, 2, 16, 40)
    assert "projection.weight" not in tiny(width=24).state_dict()


@pytest.mark.parametrize("layer_scale", [False, True])
def test_a_frame_is_independent_of_its_batch_mates(layer_scale: bool) -> None:
    encoder = tiny(layer_scale=layer_scale, early_stem=EarlyStem(8))
    frames = torch.rand(2, 3, 3, 32, 40)

    together = encoder(frames)
    alone = encoder(frames[1:, 2:])

    torch.testing.assert_close(together.patches[1:, 2:], alone.patches)
    for fine, fine_alone in zip(together.early, alone.early, strict=True):
        torch.testing.assert_close(fine[1:, 2:], fine_alone)


def test_gradients_reach_every_parameter_at_another_size() -> None:
    encoder = tiny(width=40, layer_scale=True, early_stem=EarlyStem(8))

    features = encoder(torch.rand(1, 2, 3, 24, 40))
    weighted = features.patches * torch.randn_like(features.patches)
    (weighted.sum() + sum(fine.square().sum() for fine in features.early)).backward()

    without = [name for name, value in encoder.named_parameters() if value.grad is None or not value.grad.any()]
    assert without == []


def test_half_precision_runs_inside_and_outside_autocast() -> None:
    frames = torch.rand(1, 1, 3, 24, 32)
    encoder = tiny(early_stem=EarlyStem(8))
    expected = encoder(frames).patches

    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(encoder(frames).patches.float(), expected, atol=0.1, rtol=0.1)
    halved = encoder.to(torch.bfloat16)(frames).patches
    assert halved.dtype == torch.bfloat16
    torch.testing.assert_close(halved.float(), expected, atol=0.1, rtol=0.1)


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="width 24 is not a multiple of 5 heads"):
        VisionTransformer(image_size=32, patch_size=8, inner_width=24, depth=1, heads=5, width=24)


def test_resampled_positions_keep_the_class_token_and_follow_the_axes() -> None:
    rows = torch.arange(6.0).repeat_interleave(6)
    columns = torch.arange(6.0).repeat(6)
    positions = torch.cat([torch.full((1, 1, 2), 7.0), torch.stack([rows, columns], dim=-1)[None]], dim=1)

    resampled = resample_positions(positions, (6, 6), (6, 12))

    assert resampled.shape == (1, 1 + 6 * 12, 2)
    assert resampled[0, 0].tolist() == [7.0, 7.0]
    grid = resampled[0, 1:].view(6, 12, 2)
    torch.testing.assert_close(grid[..., 0], torch.arange(6.0)[:, None].expand(6, 12))
    assert (grid[:, 1:, 1] > grid[:, :-1, 1]).all()
    assert resample_positions(positions, (6, 6), (6, 6)) is positions
