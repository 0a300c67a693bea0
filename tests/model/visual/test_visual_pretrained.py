"""Pretrained weights fit whole or not at all, and the message says what is wrong."""

import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from locater.errors import LocaterError
from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.efficientnet import EfficientNetLite, stages_of
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.vit import VisionTransformer

Weights = dict[str, Tensor]


def tiny() -> VisionTransformer:
    return VisionTransformer(
        image_size=32, patch_size=8, inner_width=12, depth=2, heads=2, width=20, early_stem=EarlyStem(8)
    )


def timm_weights(depth: int = 3, width: int = 12, patch: int = 8, tokens: int = 17) -> Weights:
    """A timm ViT's tensors, written out."""
    weights = {
        "cls_token": torch.randn(1, 1, width),
        "pos_embed": torch.randn(1, tokens, width),
        "patch_embed.proj.weight": torch.randn(width, 3, patch, patch),
        "patch_embed.proj.bias": torch.randn(width),
        "norm.weight": torch.randn(width),
        "norm.bias": torch.randn(width),
        "head.weight": torch.randn(5, width),
        "head.bias": torch.randn(5),
    }
    for index in range(depth):
        for module, outputs, inputs in (
            ("attn.qkv", 3 * width, width),
            ("attn.proj", width, width),
            ("mlp.fc1", 4 * width, width),
            ("mlp.fc2", width, 4 * width),
        ):
            weights[f"blocks.{index}.{module}.weight"] = torch.randn(outputs, inputs)
            weights[f"blocks.{index}.{module}.bias"] = torch.randn(outputs)
        for norm in ("norm1", "norm2"):
            weights[f"blocks.{index}.{norm}.weight"] = torch.randn(width)
            weights[f"blocks.{index}.{norm}.bias"] = torch.randn(width)
    return weights


def lite0_weights() -> Weights:
    """The tensors of an efficientnet-lite0 in efficientnet-pytorch's names."""
    weights: Weights = {}

    def norm(name: str, channels: int) -> None:
        for leaf in ("weight", "bias", "running_mean", "running_var"):
            weights[f"{name}.{leaf}"] = torch.rand(channels)
        weights[f"{name}.num_batches_tracked"] = torch.tensor(7)

    weights["_conv_stem.weight"] = torch.randn(32, 3, 3, 3)
    norm("_bn0", 32)
    channels, index = 32, 0
    for stage in stages_of("lite0"):
        for _ in range(stage.repeats):
            block, hidden = f"_blocks.{index}", channels * stage.expansion
            if stage.expansion > 1:
                weights[f"{block}._expand_conv.weight"] = torch.randn(hidden, channels, 1, 1)
                norm(f"{block}._bn0", hidden)
            weights[f"{block}._depthwise_conv.weight"] = torch.randn(hidden, 1, stage.kernel_size, stage.kernel_size)
            norm(f"{block}._bn1", hidden)
            weights[f"{block}._project_conv.weight"] = torch.randn(stage.channels, hidden, 1, 1)
            norm(f"{block}._bn2", stage.channels)
            channels, index = stage.channels, index + 1
    weights["_conv_head.weight"] = torch.randn(1280, 320, 1, 1)
    norm("_bn1", 1280)
    weights["_fc.weight"] = torch.randn(1000, 1280)
    return weights


def save(weights: Weights, folder: Path) -> Path:
    path = folder / "weights.safetensors"
    save_file(weights, path)
    return path


