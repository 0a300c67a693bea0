"""I3D against its definition: the port's names, plain convolutions, TensorFlow's padding."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from locater.errors import LocaterError
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.video.i3d import I3D

Named = dict[str, Tensor]
# As the paper's figure 3 and the port print them, Mixed_5b included, which is not wanted.
MODULES = {
    "Mixed_3b": (64, 96, 128, 16, 32, 32),
    "Mixed_3c": (128, 128, 192, 32, 96, 64),
    "Mixed_4b": (192, 96, 208, 16, 48, 64),
    "Mixed_4c": (160, 112, 224, 24, 64, 64),
    "Mixed_4d": (128, 128, 256, 24, 64, 64),
    "Mixed_4e": (112, 144, 288, 32, 64, 64),
    "Mixed_4f": (256, 160, 320, 32, 128, 128),
    "Mixed_5b": (256, 160, 320, 32, 128, 128),
}


def published(divide: int = 1) -> Named:
    """Random weights under the port's names; with `divide`, of a network that many times narrower."""
    generator = torch.Generator().manual_seed(0)
    tensors: Named = {}

    def unit(name: str, inputs: int, outputs: int, kernel: int) -> int:
        weight = torch.randn(outputs, inputs, kernel, kernel, kernel, generator=generator)
        tensors[f"{name}.conv3d.weight"] = weight * (2 / (inputs * kernel**3)) ** 0.5
        for leaf in ("weight", "bias", "running_mean"):
            tensors[f"{name}.bn.{leaf}"] = 0.2 * torch.randn(outputs, generator=generator) + (leaf == "weight")
        tensors[f"{name}.bn.running_var"] = torch.rand(outputs, generator=generator) + 0.5
        tensors[f"{name}.bn.num_batches_tracked"] = torch.tensor(7)
        return outputs

    stem = (64 // divide, 64 // divide, 192 // divide)
    unit("Conv3d_1a_7x7", 3, stem[0], 7)
    unit("Conv3d_2b_1x1", stem[0], stem[1], 1)
    inputs = unit("Conv3d_2c_3x3", stem[1], stem[2], 3)
    for name, channels in MODULES.items():
        b0, b1a, b1b, b2a, b2b, b3b = (each // divide for each in channels)
        unit(f"{name}.b1a", inputs, b1a, 1)
        unit(f"{name}.b2a", inputs, b2a, 1)
        parts = [unit(f"{name}.b0", inputs, b0, 1), unit(f"{name}.b1b", b1a, b1b, 3)]
        parts += [unit(f"{name}.b2b", b2a, b2b, 3), unit(f"{name}.b3b", inputs, b3b, 1)]
        inputs = sum(parts)
    tensors["logits.conv3d.weight"], tensors["logits.conv3d.bias"] = torch.ones(5, inputs, 1, 1, 1), torch.ones(5)
    return tensors


def padded(x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], value: float) -> Tensor:
    """SAME: one side after another, the odd cell at the end."""
    for axis in range(3):
        side = x.shape[2 + axis]
        rest = side % stride[axis]
        total = max(kernel[axis] - (rest or stride[axis]), 0)
        before = list(x.shape)
        after = list(x.shape)
        before[2 + axis], after[2 + axis] = total // 2, total - total // 2
        x = torch.cat([x.new_full(before, value), x, x.new_full(after, value)], dim=2 + axis)
    return x


def unit(x: Tensor, tensors: Named, name: str, stride: int = 1) -> Tensor:
    weight = tensors[f"{name}.conv3d.weight"]
    x = F.conv3d(padded(x, tuple(weight.shape[2:]), (stride,) * 3, 0.0), weight, stride=stride)
    gain, bias, mean, variance = (
        tensors[f"{name}.bn.{leaf}"].view(-1, 1, 1, 1) for leaf in ("weight", "bias", "running_mean", "running_var")
    )
    return ((x - mean) / (variance + 1e-3).sqrt() * gain + bias).clamp(min=0)


def largest(x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    return F.max_pool3d(padded(x, kernel, stride, -torch.inf), kernel, stride)


def by_definition(windows: Tensor, tensors: Named) -> list[Tensor]:
    """The maps (N, C, t, h, w) at strides 2, 4, 8 and 16."""
    two = unit(windows, tensors, "Conv3d_1a_7x7", stride=2)
    x = unit(largest(two, (1, 3, 3), (1, 2, 2)), tensors, "Conv3d_2b_1x1")
    found = [two, unit(x, tensors, "Conv3d_2c_3x3")]
    x = largest(found[-1], (1, 3, 3), (1, 2, 2))
    for name in list(MODULES)[:-1]:
        if name == "Mixed_4b":
            found.append(x)
            x = largest(x, (3, 3, 3), (2, 2, 2))
        branches = [
            unit(x, tensors, f"{name}.b0"),
            unit(unit(x, tensors, f"{name}.b1a"), tensors, f"{name}.b1b"),
            unit(unit(x, tensors, f"{name}.b2a"), tensors, f"{name}.b2b"),
            unit(largest(x, (3, 3, 3), (1, 1, 1)), tensors, f"{name}.b3b"),
        ]
        x = torch.cat(branches, dim=1)
    return [*found, x]


@torch.no_grad()
def test_it_is_its_definition_with_public_weights(tmp_path: Path) -> None:
    tensors = published(divide=8)
    save_file(tensors, tmp_path / "i3d.safetensors")
    encoder = I3D(width=12, scale=1 / 8, has_early=True).eval()
    load_pretrained(encoder, tmp_path / "i3d.safetensors")
    windows = torch.randn(2, 3, 16, 48, 80, generator=torch.Generator().manual_seed(1))

    maps = [found.movedim(-1, 1) for found in encoder.maps(windows)]

    assert [tuple(found.shape[2:]) for found in maps] == [(8, 24, 40), (8, 12, 20), (8, 6, 10), (4, 3, 5)]
    for ours, theirs in zip(maps, by_definition(windows, tensors), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_published_weights_fit_the_whole_network(tmp_path: Path) -> None:
    tensors = published()
    save_file(tensors, tmp_path / "i3d.safetensors")
    encoder = I3D(width=12)

    load_pretrained(encoder, tmp_path / "i3d.safetensors")

    assert torch.equal(encoder.state_dict()["mixed.4f.other.1.conv.weight"], tensors["Mixed_4f.b2b.conv3d.weight"])
    assert encoder.training  # and its norms keep the published statistics all the same
    encoder(torch.rand(1, 1, 3, 16, 16))
    assert torch.equal(encoder.state_dict()["stem.0.norm.running_mean"], tensors["Conv3d_1a_7x7.bn.running_mean"])


def test_weights_of_flow_are_told_apart_and_nothing_is_loaded(tmp_path: Path) -> None:
    tensors = published(divide=8)
    tensors["Conv3d_1a_7x7.conv3d.weight"] = torch.ones(8, 2, 7, 7, 7)  # the stream of optical flow
    del tensors["Mixed_4c.b3b.bn.running_var"]
    save_file(tensors, tmp_path / "i3d.safetensors")
    encoder = I3D(width=12, scale=1 / 8)
    before = encoder.state_dict()["mixed.4b.single.conv.weight"].clone()

    with pytest.raises(LocaterError) as refused:
        load_pretrained(encoder, tmp_path / "i3d.safetensors")

    assert "Conv3d_1a_7x7.conv3d.weight (8, 2, 7, 7, 7) instead of (8, 3, 7, 7, 7)" in str(refused.value)
    assert "missing 1 (mixed.4c.after_pool.norm.running_var)" in str(refused.value)
    assert torch.equal(before, encoder.state_dict()["mixed.4b.single.conv.weight"])
