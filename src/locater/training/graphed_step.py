"""One training step captured as a CUDA graph: the unrolled clip is thousands of small kernels, launched at once."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from locater.records import Batch, Tokens

_RecordT = TypeVar("_RecordT", Batch, Tokens)


class GraphedLosses:
    """Loss terms of a batch, their gradients added to the parameters', by replaying one captured graph.

    Every batch must have the first one's shapes. What is captured is the same computation that runs op by op
    elsewhere; `experiments/training_step.py` checks that both give the same losses.
    """

    def __init__(self, compute: Callable[[Batch, Tokens], dict[str, Tensor]], model: nn.Module) -> None:
        self.compute = compute
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.graph: torch.cuda.CUDAGraph | None = None
        self.terms: dict[str, Tensor] = {}

    def __call__(self, batch: Batch, tokens: Tokens) -> dict[str, Tensor]:
        """The terms; read them before the next call overwrites them."""
        if self.graph is None:
            self._capture(batch, tokens)
        _copy(batch, self.batch)
        _copy(tokens, self.tokens)
        assert self.graph is not None
        self.graph.replay()
        return self.terms

    def _capture(self, batch: Batch, tokens: Tokens) -> None:
        assert tokens.may_be_padded  # else the graph would have no mask for the next batch's shorter sentences
        self.batch, self.tokens = _cloned(batch), _cloned(tokens)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):  # lets libraries choose their kernels before anything is recorded
                self.compute(self.batch, self.tokens)["loss"].backward()  # type: ignore[no-untyped-call]
        torch.cuda.current_stream().wait_stream(side)
        torch._foreach_zero_([p.grad for p in self.parameters if p.grad is not None])
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.terms = self.compute(self.batch, self.tokens)
            self.terms["loss"].backward()  # type: ignore[no-untyped-call]
        self.terms = {name: value.detach() for name, value in self.terms.items()}
        torch._foreach_zero_([p.grad for p in self.parameters if p.grad is not None])


def _cloned(record: _RecordT) -> _RecordT:
    tensors: dict[str, Any] = {name: tensor.clone() for name, tensor in tensors_of(record).items()}
    return replace(record, **tensors)


def _copy(source: Batch | Tokens, target: Batch | Tokens) -> None:
    theirs = tensors_of(target)
    for name, tensor in tensors_of(source).items():
        theirs[name].copy_(tensor)


def tensors_of(record: Batch | Tokens) -> dict[str, Tensor]:
    """The record's tensors by name; what it holds beside them is left out."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}
