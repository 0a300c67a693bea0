"""Video-Swin against its definition, written out group by group, and against torchvision's where that is installed."""

import itertools
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from locater.errors import LocaterError
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.video.swin import VideoSwin

CHANNELS, DEPTHS, HEADS = 8, (1, 2, 2), (1, 2, 4)
WINDOW = (8, 7, 7)
Named = dict[str, Tensor]


def small(has_early: bool = True) -> VideoSwin:
    return VideoSwin(width=12, channels=CHANNELS, depths=DEPTHS, heads=HEADS, has_early=has_early).eval()


def drawn(generator: torch.Generator, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=generator) * (0.4 if len(shape) < 2 else shape[-1] ** -0.5)


def published(prefix: str = "backbone.") -> Named:
    """Random weights under the names of Video-Swin-Transformer's own files, its last stage and classifier included."""
    generator = torch.Generator().manual_seed(0)
    tensors: Named = {}

    def linear(name: str, inputs: int, outputs: int) -> None:
        tensors[f"{name}.weight"] = drawn(generator, outputs, inputs)
        tensors[f"{name}.bias"] = drawn(generator, outputs)

    def norm(name: str, channels: int) -> None:
        tensors[f"{name}.weight"] = 1 + drawn(generator, channels)
        tensors[f"{name}.bias"] = drawn(generator, channels)

    tensors["patch_embed.proj.weight"] = drawn(generator, CHANNELS, 3, 2, 4, 4)
    tensors["patch_embed.proj.bias"] = drawn(generator, CHANNELS)
    norm("patch_embed.norm", CHANNELS)
    for stage, (depth, heads) in enumerate(zip((*DEPTHS, 1), (*HEADS, 8), strict=True)):
        channels = CHANNELS * 2**stage
        for block in range(depth):
            name = f"layers.{stage}.blocks.{block}"
            norm(f"{name}.norm1", channels)
            linear(f"{name}.attn.qkv", channels, 3 * channels)
            linear(f"{name}.attn.proj", channels, channels)
            tensors[f"{name}.attn.relative_position_bias_table"] = drawn(generator, 15 * 13 * 13, heads) * heads
            tensors[f"{name}.attn.relative_position_index"] = torch.zeros(392, 392, dtype=torch.long)
            norm(f"{name}.norm2", channels)
            linear(f"{name}.mlp.fc1", channels, 4 * channels)
            linear(f"{name}.mlp.fc2", 4 * channels, channels)
        if stage < 3:
            norm(f"layers.{stage}.downsample.norm", 4 * channels)
            tensors[f"layers.{stage}.downsample.reduction.weight"] = drawn(generator, 2 * channels, 4 * channels)
    norm("norm", 8 * CHANNELS)
    named = {f"{prefix}{name}": value for name, value in tensors.items()}
    linear("cls_head.fc_cls", 8 * CHANNELS, 3)
    return named | {name: value for name, value in tensors.items() if name.startswith("cls_head")}


# ---- Its definition --------------------------------------------------------------------------------------------------


def normed(x: Tensor, tensors: Named, name: str) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def linear(x: Tensor, tensors: Named, name: str) -> Tensor:
    return x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]


def groups(side: int, window: int, is_shifted: bool) -> list[list[int]]:
    """The places along one axis, zero padding included, that look at each other."""
    span = min(window, side)
    padded = math.ceil(side / span) * span
    shift = span // 2 if is_shifted and side > window else 0
    edges = [0, *range(shift, padded, span), padded] if shift else [*range(0, padded, span), padded]
    return [list(range(start, stop)) for start, stop in itertools.pairwise(edges)]


def attended(x: Tensor, tensors: Named, name: str, heads: int, is_shifted: bool) -> Tensor:
    """(t, r, c, D): every group of cells on its own, one head and one pair of cells after another for the bias."""
    sides = x.shape[:3]
    axes = [groups(side, window, is_shifted) for side, window in zip(sides, WINDOW, strict=True)]
    spans = [min(side, window) for side, window in zip(sides, WINDOW, strict=True)]
    shifts = [axis[0][-1] + 1 if len(axis[0]) < span else 0 for axis, span in zip(axes, spans, strict=True)]
    padded = x.new_zeros(*(axis[-1][-1] + 1 for axis in axes), x.shape[-1])
    padded[: sides[0], : sides[1], : sides[2]] = x
    result = torch.zeros_like(padded)
    table = tensors[f"{name}.relative_position_bias_table"]
    for group in itertools.product(*axes):
        cells = list(itertools.product(*group))
        # A cell's number in its window, as a place in a window of the usual size.
        inside = [tuple((p - s) % n for p, s, n in zip(cell, shifts, spans, strict=True)) for cell in cells]
        flat = torch.tensor([(a * spans[1] + b) * spans[2] + c for a, b, c in inside])
        places = torch.stack(torch.unravel_index(flat, WINDOW), dim=-1)
        away = places[:, None] - places[None] + torch.tensor([7, 6, 6])
        bias = table[(away[..., 0] * 13 + away[..., 1]) * 13 + away[..., 2]]
        index = tuple(torch.tensor(axis) for axis in zip(*cells, strict=True))
        q, k, v = linear(padded[index], tensors, f"{name}.qkv").chunk(3, dim=-1)
        width = q.shape[-1] // heads
        found = []
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            logits = q[:, own] @ k[:, own].T / math.sqrt(width) + bias[..., head]
            found.append(logits.softmax(-1) @ v[:, own])
        result[index] = linear(torch.cat(found, dim=-1), tensors, f"{name}.proj")
    return result[: sides[0], : sides[1], : sides[2]]


