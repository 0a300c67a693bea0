"""One training step captured as a CUDA graph: the unrolled clip is thousands of small kernels, launched at once."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from locater.compute.cuda_graph import capture
from locater.records import Tokens


class GraphedLosses:
    """Loss terms of a batch, their gradients added to the parameters', by replaying one captured graph.

    Every batch must have the first one's shapes. What is captured is the same computation that runs op by op
    elsewhere; `locater bench training` checks that both give the same losses.
    """

    def __init__(self, compute: Callable[..., dict[str, Tensor]], model: nn.Module) -> None:
        self.compute = compute
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.graph: torch.cuda.CUDAGraph | None = None
        self.records: tuple[Any, ...] = ()
        self.terms: dict[str, Tensor] = {}

    def __call__(self, *records: Any) -> dict[str, Tensor]:
        """The terms of a batch's records (dataclasses of tensors); read them before the next call overwrites them."""
        if self.graph is None:
            self.graph = self._captured(*records)
        for source, target in zip(records, self.records, strict=True):
            theirs = tensors_of(target)
            for name, tensor in tensors_of(source).items():
                theirs[name].copy_(tensor)
        self.graph.replay()
        return self.terms

    def _captured(self, *records: Any) -> torch.cuda.CUDAGraph:
        # Else the graph would have no mask for the next batch's shorter sentences.
        assert all(record.may_be_padded for record in records if isinstance(record, Tokens))
        self.records = tuple(_cloned(record) for record in records)
        # The next batch is made meanwhile, and what a start answers of it is a graph as well.
        graph, terms = capture(self._with_gradients, stream=torch.cuda.Stream())  # type: ignore[no-untyped-call]
        self.terms = {name: value.detach() for name, value in terms.items()}
        torch._foreach_zero_([p.grad for p in self.parameters if p.grad is not None])  # what the warm-up added
        return graph

    def _with_gradients(self) -> dict[str, Tensor]:
        terms = self.compute(*self.records)
        terms["loss"].backward()  # type: ignore[no-untyped-call]
        return terms


def _cloned(record: Any) -> Any:
    return replace(record, **{name: tensor.clone() for name, tensor in tensors_of(record).items()})


def tensors_of(record: Any) -> dict[str, Tensor]:
    """A dataclass's tensors by name; what it holds beside them is left out."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if isinstance(value, Tensor)}
