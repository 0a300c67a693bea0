"""Ways to run the same computation with fewer launches; each is held against the plain one before it is timed."""

import copy
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from locater.model.decoder import FineUpsampler
from locater.model.memory import Digest, MaskEmbedding, WriteController
from locater.model.transformer import EncoderBlock

TensorFunction = Callable[..., tuple[Tensor, ...]]
_ModuleT = TypeVar("_ModuleT", bound=nn.Module)
_COMPILED_PARTS = (EncoderBlock, FineUpsampler, WriteController, MaskEmbedding, Digest)
_MATRIX_LAYERS = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)  # what autocast runs in the lower precision


class Captured:
    """A pure function of tensors as one CUDA graph: a call copies the inputs in and replays it.

    What a call returns is overwritten by the next one.
    """

    def __init__(self, function: TensorFunction, *examples: Tensor) -> None:
        self._inputs = tuple(example.clone() for example in examples)
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries take their workspaces now, outside the graph
            for _ in range(2):
                function(*self._inputs)
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._outputs = function(*self._inputs)

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function's results for these inputs."""
        for own, given in zip(self._inputs, tensors, strict=True):
            if own.data_ptr() != given.data_ptr():
                own.copy_(given)
        self._graph.replay()
        return self._outputs


def compile_parts(model: nn.Module) -> None:
    """Fuses the element-wise work of a network's parts in place (torch.compile), for tensors of one shape.

    Each part is compiled on its own: a clip, unrolled, would take ages.
    """
    for part in model.modules():
        if isinstance(part, _COMPILED_PARTS):
            part.compile(dynamic=False)


def stored_in(module: _ModuleT, dtype: torch.dtype) -> _ModuleT:
    """A copy whose matrix layers hold their weights in `dtype`, for use under autocast.

    The results are autocast's own bit for bit, since it would cast the same weights the same way: at every call, as
    the segmenter opens a context a frame, where its cache ends.
    """
    copied = copy.deepcopy(module)
    if dtype != torch.float32:
        for part in copied.modules():
            if isinstance(part, _MATRIX_LAYERS):
                part.to(dtype)
    return copied