def by_definition(window: Tensor, tensors: Named) -> list[Tensor]:
    """Maps (t, r, c, D) of the first three stages, from a normalised window (3, 16, h, w)."""
    kernel, bias = tensors["patch_embed.proj.weight"], tensors["patch_embed.proj.bias"]
    x = normed(F.conv3d(window[None], kernel, bias, stride=(2, 4, 4))[0].movedim(0, -1), tensors, "patch_embed.norm")
    found = []
    for stage, (depth, heads) in enumerate(zip(DEPTHS, HEADS, strict=True)):
        for block in range(depth):
            name = f"layers.{stage}.blocks.{block}"
            x = x + attended(normed(x, tensors, f"{name}.norm1"), tensors, f"{name}.attn", heads, block % 2 == 1)
            hidden = F.gelu(linear(normed(x, tensors, f"{name}.norm2"), tensors, f"{name}.mlp.fc1"))
            x = x + linear(hidden, tensors, f"{name}.mlp.fc2")
        found.append(x)
        name = f"layers.{stage}.downsample"
        odd = F.pad(x, (0, 0, 0, x.shape[2] % 2, 0, x.shape[1] % 2))
        four = torch.cat([odd[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], dim=-1)
        x = normed(four, tensors, f"{name}.norm") @ tensors[f"{name}.reduction.weight"].T
    return found


# Cells of the three stages: 15 x 9, 8 x 5 and 4 x 3: padded, shifted in rows and columns or in rows alone, spanned.
@pytest.mark.parametrize("prefix", ["", "backbone."])
@torch.no_grad()
def test_it_is_its_definition_with_public_weights(tmp_path: Path, prefix: str) -> None:
    save_file(published(prefix), tmp_path / "swin.safetensors")
    encoder = small()
    load_pretrained(encoder, tmp_path / "swin.safetensors")
    windows = torch.randn(2, 3, 16, 60, 36, generator=torch.Generator().manual_seed(1))

    maps = encoder.maps(windows)

    for place, window in enumerate(windows[: 1 if prefix else 2]):
        for ours, theirs in zip(maps, by_definition(window, published("")), strict=True):
            torch.testing.assert_close(ours[place], theirs, atol=1e-4, rtol=1e-4)


def test_what_does_not_fit_is_listed_and_nothing_is_loaded(tmp_path: Path) -> None:
    tensors = published()
    del tensors["backbone.layers.1.blocks.1.norm2.bias"]
    tensors["backbone.layers.2.blocks.2.norm1.weight"] = torch.ones(4 * CHANNELS)  # a block too many
    tensors["backbone.patch_embed.proj.weight"] = torch.ones(CHANNELS, 3, 4, 4)  # of a network of single pictures
    save_file(tensors, tmp_path / "swin.safetensors")
    encoder = small()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}

    with pytest.raises(LocaterError) as refused:
        load_pretrained(encoder, tmp_path / "swin.safetensors")

    message = str(refused.value)
    assert "missing 1 (stages.1.1.norm2.bias)" in message
    assert "unexpected 1 (backbone.layers.2.blocks.2.norm1.weight)" in message
    assert "backbone.patch_embed.proj.weight (8, 3, 4, 4) instead of (8, 3, 2, 4, 4)" in message
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())


@torch.no_grad()
def test_it_equals_torchvisions(tmp_path: Path) -> None:
    reason = "torchvision is not installed; pip install torchvision that fits this torch, in an environment of its own"
    video = pytest.importorskip("torchvision.models.video", reason=reason)
    torch.manual_seed(0)
    reference = video.swin3d_t(weights=None).eval()
    for name, value in reference.named_parameters():
        if value.ndim < 2 or name.endswith("bias_table"):
            value.add_(0.3 * torch.randn_like(value))
    save_file({name: value.contiguous() for name, value in reference.state_dict().items()}, tmp_path / "tv.safetensors")
    encoder = VideoSwin(width=12, has_early=True).eval()
    load_pretrained(encoder, tmp_path / "tv.safetensors")
    windows = torch.randn(1, 3, 16, 112, 64)

    expected, x = [], reference.patch_embed(windows)
    for place, part in enumerate(reference.features[:5]):
        x = part(x)
        expected += [x] if place % 2 == 0 else []

    for ours, theirs in zip(encoder.maps(windows), expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_torchvisions_names_are_read(tmp_path: Path) -> None:
    """The same weights under torchvision's names: stages and mergings in one row, its MLP with dropouts between."""
    tensors = published("")

    def theirs(name: str) -> str:
        name = name.replace("mlp.fc1", "mlp.0").replace("mlp.fc2", "mlp.3").replace("cls_head.fc_cls", "head")
        for stage in range(4):
            name = name.replace(f"layers.{stage}.blocks", f"features.{2 * stage}")
            name = name.replace(f"layers.{stage}.downsample", f"features.{2 * stage + 1}")
        return name

    renamed = {theirs(name): value for name, value in tensors.items()}
    save_file(tensors, tmp_path / "mm.safetensors")
    save_file(renamed, tmp_path / "tv.safetensors")
    one, other = small(), small()
    load_pretrained(one, tmp_path / "mm.safetensors")
    load_pretrained(other, tmp_path / "tv.safetensors")
    loaded = other.state_dict()
    # The projection and the places are ours, and begin at random.
    ours = {name: value for name, value in one.state_dict().items() if not name.startswith(("projection.", "place."))}
    assert len(ours) > 50 and all(torch.equal(value, loaded[name]) for name, value in ours.items())
