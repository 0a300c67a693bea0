"""How others name the tensors of Video-Swin and I3D."""

import re

from locater.model.visual.layouts import NORM_LEAVES, Layout, pairs
from locater.model.visual.video.i3d import EIGHT, SIXTEEN
from locater.model.visual.video.swin import STAGES

_NONE = re.compile(r"(?!)")  # their blocks have two numbers, so all names are given whole
_DEEPEST = 12  # blocks of a stage that names are known for; Swin-L has 18, but only Swin-T is built


def _swin_names(stage: str, merging: str, first: str, second: str) -> dict[str, str]:
    """Theirs -> ours; `stage` and `merging` are their names of those, with a place for the number."""
    names = pairs({"patch_embed.proj": "embedding", "patch_embed.norm": "norm"})
    for index in range(STAGES):
        for block in range(_DEEPEST):
            theirs, ours = f"{stage.format(index, 2 * index)}.{block}", f"stages.{index}.{block}"
            names[f"{theirs}.attn.relative_position_bias_table"] = f"{ours}.attention.offsets"
            names |= pairs(
                {
                    f"{theirs}.norm1": f"{ours}.norm1",
                    f"{theirs}.attn.qkv": f"{ours}.attention.qkv",
                    f"{theirs}.attn.proj": f"{ours}.attention.out",
                    f"{theirs}.norm2": f"{ours}.norm2",
                    f"{theirs}.mlp.{first}": f"{ours}.mlp.0",
                    f"{theirs}.mlp.{second}": f"{ours}.mlp.2",
                }
            )
    for index in range(STAGES - 1):
        theirs, ours = merging.format(index, 2 * index + 1), f"mergings.{index}"
        names[f"{theirs}.reduction.weight"] = f"{ours}.reduction.weight"
        names |= pairs({f"{theirs}.norm": f"{ours}.norm"})
    return names


# Of both: the last merging and stage, the norm after it and the classifier; tables that follow from the window's size.
# Video-Swin-Transformer's own files (mmaction).
VIDEO_SWIN = Layout(
    marker="layers.0.blocks.0.attn.relative_position_bias_table",
    prefix=re.compile(r"(backbone\.)?"),
    top=_swin_names("layers.{0}.blocks", "layers.{0}.downsample", "fc1", "fc2"),
    blocks=_NONE,
    inside={},
    left_out=re.compile(r"(layers\.2\.downsample|layers\.3|norm|cls_head)\..+|.+\.(relative_position_index|attn_mask)"),
)
# torchvision's swin3d_t, where stages and mergings are numbered in one row.
TORCHVISION_SWIN = Layout(
    marker="features.0.0.attn.relative_position_bias_table",
    prefix=re.compile(r""),
    top=_swin_names("features.{1}", "features.{1}", "0", "3"),
    blocks=_NONE,
    inside={},
    left_out=re.compile(r"(features\.[56]|norm|head)\..+|.+\.relative_position_index"),
)


def _i3d_names() -> dict[str, str]:
    """Theirs -> ours for all of I3D up to Mixed_4f."""
    units = {"Conv3d_1a_7x7": "stem.0", "Conv3d_2b_1x1": "stem.1", "Conv3d_2c_3x3": "stem.2"}
    branches = {"b0": "single", "b1a": "one.0", "b1b": "one.1", "b2a": "other.0", "b2b": "other.1", "b3b": "after_pool"}
    for name in EIGHT | SIXTEEN:
        units |= {f"Mixed_{name}.{theirs}": f"mixed.{name}.{ours}" for theirs, ours in branches.items()}
    return {
        **pairs({f"{theirs}.conv3d": f"{ours}.conv" for theirs, ours in units.items()}, ("weight",)),
        **pairs({f"{theirs}.bn": f"{ours}.norm" for theirs, ours in units.items()}, NORM_LEAVES),
    }


# The PyTorch port of I3D's own weights (pytorch-i3d), of its RGB stream.
I3D_PORT = Layout(
    marker="Conv3d_1a_7x7.conv3d.weight",
    prefix=re.compile(r""),
    top=_i3d_names(),
    blocks=_NONE,
    inside={},
    left_out=re.compile(r"(Mixed_5[bc]|logits)\..+|.+\.num_batches_tracked"),
)
