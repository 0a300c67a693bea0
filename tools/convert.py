"""Others' weights as safetensors that `load_pretrained` takes.

    python -m tools.convert mobile_sam.pt mobile_sam.safetensors

A pickled state dict (.pt, .pth, .bin), or what such a file has as `state_dict`, keeps its names. An .onnx graph is
taken for a DINOv2 that transformers built and torch.onnx exported; what is named `backbone.` is kept. It needs the
package onnx.
"""

import argparse
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from locater.errors import LocaterError


def convert(source: Path, target: Path) -> None:
    """Write `source`'s tensors to the .safetensors file `target`."""
    tensors = dinov2_tensors(source) if source.suffix == ".onnx" else pickled_tensors(source)
    save_file({name: value.contiguous() for name, value in tensors.items()}, target)


def pickled_tensors(path: Path) -> dict[str, Tensor]:
    """A state dict's tensors; a pickle that holds anything but plain data is refused by torch."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    if isinstance(weights, dict) and isinstance(weights.get("state_dict"), dict):
        weights = weights["state_dict"]  # as mmaction and its like save it, beside notes on the training
    if not isinstance(weights, dict) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise LocaterError(f"{path} is no plain state dict; save the network's own state_dict() and convert that.")
    return weights


def dinov2_tensors(path: Path) -> dict[str, Tensor]:
    """An exported DINOv2's tensors under transformers' names.

    The export folded the transpose of every linear weight and the split of the positions, and lost their names; the
    nodes that use them still say where they belong.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    tensors = {entry.name: torch.from_numpy(numpy_helper.to_array(entry).copy()) for entry in graph.initializer}
    named = {name.removeprefix("backbone."): value for name, value in tensors.items() if name.startswith("backbone.")}
    positions: dict[str, Tensor] = {}
    for node in graph.node:
        module, _, _ = node.name.removeprefix("/backbone/").rpartition("/")
        for lost in (tensors[name] for name in node.input if name.startswith("onnx::") and name in tensors):
            if node.op_type == "MatMul":
                named[f"{module.replace('/', '.')}.weight"] = lost.T
            elif module == "embeddings":
                positions[node.op_type] = lost  # the class token's is concatenated, the patches' are reshaped
    if set(positions) != {"Concat", "Reshape"}:
        raise LocaterError(f"{path} holds no DINOv2 as transformers exports it: its positions are not found.")
    named["embeddings.position_embeddings"] = torch.cat([positions["Concat"], positions["Reshape"]], dim=1)
    return named


def main() -> None:
    """Convert the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    given = parser.parse_args()
    try:
        convert(given.source, given.target)
    except (LocaterError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
