"""How others name the tensors of the networks that we load."""

import re
from dataclasses import dataclass, replace

from locater.model.visual.tiny_vit import CONV_DEPTH, STAGES
from locater.model.visual.two_way import DEPTH

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
RECOGNISING_EFFICIENTNET = replace(
    EFFICIENTNET,
    top={
        **EFFICIENTNET.top,
        "_conv_head.weight": "recogniser.widen.conv.weight",
        **pairs({"_bn1": "recogniser.widen.norm"}, NORM_LEAVES),
        **pairs({"_fc": "recogniser.classifier"}),
    },
    left_out=re.compile(r".+\.num_batches_tracked"),
)


def _conv_norms(modules: dict[str, str]) -> dict[str, str]:
    """Theirs -> ours for TinyViT's pairs of a convolution and its normalisation."""
    return {
        **pairs({f"{theirs}.c": f"{ours}.0" for theirs, ours in modules.items()}, ("weight",)),
        **pairs({f"{theirs}.bn": f"{ours}.1" for theirs, ours in modules.items()}, NORM_LEAVES),
    }


def _tiny_vit_names() -> dict[str, str]:
    """Theirs -> ours for all of TinyViT-5M; their layer 0 is our convolutions, a layer ends with its merging."""
    names = _conv_norms({"patch_embed.seq.0": "trunk.stem", "patch_embed.seq.2": "trunk.embedding"})
    steps = {"conv1": "expand", "conv2": "depthwise", "conv3": "project"}
    for block in range(CONV_DEPTH):
        theirs, ours = f"layers.0.blocks.{block}", f"trunk.convolutions.{block}"
        names |= _conv_norms({f"{theirs}.{a}": f"{ours}.{b}" for a, b in steps.items()})
    for index, stage in enumerate(STAGES):
        theirs, ours = f"layers.{index}.downsample", f"trunk.mergings.{index}"
        names |= _conv_norms({f"{theirs}.{a}": f"{ours}.{b}" for a, b in steps.items()})
        for block in range(stage.depth):
            theirs, ours = f"layers.{index + 1}.blocks.{block}", f"trunk.stages.{index}.{block}"
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


def _look(theirs: str, ours: str) -> dict[str, str]:
    """Theirs -> ours for one of SAM's attentions."""
    parts = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "out"}
    return pairs({f"{theirs}.{a}": f"{ours}.{b}" for a, b in parts.items()})


def _sam_names() -> dict[str, str]:
    """Theirs -> ours for what a box and a mask need of SAM's prompts, and one answer of its decoder."""
    names = {
        "neck.0.weight": "neck.0.weight",
        "neck.2.weight": "neck.2.weight",
        "prompt_encoder.pe_layer.positional_encoding_gaussian_matrix": "box.waves",
        "prompt_encoder.point_embeddings.2.weight": "box.first_corner",
        "prompt_encoder.point_embeddings.3.weight": "box.last_corner",
        "mask_decoder.iou_token.weight": "decoder.quality_token",
        "mask_decoder.mask_tokens.weight": "decoder.mask_tokens",
        **pairs({f"neck.{place}": f"neck.{place}" for place in (1, 3)}),
        **pairs({f"prompt_encoder.mask_downscaling.{place}": f"mask.{place}" for place in (0, 1, 3, 4, 6)}),
        **pairs({f"mask_decoder.output_upscaling.{place}": f"decoder.enlarge.{place}" for place in (0, 1, 3)}),
        **pairs(
            {
                f"mask_decoder.output_hypernetworks_mlps.0.layers.{place}": f"decoder.read_off.{2 * place}"
                for place in range(3)
            }
        ),
        **_look("mask_decoder.transformer.final_attn_token_to_image", "decoder.last_look"),
        **pairs({"mask_decoder.transformer.norm_final_attn": "decoder.last_norm"}),
    }
    for index in range(DEPTH):
        theirs, ours = f"mask_decoder.transformer.layers.{index}", f"decoder.blocks.{index}"
        names |= _look(f"{theirs}.self_attn", f"{ours}.among")
        names |= _look(f"{theirs}.cross_attn_token_to_image", f"{ours}.at_image")
        names |= _look(f"{theirs}.cross_attn_image_to_token", f"{ours}.at_tokens")
        names |= pairs({f"{theirs}.mlp.lin1": f"{ours}.mlp.0", f"{theirs}.mlp.lin2": f"{ours}.mlp.2"})
        names |= pairs({f"{theirs}.norm{place + 1}": f"{ours}.norms.{place}" for place in range(4)})
    return names


# Of SAM's prompts, what points need: theirs -> ours, for `PointPrompt`.
POINTS = {
    "prompt_encoder.point_embeddings.0.weight": "outside",
    "prompt_encoder.point_embeddings.1.weight": "inside",
    "prompt_encoder.not_a_point_embed.weight": "no_box",
    "prompt_encoder.no_mask_embed.weight": "no_mask",
}
_OTHER_PROMPTS = r"prompt_encoder\.(point_embeddings\.[01]|not_a_point_embed|no_mask_embed)\..+"
_OTHER_ANSWERS = r"mask_decoder\.(iou_prediction_head|output_hypernetworks_mlps\.[123])\..+"
# MobileSAM, whole, for the refiner.
MOBILE_SAM = replace(
    TINY_VIT,
    top={**_tiny_vit_names(), **_sam_names()},
    left_out=re.compile(rf"(norm_head|head)\..+|.+\.num_batches_tracked|{_OTHER_PROMPTS}|{_OTHER_ANSWERS}"),
)