def refusal(encoder: VisionTransformer | EfficientNetLite, source: str | Path) -> str:
    """The one sentence of the error; the encoder must not have changed."""
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    with pytest.raises(LocaterError) as raised:
        load_pretrained(encoder, source)
    assert all(torch.equal(value, before[name]) for name, value in encoder.state_dict().items())
    message = str(raised.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_a_file_that_fits_loads_and_leaves_our_parts_alone(tmp_path: Path) -> None:
    encoder, weights = tiny(), timm_weights()
    stem = encoder.state_dict()["early_stem.stages.0.0.weight"].clone()

    load_pretrained(encoder, save(weights, tmp_path))

    state = encoder.state_dict()
    torch.testing.assert_close(state["blocks.1.attention.qkv.weight"], weights["blocks.1.attn.qkv.weight"])
    torch.testing.assert_close(state["positions"], weights["pos_embed"])
    torch.testing.assert_close(state["early_stem.stages.0.0.weight"], stem)


def test_half_precision_files_keep_the_encoders_own(tmp_path: Path) -> None:
    encoder = tiny()

    load_pretrained(encoder, save({name: value.half() for name, value in timm_weights().items()}, tmp_path))

    assert {value.dtype for value in encoder.state_dict().values()} == {torch.float32}


def test_missing_unexpected_and_misshapen_tensors_are_listed(tmp_path: Path) -> None:
    weights = timm_weights()
    del weights["blocks.1.attn.qkv.bias"]
    weights["reg_token"] = torch.zeros(1, 4, 12)
    weights["blocks.0.attn.q_norm.weight"] = torch.zeros(6)
    weights["patch_embed.proj.weight"] = torch.zeros(12, 3, 16, 16)

    message = refusal(tiny(), save(weights, tmp_path))

    assert "missing 1 (blocks.1.attention.qkv.bias)" in message
    assert "unexpected 2 (blocks.0.attn.q_norm.weight, reg_token)" in message
    assert "of another shape 1 (patch_embed.proj.weight (12, 3, 16, 16) instead of (12, 3, 8, 8))" in message


def test_a_file_with_too_few_blocks_lists_ten_and_the_count(tmp_path: Path) -> None:
    message = refusal(tiny(), save(timm_weights(depth=1), tmp_path))

    assert "missing 12 (blocks.1.norm1.weight, " in message
    assert message.count("blocks.1.") == 10
    assert ", ...)" in message


def test_layer_scales_must_be_there_exactly_when_wanted(tmp_path: Path) -> None:
    scaled = VisionTransformer(
        image_size=32, patch_size=8, inner_width=12, depth=2, heads=2, width=12, layer_scale=True
    )
    assert "missing 4 (blocks.0.scale1.gain" in refusal(scaled, save(timm_weights(), tmp_path))

    weights = timm_weights() | {f"blocks.{i}.ls{j}.gamma": torch.ones(12) for i in (0, 1, 2) for j in (1, 2)}
    assert "unexpected 4 (blocks.0.ls1.gamma" in refusal(tiny(), save(weights, tmp_path))
    load_pretrained(scaled, save(weights | {"mask_token": torch.zeros(1, 12)}, tmp_path))


def test_a_third_of_the_attention_is_not_enough(tmp_path: Path) -> None:
    weights = {
        "vit.embeddings.patch_embeddings.projection.weight": torch.zeros(12, 3, 8, 8),
        "vit.encoder.layer.0.attention.attention.query.weight": torch.zeros(12, 12),
    }

    message = refusal(tiny(), save(weights, tmp_path))

    assert "unexpected 1 (vit.encoder.layer.0.attention.attention.query.weight)" in message
    assert "blocks.0.attention.qkv.weight" in message


def test_the_same_tensor_under_two_names_is_refused(tmp_path: Path) -> None:
    weights = {
        "embeddings.patch_embeddings.projection.weight": torch.zeros(12, 3, 8, 8),
        "layernorm.weight": torch.zeros(12),
        "vit.layernorm.weight": torch.ones(12),
    }

    assert "unexpected 1 (vit.layernorm.weight)" in refusal(tiny(), save(weights, tmp_path))


@pytest.mark.parametrize("tokens", [16, 1])
def test_positions_without_a_square_grid_are_misshapen(tokens: int, tmp_path: Path) -> None:
    message = refusal(tiny(), save(timm_weights(tokens=tokens), tmp_path))

    assert f"pos_embed (1, {tokens}, 12) instead of (1, 17, 12)" in message


def test_another_kind_of_network_is_refused(tmp_path: Path) -> None:
    path = save({"transformer.h.0.attn.weight": torch.zeros(1)}, tmp_path)

    assert "its 1 (transformer.h.0.attn.weight)" in refusal(tiny(), path)
    assert "_conv_stem.weight" in refusal(EfficientNetLite(variant="lite0", width=8), path)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".ckpt"])
def test_pickles_are_refused_unread(suffix: str, tmp_path: Path) -> None:
    message = refusal(tiny(), tmp_path / f"weights{suffix}")

    assert "convert it with python -m tools.convert" in message


def test_a_pickle_under_another_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(pickle.dumps({"cls_token": [1.0]}))

    assert "cannot be read as safetensors" in refusal(tiny(), path)

    torch.save(timm_weights(), path)
    assert "cannot be read as safetensors" in refusal(tiny(), path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tiny(), tmp_path / "weights.safetensors")


@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("vit_base_patch16_224.augreg_in21k", "timm/vit_base_patch16_224.augreg_in21k"),
        ("google/vit-base-patch16-224", "google/vit-base-patch16-224"),
    ],
)
def test_hub_names(name: str, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    path = save(timm_weights(), tmp_path)

    def download(repo_id: str, filename: str) -> str:
        asked.append((repo_id, filename))
        return str(path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    load_pretrained(tiny(), name)

    assert asked == [(repository, "model.safetensors")]


def test_a_hub_out_of_reach_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def download(repo_id: str, filename: str) -> str:
        raise ConnectionError(f"{repo_id}/{filename}\nmany lines")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)

    message = refusal(tiny(), "vit_tiny")
    assert "'timm/vit_tiny'" in message
    assert "(ConnectionError)" in message


def test_efficientnet_names(tmp_path: Path) -> None:
    encoder, weights = EfficientNetLite(variant="lite0", width=8), lite0_weights()

    load_pretrained(encoder, save(weights, tmp_path))

    state = encoder.state_dict()
    torch.testing.assert_close(state["stem.norm.running_var"], weights["_bn0.running_var"])
    torch.testing.assert_close(state["stages.0.0.project.norm.bias"], weights["_blocks.0._bn2.bias"])
    torch.testing.assert_close(state["stages.2.1.depthwise.conv.weight"], weights["_blocks.4._depthwise_conv.weight"])
    torch.testing.assert_close(state["stages.4.2.expand.norm.weight"], weights["_blocks.10._bn0.weight"])


def test_a_deep_efficientnet_needs_the_last_stages(tmp_path: Path) -> None:
    encoder, weights = EfficientNetLite(variant="lite0", width=8, deep=True), lite0_weights()

    load_pretrained(encoder, save(weights, tmp_path))

    last = encoder.state_dict()["stages.6.0.project.conv.weight"]
    torch.testing.assert_close(last, weights["_blocks.15._project_conv.weight"])
    del weights["_blocks.15._bn2.running_var"]
    assert "missing 1 (stages.6.0.project.norm.running_var)" in refusal(encoder, save(weights, tmp_path))


def test_another_efficientnet_is_refused_with_its_tensors(tmp_path: Path) -> None:
    path = save(lite0_weights(), tmp_path)

    message = refusal(EfficientNetLite(variant="lite2", width=8, deep=True), path)

    assert "missing" in message
    assert "of another shape" in message
    assert "_blocks." in message
