"""TensorFlow's SAME convolution as ONNX has it, for frames of any size.

PyTorch has no such operator: the padding is computed from the sizes, which a tracer would then fix.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.model.visual.conv_norm import SameConv2d, same_padding


@torch.library.custom_op("locater::same_convolution", mutates_args=())
def _same_convolution(maps: Tensor, weight: Tensor, stride: Sequence[int], groups: int) -> Tensor:
    down, across = same_padding(maps.shape[2:], weight.shape[2:], stride)
    padded = F.pad(maps, (across // 2, across - across // 2, down // 2, down - down // 2))
    return F.conv2d(padded, weight, stride=list(stride), groups=groups)


@_same_convolution.register_fake
def _(maps: Tensor, weight: Tensor, stride: Sequence[int], groups: int) -> Tensor:  # noqa: ARG001
    height, width = ((side + step - 1) // step for side, step in zip(maps.shape[2:], stride, strict=True))
    return maps.new_empty(maps.shape[0], weight.shape[0], height, width)


def _in_onnx(maps: Any, weight: Any, stride: Sequence[int], groups: int) -> Any:
    import onnxscript

    return onnxscript.opset20.Conv(maps, weight, auto_pad="SAME_UPPER", group=groups, strides=stride)


SAME_CONVOLUTION: dict[Callable[..., Any], Callable[..., Any]] = {torch.ops.locater.same_convolution.default: _in_onnx}


def _forward(self: SameConv2d, input: Tensor) -> Tensor:
    found: Tensor = torch.ops.locater.same_convolution(input, self.weight, self.stride, self.groups)
    return found


@contextmanager
def same_convolutions() -> Iterator[None]:
    """While it lasts, a SAME convolution is one operator."""
    with patch.object(SameConv2d, "forward", _forward):
        yield
