"""Our Vision Transformer equals transformers' ViT and DINOv2, loaded from every layout of their weights."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from einops import rearrange
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import Dinov2Config, Dinov2Model, ViTConfig, ViTModel

from locater.model.visual.encoder import HALF_STATISTICS, IMAGENET_STATISTICS
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.vit import VisionTransformer

Weights = dict[str, Tensor]
Reference = ViTModel | Dinov2Model
WIDTH, HEADS, DEPTH, PATCH, SIDE = 48, 4, 3, 8, 40
TOLERANCE = 1e-5
KINDS = ("vit", "dinov2")


def make_reference(kind: str, depth: int = DEPTH) -> Reference:
    """A small network with every tensor random, so that none can be left out or confused unnoticed."""
    config = ViTConfig(intermediate_size=4 * WIDTH) if kind == "vit" else Dinov2Config()
    config.hidden_size, config.num_attention_heads, config.num_hidden_layers = WIDTH, HEADS, depth
    config.image_size, config.patch_size = SIDE, PATCH
    model: Reference = ViTModel(config) if isinstance(config, ViTConfig) else Dinov2Model(config)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, value in sorted(model.named_parameters()):
            value.normal_(std=0.1)
            if "norm" in name and name.endswith("weight"):
                value.add_(1)
    model.train(False)
    return model


def make_ours(kind: str, depth: int = DEPTH, image_size: int = SIDE, width: int = WIDTH) -> VisionTransformer:
    return VisionTransformer(
        image_size=image_size,
        patch_size=PATCH,
        inner_width=WIDTH,
        depth=depth,
        heads=HEADS,
        width=width,
        layer_scale=kind == "dinov2",
        norm_eps=1e-12 if kind == "vit" else 1e-6,
        pixels=HALF_STATISTICS if kind == "vit" else IMAGENET_STATISTICS,
    )


def reference_patches(model: Reference, frames: Tensor) -> Tensor:
    """transformers' own patch tokens of `frames` (B, T, 3, H, W)."""
    pixels = rearrange(frames, "b t c h w -> (b t) c h w")
    if isinstance(model, ViTModel):
        result = model((pixels - 0.5) / 0.5, interpolate_pos_encoding=True)
    else:
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in IMAGENET_STATISTICS)
        result = model((pixels - mean) / std)
    patches: Tensor = rearrange(result.last_hidden_state[:, 1:], "(b t) p d -> b t p d", b=len(frames))
    return patches


def weights_of(model: Reference) -> Weights:
    return {name: value.clone() for name, value in model.state_dict().items()}


# ---- The layouts, made by renaming -----------------------------------------------------------------------------------


def renamed(weights: Weights, rules: dict[str, str]) -> Weights:
    result = {}
    for old_name, value in weights.items():
        name = old_name
        for pattern, replacement in rules.items():
            name = re.sub(pattern, replacement, name)
        result[name] = value
    return result


def as_newer(weights: Weights) -> Weights:
    assert any(".attention.q_proj." in name for name in weights)  # else transformers has renamed its modules again
    return weights


def as_newer_with_prefix(weights: Weights) -> Weights:
    prefix = "dinov2." if any("layer_scale" in name for name in weights) else "vit."
    classifier = {"classifier.weight": torch.zeros(7, WIDTH), "classifier.bias": torch.zeros(7)}
    return {prefix + name: value for name, value in weights.items()} | classifier


def as_older(weights: Weights) -> Weights:
    rules = {
        r"^layers\.": "encoder.layer.",
        r"attention\.q_proj": "attention.attention.query",
        r"attention\.k_proj": "attention.attention.key",
        r"attention\.v_proj": "attention.attention.value",
        r"attention\.o_proj": "attention.output.dense",
    }
    if not any("layer_scale" in name for name in weights):  # DINOv2's MLP had its names from the first
        rules |= {r"mlp\.fc1": "intermediate.dense", r"mlp\.fc2": "output.dense"}
    return renamed(weights, rules)


def as_older_with_prefix(weights: Weights) -> Weights:
    return as_newer_with_prefix(as_older(weights))


