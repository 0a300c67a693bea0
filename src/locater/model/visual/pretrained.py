"""Pretrained weights for visual encoders, from a safetensors file or the model hub; all of them fit, or none load."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from locater.errors import LocaterError
from locater.model.transformer import EncoderBlock
from locater.model.visual.efficientnet import EfficientNetLite, InvertedBottleneck
from locater.model.visual.encoder import VisualEncoder
from locater.model.visual.layouts import (
    EFFICIENTNET,
    MOBILE_SAM,
    QKV,
    RECOGNISING_EFFICIENTNET,
    TIMM,
    TINY_VIT,
    TINY_VIT_SHALLOW,
    TRANSFORMERS,
    Layout,
)
from locater.model.visual.refiner import Refiner
from locater.model.visual.tiny_vit import TinyViT
from locater.model.visual.video.i3d import I3D
from locater.model.visual.video.names import I3D_PORT, TORCHVISION_SWIN, VIDEO_SWIN
from locater.model.visual.video.swin import VideoSwin
from locater.model.visual.vit import VisionTransformer, resample_positions

# What we add to a pretrained network; no file has it.
NEW_PARTS = ("early_stem.", "early_embedding.", "projection.", "place.", "recogniser.meanings.")
PICKLE_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
LISTED = 10


def load_pretrained(encoder: VisualEncoder | Refiner, name_or_path: str | Path) -> None:
    """Fill `encoder` from a .safetensors file, or from the hub (`owner/repo`, or a bare timm name).

    Known layouts: for a VisionTransformer those of timm, of Facebook's DINOv2 and of transformers (older and newer
    names, with and without the `vit.` or `dinov2.` prefix); for an EfficientNetLite that of efficientnet-pytorch; for a
    TinyViT and a Refiner that of MobileSAM; for a VideoSwin those of Video-Swin-Transformer (mmaction) and of
    torchvision's swin3d; for an I3D that of pytorch-i3d. Blocks past the encoder's depth, and heads, poolers and mask
    tokens, are left out knowingly; anything else that is missing, unexpected or of another shape is an error that lists
    the tensors, and the encoder stays as it was. Positions of another grid are resampled; a projection and an early
    stem keep their start.

    Pickles are refused; `python -m tools.convert` makes safetensors of them.
    """
    origin = str(name_or_path)
    tensors = _read(_resolve(origin), origin)
    _fill(encoder, _translate(encoder, tensors, origin), origin)


# ---- Files -----------------------------------------------------------------------------------------------------------


def _resolve(name: str) -> Path:
    """The local file that `name` stands for, fetched from the hub if need be."""
    path = Path(name)
    if path.suffix in PICKLE_SUFFIXES or (path.is_file() and path.suffix != ".safetensors"):
        raise LocaterError(
            f"{name} is not a .safetensors file; convert it with "
            f"python -m tools.convert {path.name} {path.stem}.safetensors, in a clone of the repository."
        )
    if path.suffix == ".safetensors":
        if not path.is_file():
            raise LocaterError(f"There is no file {name}; give a .safetensors file or the name of a model on the hub.")
        return path
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    """The hub's model.safetensors of `owner/repo`, or of timm's `name`."""
    import huggingface_hub  # slow to import; only those who fetch pay

    repository = name if "/" in name else f"timm/{name}"
    try:
        return Path(huggingface_hub.hf_hub_download(repository, "model.safetensors"))
    except Exception as error:  # its errors have no common base, and its transport library's are not always wrapped
        raise LocaterError(
            f"Cannot fetch model.safetensors of '{repository}' from the model hub ({type(error).__name__}); "
            "check the name and the connection, or give a local .safetensors file."
        ) from error


def _read(path: Path, origin: str) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise LocaterError(f"{origin} cannot be read as safetensors: {str(error).rstrip('.')}.") from None


# ---- Translation -----------------------------------------------------------------------------------------------------


@dataclass
class Translation:
    """A file's tensors under our own names."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # ours -> the file's, for messages
    unexpected: list[str] = field(default_factory=list)  # the file's


def _translate(encoder: VisualEncoder | Refiner, tensors: dict[str, Tensor], origin: str) -> Translation:
    if isinstance(encoder, VisionTransformer):
        layout = _layout_of(tensors, (TIMM, TRANSFORMERS), origin)
        translation = _rename(tensors, layout, _blocks_of(encoder, EncoderBlock))
        _fuse_attention(translation, len(encoder.blocks))
        _fit_positions(translation, encoder.native_grid)
        return translation
    if isinstance(encoder, EfficientNetLite):
        known = EFFICIENTNET if encoder.recogniser is None else RECOGNISING_EFFICIENTNET
        layout = _layout_of(tensors, (known,), origin)
        return _rename(tensors, layout, _blocks_of(encoder, InvertedBottleneck))
    if isinstance(encoder, TinyViT):
        layout = _layout_of(tensors, (TINY_VIT if encoder.trunk.is_deep else TINY_VIT_SHALLOW,), origin)
        return _rename(tensors, layout, blocks=[])
    if isinstance(encoder, VideoSwin):
        return _rename(tensors, _layout_of(tensors, (VIDEO_SWIN, TORCHVISION_SWIN), origin), blocks=[])
    if isinstance(encoder, I3D):
        return _rename(tensors, _layout_of(tensors, (I3D_PORT,), origin), blocks=[])
    if isinstance(encoder, Refiner):
        return _rename(tensors, _layout_of(tensors, (MOBILE_SAM,), origin), blocks=[])
    raise TypeError(f"no pretrained layout is known for {type(encoder).__name__}")


