"""Made photographs of one bright thing, and a real ONNX network to which what is bright stands out."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image, ImageDraw

SIDE = 64


def make_model(path: Path, channels: int = 3) -> Path:
    """A network: a steep sigmoid of a pixel's mean brightness, in U2-Net's shapes."""
    nodes = [
        helper.make_node("ReduceMean", ["picture"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Mul", ["mean", "steep"], ["scaled"]),
        helper.make_node("Sigmoid", ["scaled"], ["map"]),
    ]
    graph = helper.make_graph(
        nodes,
        "bright",
        [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, channels, SIDE, SIDE])],
        [helper.make_tensor_value_info("map", TensorProto.FLOAT, [1, 1, SIDE, SIDE])],
        [helper.make_tensor("steep", TensorProto.FLOAT, [1], [8.0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def draw_photograph(path: Path, *boxes: tuple[int, int, int, int], bright: int = 235, size: int = 120) -> None:
    """Ellipses on a dark ground, with a corner of white so that brightness is never stretched."""
    noise = np.random.default_rng(7).integers(10, 60, (size, size, 3), dtype=np.uint8)
    picture = Image.fromarray(noise)
    for box in boxes:
        ImageDraw.Draw(picture).ellipse(box, fill=(bright, bright - 40, bright - 60))
    ImageDraw.Draw(picture).rectangle((0, 0, 4, 4), fill=(255, 255, 255))
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path)


def make_photographs(folder: Path) -> Path:
    """Whole things, and one of each that is not to be trusted; ImageNet's names."""
    for number in range(12):
        box = (24 + number, 30, 80 + number, 84 + number % 5)
        draw_photograph(folder / f"n02088364_{number}_beagle.png", box)
        draw_photograph(folder / f"n03445777_{number}_golf_ball.png", box)
    draw_photograph(folder / "n02123045_1_tabby.png", (50, 50, 64, 64))
    draw_photograph(folder / "n02123045_2_tabby.png", (-60, -60, 180, 180))
    draw_photograph(folder / "n02123045_3_tabby.png", (-50, -90, 60, 210))
    draw_photograph(folder / "n02123045_4_tabby.png", (10, 20, 50, 70), (70, 40, 110, 90))
    draw_photograph(folder / "n02123045_5_tabby.png", (30, 30, 90, 90), bright=155)
    draw_photograph(folder / "n09193705_alp.png", (30, 30, 90, 90))
    (folder / "n02123045_6_tabby.png").write_bytes(b"no picture")
    return folder
