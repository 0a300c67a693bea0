"""Int8 quantization: a scale for every row, and a whole number from -127 to 127 for each value."""

import torch
from torch import Tensor

CODES, SCALES = ".codes8", ".scales8"  # after the name of the tensor that they stand for
LARGEST = 127


def scales_of(rows: Tensor, least: float) -> Tensor:
    """A step for every row of (N, ...), (N,): its largest number has the largest code; `least` is for rows of zeros."""
    return (rows.flatten(1).abs().amax(1) / LARGEST).clamp(min=least)


def to_codes(rows: Tensor, scales: Tensor) -> Tensor:
    """The nearest int8 codes of rows (N, ...), given their scales (N,)."""
    return (rows / _per_row(scales, rows)).round().clamp(-LARGEST, LARGEST).to(torch.int8)


def from_codes(codes: Tensor, scales: Tensor) -> Tensor:
    """The float32 rows (N, ...) that codes and scales stand for."""
    return codes.float() * _per_row(scales, codes)


def quantize_int8(name: str, tensor: Tensor) -> dict[str, Tensor]:
    """A tensor (N, ...) as the two that are stored for it."""
    rows = tensor.detach().cpu().float()
    scales = scales_of(rows, least=1e-12)
    return {name + CODES: to_codes(rows, scales), name + SCALES: scales}


def dequantize_int8(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with every stored pair as the one tensor, in float32, that it stands for."""
    whole = {name: tensor for name, tensor in tensors.items() if not name.endswith((CODES, SCALES))}
    for name, codes in tensors.items():
        scales = tensors.get(name.removesuffix(CODES) + SCALES)
        if name.endswith(CODES) and scales is not None:
            whole[name.removesuffix(CODES)] = from_codes(codes, scales)
    return whole


def _per_row(scales: Tensor, rows: Tensor) -> Tensor:
    return scales.float().view(-1, *(1,) * (rows.ndim - 1))
