"""From word numbers to vectors, before any context: learned from the training text, or pretrained."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from locater.compute.int8 import from_codes
from locater.errors import LocaterError
from locater.text.colour_names import COLOUR_WORDS, SAME_COLOURS
from locater.text.table import WordTable, pack_words, unpack_words
from locater.text.words import ForgivingVocabulary, Vocabulary, split_words

_LEARNED_SCALE = 0.1  # at the start: what a word means comes from its pretrained vector


class LearnedEmbedding(nn.Embedding):
    """A learned vector a word of the training text."""

    def __init__(self, vocabulary: Vocabulary, width: int) -> None:
        super().__init__(len(vocabulary), width, padding_idx=Vocabulary.PADDING)
        self.vocabulary = vocabulary

    def forward(self, input: Tensor) -> Tensor:
        """(B, W, E) of word numbers (B, W)."""
        return look_up(self.weight, input)


class PretrainedEmbedding(nn.Module):
    """A frozen pretrained vector a word of a large table, projected, plus a learned one for words of the training text.

    In training a word loses its learned vector now and then (`forget`). It then looks as a word looks that was never
    trained on, so that what comes after learns to read the pretrained ones, and such words are understood.
    """

    codes: Tensor  # (1 + N, d) int8; the first row is that of a word without a pretrained vector, and zero
    scales: Tensor  # (1 + N,)
    letters: Tensor  # the table's words; a part of the weights, so that they travel and are checked with them
    trained_rows: Tensor  # (2 + V,): where in `codes` each trained word is
    colours: Tensor  # (2 + N + V, C) int8: which of `COLOUR_WORDS` a word names
    middle: Tensor  # (d,): the table's mean, in which all words are alike

    def __init__(
        self, trained: Vocabulary, words: int, vector_width: int, letters: int, width: int, forget: float
    ) -> None:
        super().__init__()
        self.embedding_dim = width
        self.trained = trained
        self.forget = forget
        self.learned = nn.Embedding(len(trained), width, padding_idx=Vocabulary.PADDING)
        self.project = nn.Linear(vector_width, width, bias=False)
        self.register_buffer("codes", torch.zeros(1 + words, vector_width, dtype=torch.int8))
        self.register_buffer("scales", torch.zeros(1 + words))
        self.register_buffer("letters", torch.zeros(letters, dtype=torch.uint8))
        self.register_buffer("trained_rows", torch.zeros(len(trained), dtype=torch.int32))
        self.register_buffer("middle", torch.zeros(vector_width), persistent=False)
        self.register_buffer(
            "colours", torch.zeros(words + len(trained), len(COLOUR_WORDS), dtype=torch.int8), persistent=False
        )
        self.register_load_state_dict_post_hook(_read_again)  # type: ignore[no-untyped-call]
        self.vocabulary = ForgivingVocabulary((), trained.words)
        with torch.no_grad():
            self.learned.weight.mul_(_LEARNED_SCALE)

    def fill(self, table: WordTable) -> None:
        """Take in a table of this embedding's size."""
        with torch.no_grad():
            self.codes[1:].copy_(table.codes)
            self.scales[1:].copy_(table.scales)
            self.letters.copy_(pack_words(table.words))
            self.trained_rows.copy_(rows_in_table(table.words, self.trained.words))
        self.read_words()

    def read_words(self) -> None:
        """Make the vocabulary anew from the letters."""
        try:
            words = unpack_words(self.letters)
        except ValueError:
            words = ()
        if len(words) != len(self.codes) - 1:
            raise LocaterError(
                f"The word table of this checkpoint is damaged: {len(words)} words for {len(self.codes) - 1} vectors; "
                "get the checkpoint again."
            )
        self.vocabulary = ForgivingVocabulary(words, self.trained.words)
        self.colours.zero_()
        for said, colour in {**{word: word for word in COLOUR_WORDS}, **SAME_COLOURS}.items():
            number = self.vocabulary.number(said)
            if number != Vocabulary.UNKNOWN:
                self.colours[number, COLOUR_WORDS.index(colour)] = 1
        if words:
            self.middle.copy_(from_codes(self.codes[1:], self.scales[1:]).mean(0))

    def meanings(self, numbers: Tensor) -> Tensor:
        """(B, W, d + C) of word numbers (B, W): a word's vector as a direction from the table's middle, and its colour.

        Zeros for padding and for words that the table does not have; 1 for the colour that a word names, exactly, since
        vectors of colours are much alike.
        """
        directions = self._directions(numbers)
        return torch.cat([directions, look_up(self.colours, numbers).to(directions.dtype)], dim=-1)

    def as_read(self, words: Sequence[str]) -> tuple[Tensor, Tensor]:
        """How words that are each read as one are read: their learned vectors (N, E), and their places in `codes`."""
        numbers = [number for word in words for number in self.vocabulary.read(word)]
        row, trained = self._rows(torch.tensor(numbers, dtype=torch.long, device=self.codes.device))
        return look_up(self.learned.weight.detach(), trained), row.to(self.trained_rows.dtype)

    def meaning(self, name: str) -> Tensor:
        """The direction (d,) of a name of one or more words."""
        numbers = [number for word in split_words(name) for number in self.vocabulary.read(word)]
        return F.normalize(self._directions(torch.tensor([numbers], device=self.codes.device))[0].mean(0), dim=-1)

    def forward(self, numbers: Tensor) -> Tensor:
        """(B, W, E) of word numbers (B, W): padding and unknown, then the table's words, then the trained ones."""
        row, trained = self._rows(numbers)
        is_bare = trained == Vocabulary.PADDING
        if self.training:
            is_bare = is_bare | (torch.rand(numbers.shape, device=numbers.device) < self.forget) & (row > 0)
        learned = look_up(self.learned.weight, trained).masked_fill(is_bare.unsqueeze(-1), 0.0)
        return learned + self.project(self._vectors(row))  # type: ignore[no-any-return]

    def _directions(self, numbers: Tensor) -> Tensor:
        row, _ = self._rows(numbers)
        directions = F.normalize(self._vectors(row).float() - self.middle.float(), dim=-1)
        return directions.masked_fill((row == 0).unsqueeze(-1), 0.0)

    def _rows(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """Where in `codes` each word is, and its number among the trained ones; 0 where it is not."""
        first_trained = len(self.codes) + 1
        is_listed = (numbers > Vocabulary.UNKNOWN) & (numbers < first_trained)
        trained = torch.where(numbers < first_trained, numbers, numbers - first_trained + 2).masked_fill(is_listed, 0)
        return torch.where(is_listed, numbers - 1, look_up(self.trained_rows, trained)), trained

    def _vectors(self, row: Tensor) -> Tensor:
        return look_up(self.codes, row) * look_up(self.scales, row).unsqueeze(-1)


def rows_in_table(listed: Sequence[str], trained: Sequence[str]) -> Tensor:
    """`PretrainedEmbedding.trained_rows` (2 + V,) of trained words in a table of listed ones; 0 where it has none."""
    vocabulary = ForgivingVocabulary(tuple(listed), ())
    rows = [max(vocabulary.nearest(word) - 1, 0) for word in trained]
    return torch.tensor([0, 0, *rows], dtype=torch.int32)


def look_up(rows: Tensor, numbers: Tensor) -> Tensor:
    """rows[numbers], by index_select: the backward pass of the other ways may wait for the GPU."""
    return rows.index_select(0, numbers.flatten()).view(*numbers.shape, *rows.shape[1:])


def _read_again(module: nn.Module, _: object) -> None:
    assert isinstance(module, PretrainedEmbedding)
    module.read_words()
