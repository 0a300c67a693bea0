"""Two encoders side by side, from their settings to their features."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from locater.config import JoinedConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.visual.joined import JoinedEncoder
from locater.model.visual.tiny_vit import TinyViT
from locater.model.visual.vit import VisionTransformer
from locater.text.colour_names import COLOUR_WORDS
from tests.model.visual.test_tiny_vit import mobile_sam_weights
from tests.model.visual.test_visual_pretrained import lite0_weights

LITE: dict[str, Any] = {"kind": "efficientnet_lite", "deep": True}
TINY: dict[str, Any] = {"kind": "tiny_vit"}
BOTH: dict[str, Any] = {"visual": {"kind": "joined", "what": LITE, "where": TINY}}


@torch.no_grad()
def test_patches_are_summed_meanings_are_those_of_what_and_early_maps_those_of_where() -> None:
    what, where = EfficientNetLite(variant="lite0", width=12, deep=True, meaning_width=5), TinyViT(width=12)
    joined = JoinedEncoder(what, where).eval()
    frames = torch.rand(1, 2, 3, 32, 48)

    result = joined(frames)

    torch.testing.assert_close(result.patches, what(frames).patches + where(frames).patches)
    assert (joined.early_channels, joined.early_strides) == (where.early_channels, (2, 4, 8))
    assert all(torch.equal(own, theirs) for own, theirs in zip(result.early, where(frames).early, strict=True))
    assert result.grid == (2, 3)
    assert result.meanings is not None and result.meanings.shape == (1, 2, 6, 5 + len(COLOUR_WORDS))
    torch.testing.assert_close(result.meanings, what(frames).meanings)


def test_encoders_that_do_not_fit_are_refused() -> None:
    fine = VisionTransformer(
        image_size=32, patch_size=8, inner_width=12, depth=1, heads=2, width=12, early_stem=EarlyStem(8)
    )

    with pytest.raises(ValueError, match="one size and one width"):
        JoinedEncoder(TinyViT(width=12), fine)
    with pytest.raises(LocaterError, match="patches of 16 and of 8 pixels cannot be joined"):
        preset("tiny", {"visual": {"kind": "joined", "what": TINY, "where": {"kind": "vit", "patch_size": 8}}})


def test_a_misspelt_setting_lists_the_known_ones() -> None:
    with pytest.raises(LocaterError, match="known here are deep, drop_path, kind, pretrained"):
        preset("tiny", {"visual": {"kind": "joined", "what": LITE, "where": {"kind": "tiny_vit", "depth": 3}}})


@torch.no_grad()
def test_a_network_is_built_with_the_weights_that_its_settings_name(tmp_path: Path) -> None:
    lite, sam = lite0_weights(), mobile_sam_weights()
    save_file(lite, tmp_path / "lite.safetensors")
    save_file(sam, tmp_path / "sam.safetensors")
    what = {**LITE, "pretrained": str(tmp_path / "lite.safetensors")}
    where = {**TINY, "pretrained": str(tmp_path / "sam.safetensors")}

    model = build(preset("tiny", {"visual": {"kind": "joined", "what": what, "where": where}}), seed=0)

    assert isinstance(model.visual, JoinedEncoder)
    assert isinstance(model.config.visual, JoinedConfig) and model.config.visual.pretrained == what["pretrained"]
    state = model.visual.state_dict()
    torch.testing.assert_close(state["what.stem.conv.weight"], lite["_conv_stem.weight"])
    torch.testing.assert_close(state["where.trunk.stem.0.weight"], sam["image_encoder.patch_embed.seq.0.c.weight"])
    assert model.visual(torch.rand(1, 1, 3, 64, 64)).patches.shape == (1, 1, 16, model.config.width)


def test_differences_reach_into_a_joined_encoder() -> None:
    config = preset("tiny", BOTH)
    assert isinstance(config.visual, JoinedConfig) and config.visual.what.kind == "efficientnet_lite"
    assert config.visual.pretrained is None and config.visual.patch_size == 16
