"""Makes a word table from a pretrained sentence encoder, from word vectors in a text file as GloVe's are, or from both.

    python -m tools.make_table --common glove.6B.50d.txt --vectors glove.6B.50d.txt \\
        --encoder all-MiniLM-L6-v2/ --out words.safetensors

Which words: the most common ones that a dictionary of English knows, without the forms that `base_forms` leads back
to them. docs/words.md says where the files come from, under which licences, and how good the vectors are.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.text.base_forms import base_forms
from locater.text.table import WordTable
from locater.text.words import split_words

SENTENCE = "a photo of a {}."  # the bare word does a little worse (docs/words.md)
ALWAYS = 10_000  # so many are taken whatever they are: dictionaries lack "the", "terrier" and "christmas"
BATCH = 256
_PLAIN = re.compile(r"[a-z]+(-[a-z]+)*")


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the table is written."""
    parser = argparse.ArgumentParser(prog="python -m tools.make_table", description=__doc__.split("\n")[0])
    parser.add_argument("--common", type=Path, required=True, help="Words, one per line, the most common first.")
    parser.add_argument("--also", type=Path, help="A text whose every word is to be in the table.")
    parser.add_argument("--vectors", type=Path, help="Word vectors, a word and its numbers a line; all are kept.")
    parser.add_argument("--encoder", help="A sentence encoder, a folder or a hub name: its main directions fill up.")
    parser.add_argument("--words", type=int, default=30_000)
    parser.add_argument("--width", type=int, default=128, help="Numbers per word.")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        also = _text(given.also).lower() if given.also else ""
        words = choose_words(first_words(given.common), given.words, split_words(also))
        vectors = made_vectors(words, given.vectors, given.encoder, given.width)
        is_known = vectors.any(dim=1)  # else the table would claim to know words it has no vector for
        words = [word for word, is_in in zip(words, is_known, strict=True) if is_in]
        WordTable.of_vectors(words, vectors[is_known]).save(given.out)
    except LocaterError as error:
        sys.exit(str(error))
    print(f"{given.out}: {len(words)} words, {given.out.stat().st_size / 1e6:.1f} MB")
    return 0


def first_words(path: Path) -> list[str]:
    """The first word of each line, in the file's order."""
    return [line.split(" ", 1)[0] for line in _text(path).split("\n")]


def choose_words(common: Iterable[str], count: int, also: Iterable[str] = ()) -> list[str]:
    """The first `count` of the common words that are headwords or have no rule to one, then those of `also`."""
    try:
        from lemminflect import getAllLemmas
    except ImportError:
        raise LocaterError("Choosing words needs lemminflect; run: pip install 'locater[contrast]'.") from None
    chosen: dict[str, None] = {}
    plain = (word for word in common if _PLAIN.fullmatch(word))
    for place, word in enumerate(plain):
        if len(chosen) == count:
            break
        lemmas = {lemma for found in getAllLemmas(word).values() for lemma in found}
        is_regular_form = word not in lemmas and not lemmas.isdisjoint(base_forms(word))
        if place < ALWAYS or (lemmas and not is_regular_form):
            chosen[word] = None
    return list(chosen | dict.fromkeys(also))


def made_vectors(words: Sequence[str], path: Path | None, encoder: str | None, width: int) -> Tensor:
    """(N, width): the file's vectors first, then as many main directions of the encoder's as there is room for."""
    if path is None and encoder is None:
        raise LocaterError("There is nothing to make vectors from; give --vectors, --encoder or both.")
    parts = []
    if path is not None:
        vectors, is_known = read_vectors(path, words)
        parts.append(torch.zeros(len(words), min(width, vectors.shape[1])))
        parts[0][is_known] = principal(vectors, width)
    room = width - sum(part.shape[1] for part in parts)
    if encoder is not None and room:
        parts.append(principal(encoded_words(encoder, words), room))
    return torch.cat(parts, dim=1)


def encoded_words(encoder: str, words: Sequence[str]) -> Tensor:
    """(N, D): the mean over its tokens of a sentence that shows the word, of length 1."""
    return encoded_texts(encoder, [SENTENCE.format(word) for word in words])


@torch.no_grad()
def encoded_texts(encoder: str, texts: Sequence[str]) -> Tensor:
    """(N, D): the mean over each text's tokens, of length 1, as sentence-transformers' models are meant to be used."""
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(encoder)
        model = AutoModel.from_pretrained(encoder, use_safetensors=True).eval()
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise LocaterError(f"The encoder '{encoder}' cannot be loaded ({reason}); give a local folder.") from None
    means = []
    for first in range(0, len(texts), BATCH):
        tokens = tokenizer(list(texts[first : first + BATCH]), padding=True, return_tensors="pt")
        is_real = tokens["attention_mask"].unsqueeze(-1)
        means.append((model(**tokens).last_hidden_state * is_real).sum(1) / is_real.sum(1))
    return torch.nn.functional.normalize(torch.cat(means), dim=-1)


def read_vectors(path: Path, words: Sequence[str]) -> tuple[Tensor, Tensor]:
    """The vectors (M, d) of those of `words` that the file has, and which those are, (N,) bool."""
    wanted = set(words)
    found: dict[str, list[float]] = {}
    for line in _text(path).split("\n"):
        word, *numbers = line.split(" ")
        if word in wanted:
            found[word] = [float(number) for number in numbers]
    if len({len(vector) for vector in found.values()}) != 1:
        raise LocaterError(f"{path} holds no vectors of one width for these words; give a file such as GloVe's.")
    is_known = [word in found for word in words]
    return torch.tensor([found[word] for word in words if word in found]), torch.tensor(is_known)


def principal(vectors: Tensor, width: int) -> Tensor:
    """(N, width): the vectors' main directions, centred, with 1 for the mean square of all numbers."""
    centred = vectors - vectors.mean(dim=0)
    axes = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1)[:, :width]
    turned = centred @ axes
    scaled: Tensor = turned / turned.square().mean().sqrt()
    return scaled


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except (OSError, ValueError):
        raise LocaterError(f"{path} cannot be read as text; docs/words.md says what it should hold.") from None


if __name__ == "__main__":
    sys.exit(main())
