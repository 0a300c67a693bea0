"""The cross-modality encoder against PyTorch's own Transformer layers."""

from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import nn

from locater.model.fusion import AuxiliaryHeads, ChannelNorm, Concatenation, CrossModalityEncoder, FusionModule
from locater.model.transformer import EncoderBlock, attend, attend_by_products
from tests.support.made_words import words_of


def reference_layer(block: EncoderBlock, width: int, heads: int, norm: str) -> nn.TransformerEncoderLayer:
    """PyTorch's own encoder layer with the block's weights."""
    layer = nn.TransformerEncoderLayer(
        width, heads, 4 * width, dropout=0, activation="gelu", batch_first=True, norm_first=norm == "pre",
        layer_norm_eps=1e-6,
    )  # fmt: skip
    layer.self_attn.in_proj_weight.data = block.attention.qkv.weight.data
    layer.self_attn.in_proj_bias.data = block.attention.qkv.bias.data
    layer.self_attn.out_proj.load_state_dict(block.attention.out.state_dict())
    first, last = block.mlp[0], block.mlp[2]
    layer.linear1.load_state_dict(first.state_dict())
    layer.linear2.load_state_dict(last.state_dict())
    layer.norm1.load_state_dict(block.norm1.state_dict())
    layer.norm2.load_state_dict(block.norm2.state_dict())
    return layer.eval()


def randomise(module: nn.Module) -> None:
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_modules_equal_pytorchs_layers_with_padding(norm: Literal["pre", "post"]) -> None:
    torch.manual_seed(0)
    encoder = CrossModalityEncoder(width=16, modules=2, heads=4, norm=norm, centre=False)
    randomise(encoder)
    patches, words = torch.randn(2, 3, 6, 16), words_of(torch.randn(2, 5, 16), [5, 2])
    outputs = encoder(patches, words)
    for b in range(2):
        for t in range(3):
            x = patches[b, t]
            for k, step in enumerate(encoder.steps):
                assert isinstance(step, FusionModule)
                tokens = torch.cat([x + step.visual_type, words.features[b] + step.word_type])[None]
                mask = torch.cat([torch.zeros(6, dtype=torch.bool), words.is_padding[b]])[None]
                joint = reference_layer(step.joint, 16, 4, norm)(tokens, src_key_padding_mask=mask)[:, :6]
                x = reference_layer(step.refine, 16, 4, norm)(joint)[0]
                is_last = k == len(encoder.steps) - 1
                torch.testing.assert_close(outputs[k][b, t], encoder.norm(x) if is_last else x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_patchs_look_at_the_words_is_what_pytorchs_first_layer_looks_at(norm: Literal["pre", "post"]) -> None:
    torch.manual_seed(0)
    encoder = CrossModalityEncoder(width=16, modules=2, heads=4, norm=norm, centre=False)
    randomise(encoder)
    patches, words = torch.randn(2, 3, 6, 16), words_of(torch.randn(2, 5, 16), [5, 2])
    step = encoder.steps[0]
    assert isinstance(step, FusionModule)
    layer = reference_layer(step.joint, 16, 4, norm)
    looks = encoder.word_attention(patches, words)
    assert looks.shape == (2, 3, 6, 5) and looks[1, :, :, 2:].eq(0).all()
    for b in range(2):
        tokens = torch.cat([patches[b, 1] + step.visual_type, words.features[b] + step.word_type])[None]
        mask = torch.cat([torch.zeros(6, dtype=torch.bool), words.is_padding[b]])[None]
        x = layer.norm1(tokens) if norm == "pre" else tokens
        _, weights = layer.self_attn(x, x, x, key_padding_mask=mask, need_weights=True)
        torch.testing.assert_close(looks[b, 1], weights[0, :6, 6:], rtol=1e-5, atol=1e-6)


def test_attention_equals_pytorchs_multihead_attention_without_projections() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 5, 8), torch.randn(2, 7, 8)
    reference = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    reference.in_proj_weight.data = torch.eye(8).repeat(3, 1)
    reference.out_proj.weight.data = torch.eye(8)
    is_padding = torch.arange(7).expand(2, -1) >= torch.tensor([[7], [3]])
    expected = reference(query, key, key, key_padding_mask=is_padding)[0]
    torch.testing.assert_close(attend(query, key, key, 2, is_padding), expected, rtol=1e-5, atol=1e-5)


def test_attention_by_products_is_the_fused_one() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 5, 16), torch.randn(2, 3, 7, 16), torch.randn(2, 3, 7, 16)
    expected = nn.functional.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(attend_by_products(q, k, v), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_reads_a_head_of_any_width_alike() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 50, 768), torch.randn(2, 70, 768)
    found = attend(query.cuda(), key.cuda(), key.cuda(), heads=1).cpu()
    torch.testing.assert_close(found, attend(query, key, key, heads=1), rtol=1e-2, atol=1e-2)


def test_without_padding_there_is_no_mask_and_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    encoder = CrossModalityEncoder(16, 2, 4, "pre", centre=False)
    patches, words = torch.randn(2, 3, 6, 16), words_of(torch.randn(2, 5, 16), [5, 5])
    masked = encoder(patches, words)
    given: list[object] = []
    own = nn.functional.scaled_dot_product_attention

    def listened(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, attn_mask: torch.Tensor | None) -> torch.Tensor:
        given.append(attn_mask)
        return own(q, k, v, attn_mask=attn_mask)

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", listened)
    free = encoder(patches, replace(words, may_be_padded=False))
    assert given == [None] * 4
    for ours, theirs in zip(free, masked, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["transformer", "concat"])
def test_what_padding_holds_changes_nothing(kind: str) -> None:
    torch.manual_seed(0)
    fusion = CrossModalityEncoder(16, 2, 4, "pre", centre=False) if kind == "transformer" else Concatenation(16)
    features = torch.randn(1, 5, 16)
    other = features.clone()
    other[:, 3:] = 100.0
    patches = torch.randn(1, 2, 6, 16)
    ours = fusion(patches, words_of(features, [3]))[-1]
    torch.testing.assert_close(fusion(patches, words_of(other, [3]))[-1], ours, rtol=1e-6, atol=1e-6)


def test_auxiliary_heads_give_each_module_a_mask_of_its_own() -> None:
    heads = AuxiliaryHeads(16, modules=3)
    outputs = [torch.randn(2, 4, 6, 16) for _ in range(3)]
    masks = heads(outputs)
    assert masks.shape == (3, 2, 4, 6)
    for k, (head, output) in enumerate(zip(heads.heads, outputs, strict=True)):
        torch.testing.assert_close(masks[k], head(output).squeeze(-1))


def test_v_has_no_part_that_all_patches_share() -> None:
    torch.manual_seed(0)
    norm = ChannelNorm(16).train()
    values = torch.randn(4, 3, 6, 16) * (0.5 + torch.rand(16)) + 10 * torch.randn(16)
    centred = norm(values)
    torch.testing.assert_close(centred.mean((0, 1, 2)), torch.zeros(16), atol=1e-4, rtol=0)
    torch.testing.assert_close(centred.flatten(0, 2).std(0, correction=0), torch.ones(16), atol=1e-2, rtol=0)
    for _ in range(400):
        norm(values)
    alone = norm.eval()(values[:1, :1])  # what else is in the batch plays no part at inference
    torch.testing.assert_close(alone, centred[:1, :1], atol=0.05, rtol=0)
