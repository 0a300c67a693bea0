"""From word numbers to vectors, before any context: learned from the training text, or pretrained."""

import torch
from torch import Tensor, nn

from locater.errors import LocaterError
from locater.text.table import WordTable, pack_words, unpack_words
from locater.text.words import ForgivingVocabulary, Vocabulary

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
            listed = ForgivingVocabulary(table.words, ())
            rows = [max(listed.nearest(word) - 1, 0) for word in self.trained.words]
            self.trained_rows[2:].copy_(torch.tensor(rows, dtype=torch.int32))
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

    def forward(self, numbers: Tensor) -> Tensor:
        """(B, W, E) of word numbers (B, W): padding and unknown, then the table's words, then the trained ones."""
        first_trained = len(self.codes) + 1
        is_listed = (numbers > Vocabulary.UNKNOWN) & (numbers < first_trained)
        trained = torch.where(numbers < first_trained, numbers, numbers - first_trained + 2).masked_fill(is_listed, 0)
        row = torch.where(is_listed, numbers - 1, look_up(self.trained_rows, trained))
        is_bare = trained == Vocabulary.PADDING
        if self.training:
            is_bare = is_bare | (torch.rand(numbers.shape, device=numbers.device) < self.forget) & (row > 0)
        learned = look_up(self.learned.weight, trained).masked_fill(is_bare.unsqueeze(-1), 0.0)
        vectors = look_up(self.codes, row) * look_up(self.scales, row).unsqueeze(-1)
        return learned + self.project(vectors)  # type: ignore[no-any-return]


def look_up(rows: Tensor, numbers: Tensor) -> Tensor:
    """rows[numbers], by index_select: the backward pass of the other ways may wait for the GPU."""
    return rows.index_select(0, numbers.flatten()).view(*numbers.shape, *rows.shape[1:])


def _read_again(module: nn.Module, _: object) -> None:
    assert isinstance(module, PretrainedEmbedding)
    module.read_words()
