"""A table of pretrained word vectors, small enough to travel: one byte per number, one scale per word."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file
from safetensors.torch import save as safetensors_bytes
from torch import Tensor

from locater.compute.int8 import from_codes, scales_of, to_codes
from locater.errors import LocaterError
from locater.io.atomic import atomic_path


@dataclass(frozen=True)
class WordTable:
    """Lower-case words, the most common first, and the vector of each: `codes * scales`."""

    words: tuple[str, ...]
    codes: Tensor  # (N, d) int8
    scales: Tensor  # (N,) float16, so that a checkpoint stored in fp16 loses nothing

    @classmethod
    def of_vectors(cls, words: Sequence[str], vectors: Tensor) -> "WordTable":
        """The table of vectors (N, d), each rounded to the nearest of 255 steps of its own largest number."""
        scales = scales_of(vectors, least=1e-6).half()
        return cls(tuple(words), to_codes(vectors, scales), scales)

    def vectors(self) -> Tensor:
        """(N, d), as near to the original ones as the table keeps them."""
        return from_codes(self.codes, self.scales)

    def save(self, path: str | Path) -> None:
        """Write one safetensors file, whole or not at all."""
        tensors = {"codes": self.codes, "scales": self.scales, "letters": pack_words(self.words)}
        with atomic_path(Path(path)) as partial:
            partial.write_bytes(safetensors_bytes(tensors))

    @classmethod
    def load(cls, path: str | Path) -> "WordTable":
        """The table that `save` wrote."""
        make = "make one with python -m tools.make_table, in a clone of the repository"
        if not Path(path).is_file():
            raise LocaterError(f"There is no word table {path}; {make}.")
        try:
            tensors = load_file(path)
            codes, scales = tensors["codes"], tensors["scales"]
            words = unpack_words(tensors["letters"])
        except (OSError, KeyError, ValueError, safetensors.SafetensorError):
            raise LocaterError(f"{path} is no word table, or is damaged; {make}.") from None
        if codes.ndim != 2 or codes.dtype != torch.int8 or not len(words) == len(codes) == len(scales):
            raise LocaterError(f"{path} has {len(words)} words for vectors of shape {tuple(codes.shape)}; {make}.")
        return cls(words, codes, scales)


def pack_words(words: Sequence[str]) -> Tensor:
    """The words as UTF-8, one per line: a tensor (bytes,) can travel inside a safetensors file."""
    return torch.tensor(list("\n".join(words).encode()), dtype=torch.uint8)


def unpack_words(letters: Tensor) -> tuple[str, ...]:
    """The words that `pack_words` packed; a ValueError where it is no UTF-8."""
    text = bytes(letters.tolist()).decode()
    return tuple(text.split("\n")) if text else ()
