"""How others name the tensors of the networks that we load."""

import re
from dataclasses import dataclass, replace

from locater.model.visual.tiny_vit import CONV_DEPTH, STAGES

QKV = ("query", "key", "value")


@dataclass(frozen=True)
class Layout:
    """How others name the tensors of a network."""

    marker: str  # a tensor that every file of this layout has
    prefix: re.Pattern[str]  # at the start of every name but a head's, or of none
    top: dict[str, str]  # theirs -> ours, outside the blocks
    blocks: re.Pattern[str]  # a block's index, and the name inside it
    inside: dict[str, str]  # theirs -> ours, inside a block
    left_out: re.Pattern[str]  # known, and not wanted


def pairs(modules: dict[str, str], leaves: tuple[str, ...] = ("weight", "bias")) -> dict[str, str]:
    """Theirs -> ours for every leaf of every module."""
    return {f"{theirs}.{leaf}": f"{ours}.{leaf}" for theirs, ours in modules.items() for leaf in leaves}


# timm's ViTs and DINOv2, and Facebook's own DINOv2.
TIMM = Layout(
    marker="patch_embed.proj.weight",
    prefix=re.compile(r""),
    top={
        "cls_token": "class_token",
        "pos_embed": "positions",
        **pairs({"patch_embed.proj": "patch_embedding", "norm": "norm"}),
    },
    blocks=re.compile(r"blocks\.(\d+)\.(.+)"),
    inside={
        "ls1.gamma": "scale1.gain",
        "ls2.gamma": "scale2.gain",
        **pairs(
            {
                "norm1": "norm1",
                "attn.qkv": "attention.qkv",
                "attn.proj": "attention.out",
                "norm2": "norm2",
                "mlp.fc1": "mlp.0",
                "mlp.fc2": "mlp.2",
            }
        ),
    },
    left_out=re.compile(r"mask_token|(head|fc_norm|pre_logits)\..+"),
)

# transformers' ViT and DINOv2. The older names (on the hub) and the newer (in memory since 5.22) stand side by side.
TRANSFORMERS = Layout(
    marker="embeddings.patch_embeddings.projection.weight",
    prefix=re.compile(r"(vit\.|dinov2\.)?"),
    top={
        "embeddings.cls_token": "class_token",
        "embeddings.position_embeddings": "positions",
        **pairs({"embeddings.patch_embeddings.projection": "patch_embedding", "layernorm": "norm"}),
    },
    blocks=re.compile(r"(?:encoder\.layer|layers)\.(\d+)\.(.+)"),
    inside={
        "layer_scale1.lambda1": "scale1.gain",
        "layer_scale2.lambda1": "scale2.gain",
        **pairs({"layernorm_before": "norm1", "layernorm_after": "norm2"}),  # ViT
        **pairs({"norm1": "norm1", "norm2": "norm2"}),  # DINOv2
        **pairs({f"attention.attention.{part}": part for part in QKV}),  # older
        **pairs({f"attention.{part[0]}_proj": part for part in QKV}),  # newer
        **pairs({"attention.output.dense": "attention.out", "attention.o_proj": "attention.out"}),
        **pairs({"intermediate.dense": "mlp.0", "output.dense": "mlp.2"}),  # older ViT
        **pairs({"mlp.fc1": "mlp.0", "mlp.fc2": "mlp.2"}),
    },
    left_out=re.compile(r"embeddings\.mask_token|(pooler|classifier)\..+"),
)

NORM_LEAVES = ("weight", "bias", "running_mean", "running_var")
EFFICIENTNET = Layout(
    marker="_conv_stem.weight",
    prefix=re.compile(r""),
    top={"_conv_stem.weight": "stem.conv.weight", **pairs({"_bn0": "stem.norm"}, NORM_LEAVES)},
    blocks=re.compile(r"_blocks\.(\d+)\.(.+)"),
    inside={
        "_expand_conv.weight": "expand.conv.weight",
        "_depthwise_conv.weight": "depthwise.conv.weight",
        "_project_conv.weight": "project.conv.weight",
        **pairs({"_bn0": "expand.norm", "_bn1": "depthwise.norm", "_bn2": "project.norm"}, NORM_LEAVES),
    },
    left_out=re.compile(r"(_conv_head|_bn1|_fc)\..+|.+\.num_batches_tracked"),
)


def _conv_norms(modules: dict[str, str]) -> dict[str, str]:
    """Theirs -> ours for TinyViT's pairs of a convolution and its normalisation."""
    return {
        **pairs({f"{theirs}.c": f"{ours}.0" for theirs, ours in modules.items()}, ("weight",)),
        **pairs({f"{theirs}.bn": f"{ours}.1" for theirs, ours in modules.items()}, NORM_LEAVES),
    }


def _tiny_vit_names() -> dict[str, str]:
    """Theirs -> ours for all of TinyViT-5M; their layer 0 is our convolutions, a layer ends with its merging."""
    names = _conv_norms({"patch_embed.seq.0": "stem", "patch_embed.seq.2": "embedding"})
    steps = {"conv1": "expand", "conv2": "depthwise", "conv3": "project"}
    for block in range(CONV_DEPTH):
        names |= _conv_norms({f"layers.0.blocks.{block}.{a}": f"convolutions.{block}.{b}" for a, b in steps.items()})
    for index, stage in enumerate(STAGES):
        names |= _conv_norms({f"layers.{index}.downsample.{a}": f"mergings.{index}.{b}" for a, b in steps.items()})
        for block in range(stage.depth):
            theirs, ours = f"layers.{index + 1}.blocks.{block}", f"stages.{index}.{block}"
            names[f"{theirs}.attn.attention_biases"] = f"{ours}.attention.biases"
            names |= _conv_norms({f"{theirs}.local_conv": f"{ours}.local"})
            names |= pairs(
                {
                    f"{theirs}.attn.norm": f"{ours}.attention.norm",
                    f"{theirs}.attn.qkv": f"{ours}.attention.qkv",
                    f"{theirs}.attn.proj": f"{ours}.attention.out",
                    f"{theirs}.mlp.norm": f"{ours}.mlp.0",
                    f"{theirs}.mlp.fc1": f"{ours}.mlp.1",
                    f"{theirs}.mlp.fc2": f"{ours}.mlp.3",
                }
            )
    return names


_NOT_ENCODER = r"(neck|norm_head|head|prompt_encoder|mask_decoder)\..+|.+\.num_batches_tracked"
# MobileSAM, whole or its image encoder alone. Neck, prompts and masks are SAM's business; no classifier was trained.
TINY_VIT = Layout(
    marker="patch_embed.seq.0.c.weight",
    prefix=re.compile(r"(image_encoder\.)?"),
    top=_tiny_vit_names(),
    blocks=re.compile(r"(?!)"),  # none: their blocks have two numbers
    inside={},
    left_out=re.compile(_NOT_ENCODER),
)
TINY_VIT_SHALLOW = replace(TINY_VIT, left_out=re.compile(rf"{_NOT_ENCODER}|layers\.(2\.downsample|3)\..+"))
