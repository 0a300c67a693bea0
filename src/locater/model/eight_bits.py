"""Weights in eight bits, as they are stored: a scale for every row, and a whole number from -127 to 127 a weight."""

import torch
from torch import Tensor

CODES, SCALES = ".codes8", ".scales8"  # after the name of the tensor that they stand for
LARGEST = 127


def in_eight_bits(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """A tensor (N, ...) as the two that are stored for it."""
    rows = tensor.detach().cpu().float()
    shape = (-1, *(1,) * (rows.ndim - 1))
    scales = (rows.flatten(1).abs().amax(1) / LARGEST).clamp(min=1e-12)  # a row of zeros would divide by zero
    codes = (rows / scales.view(shape)).round().clamp(-LARGEST, LARGEST).to(torch.int8)
    return {name + CODES: codes, name + SCALES: scales}


def out_of_eight_bits(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with every stored pair as the one tensor, in float32, that it stands for."""
    whole = {name: tensor for name, tensor in tensors.items() if not name.endswith((CODES, SCALES))}
    for name, codes in tensors.items():
        scales = tensors.get(name.removesuffix(CODES) + SCALES)
        if name.endswith(CODES) and scales is not None:
            whole[name.removesuffix(CODES)] = codes.float() * scales.view(-1, *(1,) * (codes.ndim - 1))
    return whole
