"""Words made of given features, for tests of what reads them."""

import torch
from torch import Tensor

from locater.records import Words


def words_of(features: Tensor, lengths: list[int]) -> Words:
    """Padded `Words` of the given lengths."""
    count = features.shape[1]
    position = torch.arange(count).expand(len(lengths), -1)
    is_padding = position >= torch.tensor(lengths)[:, None]
    return Words(
        features=features,
        is_padding=is_padding,
        word_of_token=position.masked_fill(is_padding, -1),
        expressions=tuple("x" for _ in lengths),
        words=tuple(tuple("w" * (i + 1) for i in range(length)) for length in lengths),
    )