def _layout_of(tensors: dict[str, Tensor], layouts: tuple[Layout, ...], origin: str) -> Layout:
    for layout in layouts:
        if any(_without_prefix(name, layout) == layout.marker for name in tensors):
            return layout
    wanted = " or ".join(layout.marker for layout in layouts)
    raise LocaterError(
        f"{origin} holds no weights of this kind of encoder: {wanted} is not among its {_listed(sorted(tensors))}."
    )


def _blocks_of(encoder: VisualEncoder, kind: type[nn.Module]) -> list[str]:
    """Our names of the blocks, in order."""
    return [name for name, module in encoder.named_modules() if isinstance(module, kind)]


def _without_prefix(name: str, layout: Layout) -> str:
    return layout.prefix.sub("", name, count=1) if layout.prefix.match(name) else name


def _rename(tensors: dict[str, Tensor], layout: Layout, blocks: list[str]) -> Translation:
    """Every tensor under our name, left out knowingly, or noted as unexpected."""
    translation = Translation()
    for theirs in sorted(tensors):
        name = _without_prefix(theirs, layout)
        if layout.left_out.fullmatch(name):
            continue
        ours = layout.top.get(name)
        if match := layout.blocks.fullmatch(name):
            index = int(match[1])
            if index >= len(blocks):  # past the encoder's depth
                continue
            leaf = layout.inside.get(match[2])
            ours = f"{blocks[index]}.{leaf}" if leaf else None
        if ours is None or ours in translation.tensors:
            translation.unexpected.append(theirs)
        else:
            translation.tensors[ours] = tensors[theirs]
            translation.names[ours] = theirs
    return translation


def _fuse_attention(translation: Translation, depth: int) -> None:
    """Join query, key and value, where they come apart, as our blocks have them."""
    for index in range(depth):
        for leaf in ("weight", "bias"):
            parts = [f"blocks.{index}.{part}.{leaf}" for part in QKV]
            if all(part in translation.tensors for part in parts):
                fused = f"blocks.{index}.attention.qkv.{leaf}"
                translation.tensors[fused] = torch.cat([translation.tensors.pop(part) for part in parts])
                translation.names[fused] = ", ".join(translation.names[part] for part in parts)


def _fit_positions(translation: Translation, grid: tuple[int, int]) -> None:
    """Resample positions of another square grid; any others are left to be found misshapen."""
    positions = translation.tensors.get("positions")
    if positions is None or positions.ndim != 3 or positions.shape[1] < 2:
        return
    side = math.isqrt(positions.shape[1] - 1)
    if 1 + side * side == positions.shape[1]:
        translation.tensors["positions"] = resample_positions(positions, (side, side), grid)


# ---- Filling ---------------------------------------------------------------------------------------------------------


def _fill(encoder: VisualEncoder | Refiner, translation: Translation, origin: str) -> None:
    """Copy every tensor in, after all of them have been found to fit."""
    expected = {name: value for name, value in encoder.state_dict().items() if not name.startswith(NEW_PARTS)}
    given = translation.tensors
    missing = [name for name in expected if name not in given]
    unexpected = translation.unexpected + [translation.names[name] for name in given if name not in expected]
    problems = misfits(expected, given, missing, unexpected, translation.names)
    if problems:
        raise LocaterError(f"{origin} does not fit this encoder: {problems}.")
    with torch.no_grad():
        for name, value in expected.items():
            value.copy_(given[name])


def misfits(
    expected: Mapping[str, Tensor],
    given: Mapping[str, Tensor],
    missing: list[str],
    unexpected: list[str],
    names: Mapping[str, str],
) -> str:
    """What does not fit, with the tensors' names, of the misshapen ones by `names`; empty where all fit."""
    misshapen = [
        f"{names.get(name, name)} {tuple(given[name].shape)} instead of {tuple(value.shape)}"
        for name, value in expected.items()
        if name in given and given[name].shape != value.shape
    ]
    problems = (("missing", missing), ("unexpected", unexpected), ("of another shape", misshapen))
    return "; ".join(f"{title} {_listed(those)}" for title, those in problems if those)


def _listed(names: list[str]) -> str:
    """The first ten names and the count of all."""
    more = ", ..." if len(names) > LISTED else ""
    return f"{len(names)} ({', '.join(names[:LISTED])}{more})"
