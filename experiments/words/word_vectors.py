"""Which word vectors know most about words that training has never seen? Held-out nouns, no training of a network.

    python -m experiments.words.word_vectors --data ../shared/data --visual efficientnet_lite2.safetensors \\
        --encoder all-MiniLM-L6-v2/ --glove glove.6B.50d.txt --table words.safetensors

docs/words.md says where the files come from. A ridge regression learns, on four fifths of the nouns, what a thing looks
like from its word vector; a held-out noun then ranks the looks of all held-out nouns by cosine. Its strength is chosen
inside the training nouns. Looks are (1) *photographs*: EfficientNet-lite2's stride-16 features, which is what the
network sees, averaged over a noun's photographs, and (2) *classes*: the rows of the same network's classifier, each
learned from a thousand photographs that are not here. A name of several words has their vectors' mean.

The second table trains the text encoder itself, from "the NAME" to the classes, on the same splits.
"""

import argparse
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.machine import machine
from locater.io.pictures import opened
from locater.model.text import LSTMEncoder
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.visual.pretrained import load_pretrained
from locater.model.word_embedding import LearnedEmbedding, PretrainedEmbedding
from locater.text.table import WordTable, pack_words
from locater.text.words import Vocabulary, split_words
from tools.make_table import encoded_texts, encoded_words, principal, read_vectors

SPLITS = 5
PHOTOGRAPHS = 10  # at most of one name and source
SIDE = 256
STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
_NAME = re.compile(r"(n\d+)_(\d+_)?(.+)")


@dataclass(frozen=True)
class Looks:
    """Things by name, and what each looks like."""

    names: tuple[str, ...]
    features: Tensor  # (N, C)

    def only(self, words: set[str]) -> "Looks":
        """Those things whose name is of these words."""
        kept = [place for place, name in enumerate(self.names) if words.issuperset(split_words(name))]
        return Looks(tuple(self.names[place] for place in kept), self.features[kept])


def photographs(data: Path, visual: Path) -> Looks:
    """Names and pooled features of the photographs in `data`."""
    paths: dict[tuple[str, str], list[Path]] = {}
    for path in sorted((data / "named_photos").glob("*.jpg")):
        paths.setdefault(("named", _name(path)), []).append(path)
    for line in (data / "coco_photos" / "labels.tsv").read_text(encoding="utf-8").splitlines():
        number, name = line.split("\t")
        paths.setdefault(("coco", name), []).append(data / "coco_photos" / "images" / f"{number}.jpg")
    encoder = EfficientNetLite(variant="lite2", width=1)
    load_pretrained(encoder, visual)
    encoder.projection = nn.Sequential()  # the features themselves
    seen: dict[str, list[Tensor]] = {}
    for (_, name), some in paths.items():
        frames = torch.stack([_pixels(path) for path in some[:PHOTOGRAPHS]])
        seen.setdefault(name, []).extend(encoder(frames.unsqueeze(1)).patches.mean(dim=(1, 2)))
    everything = torch.stack([feature for features in seen.values() for feature in features])
    means = torch.stack([torch.stack(features).mean(0) for features in seen.values()])
    return Looks(tuple(seen), (means - everything.mean(0)) / everything.std(0))


def classes(data: Path, visual: Path) -> Looks:
    """Names of the 1,000 ImageNet classes, in the classifier's order, and its rows."""
    synsets = {
        match[1]: _name(path)
        for path in sorted((data / "named_photos").glob("*.jpg"))
        if (match := _NAME.fullmatch(path.stem)) and match[2] is None
    }
    rows = load_file(visual)["_fc.weight"]
    assert len(synsets) == len(rows)
    return Looks(tuple(name for _, name in sorted(synsets.items())), rows - rows.mean(0))


def _name(path: Path) -> str:
    match = _NAME.fullmatch(path.stem)
    assert match is not None
    return match[3].replace("_", " ").lower()


def _pixels(path: Path) -> Tensor:
    image = opened(path).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255


# ---- Measuring -------------------------------------------------------------------------------------------------------


