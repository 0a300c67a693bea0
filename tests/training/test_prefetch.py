"""Batches that are prepared ahead."""

import pytest
import torch

from locater.records import Batch, Tokens
from locater.training.prefetch import PrefetchedBatches


def test_batches_come_in_order_whether_or_not_somebody_looks_ahead() -> None:
    made: list[tuple[str, int]] = []

    def prepare(plan: str, number: int) -> tuple[Batch, Tokens]:
        made.append((plan, number))
        none = torch.zeros(0)
        batch = Batch(none, none, none, none, (plan,), none, none)
        return batch, Tokens(none, none, (plan,), (), ())

    batches = PrefetchedBatches(iter("abcd"), prepare, 7, torch.device("cpu"))
    assert batches.take()[0].expressions == ("a",)
    batches.prefetch()
    batches.prefetch()  # one is enough
    assert made == [("a", 7), ("b", 8)]
    assert [batches.take()[1].expressions for _ in range(3)] == [("b",), ("c",), ("d",)]
    batches.prefetch()  # there are no more
    with pytest.raises(StopIteration):
        batches.take()
    assert made == [("a", 7), ("b", 8), ("c", 9), ("d", 10)]