def as_timm(weights: Weights) -> Weights:
    rules = {
        r"^embeddings\.cls_token": "cls_token",
        r"^embeddings\.mask_token": "mask_token",
        r"^embeddings\.position_embeddings": "pos_embed",
        r"^embeddings\.patch_embeddings\.projection": "patch_embed.proj",
        r"^layers\.|^encoder\.layer\.": "blocks.",
        r"layernorm_before": "norm1",
        r"layernorm_after": "norm2",
        r"^layernorm": "norm",
        r"attention\.o_proj": "attn.proj",
        r"layer_scale(\d)\.lambda1": r"ls\1.gamma",
        r"^pooler\.dense": "head",
    }
    result = renamed(weights, rules)
    for name in [name for name in result if ".q_proj." in name]:
        parts = [result.pop(name.replace(".q_proj.", f".{letter}_proj.")) for letter in "qkv"]
        result[name.replace("attention.q_proj", "attn.qkv")] = torch.cat(parts)
    return result


LAYOUTS = (as_newer, as_newer_with_prefix, as_older, as_older_with_prefix, as_timm)


def save(weights: Weights, folder: Path) -> Path:
    path = folder / "weights.safetensors"
    save_file({name: value.contiguous() for name, value in weights.items()}, path)
    return path


# ---- The claims ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
@torch.no_grad()
def test_every_layout_loads_and_agrees(kind: str, layout: Callable[[Weights], Weights], tmp_path: Path) -> None:
    reference, ours = make_reference(kind), make_ours(kind)
    frames = torch.rand(2, 2, 3, SIDE, SIDE)

    load_pretrained(ours, save(layout(weights_of(reference)), tmp_path))

    expected = reference_patches(reference, frames)
    assert expected.std() > 0.5
    torch.testing.assert_close(ours(frames).patches, expected, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_what_transformers_itself_saves_loads_by_a_hub_name(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference, ours = make_reference(kind), make_ours(kind)
    reference.save_pretrained(tmp_path / "someone" / "something")
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda name, file: str(tmp_path / name / file))
    frames = torch.rand(1, 1, 3, SIDE, SIDE)

    load_pretrained(ours, "someone/something")

    torch.testing.assert_close(ours(frames).patches, reference_patches(reference, frames), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("height", "width"), [(64, 64), (24, 72), (32, 24)])
@torch.no_grad()
def test_other_sizes_agree(kind: str, height: int, width: int, tmp_path: Path) -> None:
    reference, ours = make_reference(kind), make_ours(kind)
    frames = torch.rand(1, 2, 3, height, width)

    load_pretrained(ours, save(weights_of(reference), tmp_path))

    torch.testing.assert_close(ours(frames).patches, reference_patches(reference, frames), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", [as_older, as_timm])
@torch.no_grad()
def test_the_first_blocks_agree(kind: str, layout: Callable[[Weights], Weights], tmp_path: Path) -> None:
    reference = make_reference(kind)
    path = save(layout(weights_of(reference)), tmp_path)
    first = make_reference(kind, depth=2)
    first.load_state_dict({name: weights_of(reference)[name] for name in first.state_dict()})
    ours = make_ours(kind, depth=2)
    frames = torch.rand(1, 1, 3, SIDE, SIDE)

    load_pretrained(ours, path)

    torch.testing.assert_close(ours(frames).patches, reference_patches(first, frames), atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_positions_of_another_grid_are_resampled_at_load(kind: str, tmp_path: Path) -> None:
    reference, ours = make_reference(kind), make_ours(kind, image_size=64)
    frames = torch.rand(1, 1, 3, 64, 64)

    load_pretrained(ours, save(weights_of(reference), tmp_path))

    assert ours.positions.shape == (1, 1 + 8 * 8, WIDTH)
    torch.testing.assert_close(ours(frames).patches, reference_patches(reference, frames), atol=TOLERANCE, rtol=0)


@torch.no_grad()
def test_a_projection_is_ours_and_keeps_its_start(tmp_path: Path) -> None:
    reference, ours = make_reference("vit"), make_ours("vit", width=20)
    assert isinstance(ours.projection, nn.Linear)
    start = ours.projection.weight.clone()
    frames = torch.rand(1, 1, 3, SIDE, SIDE)

    load_pretrained(ours, save(as_timm(weights_of(reference)), tmp_path))

    torch.testing.assert_close(ours.projection.weight, start)
    expected = ours.projection(reference_patches(reference, frames))
    torch.testing.assert_close(ours(frames).patches, expected, atol=TOLERANCE, rtol=0)
