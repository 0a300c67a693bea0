"""Rows of a batch: clips, and the expressions asked of them."""

from torch import Tensor


def expand_to_expressions(x: Tensor, count: int) -> Tensor:
    """`x` (B, ...) with a row for each of `count` expressions, B dividing it: those of one clip lie side by side."""
    clips = x.shape[0]
    if clips == 1:
        return x.expand(count, *x.shape[1:])
    return x if clips == count else x.repeat_interleave(count // clips, dim=0)