def splits(count: int) -> list[tuple[Tensor, Tensor]]:
    """Training and held-out places, five times."""
    orders = [torch.randperm(count, generator=torch.Generator().manual_seed(seed)) for seed in range(SPLITS)]
    return [(order[count // 5 :], order[: count // 5]) for order in orders]


def hits(guesses: Tensor, looks: Tensor) -> tuple[float, float]:
    """How often the right one of `looks` (N, C) is the nearest to its guess, and among the five nearest."""
    order = (F.normalize(guesses, dim=1) @ F.normalize(looks, dim=1).T).argsort(dim=1, descending=True)
    is_right = order == torch.arange(len(order)).unsqueeze(1)
    return float(is_right[:, 0].float().mean()), float(is_right[:, :5].any(1).float().mean())


def ridge(x: Tensor, y: Tensor, strength: float) -> Tensor:
    """(d, C): the map from x (N, d) to y (N, C)."""
    solved: Tensor = torch.linalg.solve(x.T @ x + strength * torch.eye(x.shape[1]), x.T @ y)
    return solved


def retrieval(vectors: Tensor, looks: Tensor) -> list[tuple[float, float]]:
    """Top-1 and top-5 of held-out nouns, split by split."""
    result = []
    for trained, held_out in splits(len(vectors)):
        x = vectors - vectors[trained].mean(0)
        x = x / x[trained].square().mean().sqrt()
        y = looks - looks[trained].mean(0)
        inner, check = trained[len(trained) // 5 :], trained[: len(trained) // 5]
        best = max(STRENGTHS, key=lambda strength: hits(x[check] @ ridge(x[inner], y[inner], strength), y[check])[1])
        result.append(hits(x[held_out] @ ridge(x[trained], y[trained], best), y[held_out]))
    return result


def trained_encoder(make: Callable[[list[str]], LSTMEncoder], looks: Looks, steps: int) -> list[tuple[float, float]]:
    """The same of a text encoder trained on each split's training nouns to tell their looks apart."""
    result = []
    for trained, held_out in splits(len(looks.names)):
        torch.manual_seed(0)
        sentences = [f"the {name}" for name in looks.names]
        encoder = make([sentences[place] for place in trained])
        read = nn.Linear(encoder.norm.normalized_shape[0], looks.features.shape[1])
        optimizer = torch.optim.AdamW([*encoder.parameters(), *read.parameters()], lr=1e-3, weight_decay=0.01)

        def guess(places: Tensor, encoder: LSTMEncoder = encoder, read: nn.Linear = read) -> Tensor:
            words = encoder(encoder.tokenize([f"the {looks.names[place]}" for place in places]))
            return read(words.features.sum(1) / (~words.is_padding).sum(1, keepdim=True))  # type: ignore[no-any-return]

        targets = F.normalize(looks.features, dim=1)
        with torch.enable_grad():
            for _ in range(steps):
                some = trained[torch.randint(len(trained), (128,))].unique()  # type: ignore[no-untyped-call]
                likeness = F.normalize(guess(some), dim=1) @ targets[some].T
                loss = F.cross_entropy(likeness / 0.07, torch.arange(len(some)))
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        encoder.eval()
        result.append(hits(guess(held_out), looks.features[held_out]))
    return result


def row(name: str, size: str, *scores: list[tuple[float, float]]) -> str:
    """A line of a Markdown table."""
    cells = [
        f"{100 * statistics.mean(values):.1f} ± {100 * statistics.stdev(values):.1f}"
        for splits_scores in scores
        for values in zip(*splits_scores, strict=True)
    ]
    return f"| {name} | {size} | {' | '.join(cells)} |"


# ---- Candidates ------------------------------------------------------------------------------------------------------


def of_names(names: tuple[str, ...], words: dict[str, int], vectors: Tensor) -> Tensor:
    """A vector a name: the mean of its words'."""
    return torch.stack([vectors[[words[word] for word in split_words(name)]].mean(0) for name in names])


def candidates(words: tuple[str, ...], glove: Tensor, encoder: str) -> list[tuple[str, Tensor]]:
    """Tables (N, d) over `words` by name."""
    shown, bare = encoded_words(encoder, words), encoded_texts(encoder, words)
    return [
        ("random, 128", torch.randn(len(words), 128, generator=torch.Generator().manual_seed(0))),
        ("GloVe, 50", glove),
        ("bare words, 384", bare),
        ("a photo of a word, 384", shown),
        *[(f"a photo of a word, PCA {width}", principal(shown, width)) for width in (64, 96, 128, 192)],
        *[
            (f"GloVe, 50, and a photo of a word, PCA {width}", torch.cat([glove, principal(shown, width)], dim=1))
            for width in (78, 128)
        ],
    ]


def compare_vectors(table: WordTable, glove: Tensor, encoder: str, looks: list[Looks]) -> None:
    """Print the first table."""
    print("| vectors | 30,000 words | classes, top 1 (%) | top 5 | photographs, top 1 | top 5 |")
    print("|---|---|---|---|---|---|")
    for name, encode in (("bare name", encoded_texts), ("a photo of the name", encoded_words)):
        scores = [retrieval(encode(encoder, look.names), look.features) for look in looks]
        print(row(f"{name}, 384", "no table", *scores), flush=True)
    place_of = {word: place for place, word in enumerate(table.words)}
    for name, vectors in candidates(table.words, glove, encoder):
        rounded = {"fp16": vectors.half().float(), "int8": WordTable.of_vectors(table.words, vectors).vectors()}
        for kind, kept in rounded.items():
            scores = [retrieval(of_names(look.names, place_of, kept), look.features) for look in looks]
            print(row(f"{name}, {kind}", _megabytes(vectors.shape[1], kind), *scores), flush=True)


def compare_encoders(table: WordTable, looks: Looks, steps: int) -> None:
    """Print the second table."""
    print("\n| text encoder | | classes, top 1 (%) | top 5 |\n|---|---|---|---|")
    print(row("`lstm`", "", trained_encoder(_lstm, looks, steps)), flush=True)
    for forget in (0.0, 0.3, 0.6):
        make = partial(_vectors, table=table, forget=forget)
        print(row(f"`vectors`, forget {forget}", "", trained_encoder(make, looks, steps)), flush=True)


@torch.no_grad()
def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--visual", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--glove", type=Path, required=True)
    parser.add_argument("--table", type=Path, required=True, help="Its words are compared; its vectors are trained on.")
    parser.add_argument("--steps", type=int, default=300, help="Of training in the second table; 0 leaves it out.")
    arguments = parser.parse_args()
    print(machine(), flush=True)
    table = WordTable.load(arguments.table)
    found, is_found = read_vectors(arguments.glove, table.words)
    glove = torch.zeros(len(table.words), found.shape[1])
    glove[is_found] = principal(found, found.shape[1])
    listed = {word for word, is_in in zip(table.words, is_found, strict=True) if is_in}
    looks = [
        source.only(listed)  # the same nouns for all
        for source in (
            classes(arguments.data, arguments.visual),
            photographs(arguments.data, arguments.visual),
        )
    ]
    held_out = " and ".join(f"{len(look.names) // 5} of {len(look.names)}" for look in looks)
    print(f"held out are {held_out} nouns\n", flush=True)
    compare_vectors(table, glove, arguments.encoder, looks)
    if arguments.steps:
        compare_encoders(table, looks[0], arguments.steps)
    return 0


def _megabytes(width: int, kind: str) -> str:
    a_word = 2 * width if kind == "fp16" else width + 2
    return f"{30_000 * a_word / 1e6:.1f} MB"


def _lstm(text: list[str]) -> LSTMEncoder:
    return LSTMEncoder(LearnedEmbedding(Vocabulary.of_text(text), 128), 256, 20)


def _vectors(text: list[str], table: WordTable, forget: float) -> LSTMEncoder:
    letters = len(pack_words(table.words))
    words, vector_width = table.codes.shape
    embedding = PretrainedEmbedding(Vocabulary.of_text(text), words, vector_width, letters, 128, forget)
    embedding.fill(table)
    return LSTMEncoder(embedding, 256, 20)


if __name__ == "__main__":
    sys.exit(main())
