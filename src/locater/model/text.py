"""Text encoders: sentences to word features, with a padding mask that everything downstream honours."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from locater.errors import LocaterError
from locater.model.word_embedding import LearnedEmbedding, PretrainedEmbedding
from locater.records import Tokens, Words
from locater.text.unknown_nouns import unknown_nouns
from locater.text.words import ForgivingVocabulary, Vocabulary, split_words

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TextEncoder(nn.Module, ABC):
    """Sentences to `Tokens` (strings end there), and tokens to `Words` (tensors alone, of one shape for all)."""

    def __init__(self, max_words: int) -> None:
        super().__init__()
        self.max_words = max_words

    @abstractmethod
    def unknown(self, words: Sequence[str]) -> list[str]:
        """Those of `words` that carry no meaning for this encoder."""

    def guesses(self, words: Sequence[str]) -> dict[str, str]:  # noqa: ARG002
        """Those of `words` that are taken for another one, and for which."""
        return {}

    @abstractmethod
    def forward(self, tokens: Tokens) -> Words:
        """The features of sentences already tokenised, on the encoder's device."""

    @property
    @abstractmethod
    def padding_number(self) -> int:
        """What fills `Tokens.numbers` up."""

    @abstractmethod
    def _numbers(self, words: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """`Tokens.numbers` and `Tokens.word_of_token` of sentences cut to length."""

    def fitting(self, words: Sequence[str]) -> int:
        """How many of the first words can be read."""
        return min(len(words), self.max_words)

    def tokenize(self, expressions: Sequence[str]) -> Tokens:
        """The sentences as numbers, cut to N_w as the paper does, with a notice for each cut and each unknown word."""
        if not expressions:
            raise LocaterError("No expression was given; say what to segment, for example 'the dog on the left'.")
        words, notices, not_understood = [], [], []
        for text in expressions:
            split = split_words(text)
            if not split:
                raise LocaterError(f"The expression {_shortened(text, 60)!r} holds no words; say what to segment.")
            fitting = self.fitting(split)
            kept, cut = split[:fitting], split[fitting:]
            short = _shortened(text, 60)
            if cut:
                notices.append(f"'{short}': only the first {len(kept)} words are read, {len(cut)} more are not.")
            unknown = self.unknown(kept)
            if unknown:
                notices.append(f"'{short}': not understood, and read as unknown words: {_named(unknown)}.")
            nouns = unknown_nouns(kept, unknown)
            if nouns:
                not_understood.append(f"'{short}': not understood: {_named(nouns)}")
            for word, guess in self.guesses(kept).items():
                notices.append(f"'{short}': {_shortened(word, 30)} is not known, and read as {guess}.")
            words.append(tuple(kept))
        numbers, word_of_token = self._numbers(words)
        return Tokens(numbers, word_of_token, tuple(expressions), tuple(words), tuple(notices), tuple(not_understood))

    def trimmed(self, tokens: Tokens) -> Tokens:
        """The same tokens without the columns that all sentences leave empty; call it before they go to a GPU."""
        is_used = (tokens.numbers != self.padding_number).any(0)
        lengths = (tokens.word_of_token >= 0).sum(1)
        return replace(
            tokens,
            numbers=tokens.numbers[:, is_used],
            word_of_token=tokens.word_of_token[:, is_used],
            may_be_padded=bool((lengths != lengths[0]).any()),
        )


class LSTMEncoder(TextEncoder):
    """The paper's bi-LSTM, D/2 each way, over the word vectors of `embedding`, which brings the vocabulary."""

    def __init__(self, embedding: LearnedEmbedding | PretrainedEmbedding, width: int, max_words: int) -> None:
        super().__init__(max_words)
        self.embedding = embedding
        self.forwards = nn.LSTM(embedding.embedding_dim, width // 2, batch_first=True)
        self.backwards = nn.LSTM(embedding.embedding_dim, width // 2, batch_first=True)
        self.norm = nn.LayerNorm(width)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words it knows."""
        return self.embedding.vocabulary

    @property
    def padding_number(self) -> int:
        """The vocabulary's."""
        return Vocabulary.PADDING

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words of which some part, or all, is outside the vocabulary."""
        return [word for word in words if Vocabulary.UNKNOWN in self.vocabulary.read(word)]

    def guesses(self, words: Sequence[str]) -> dict[str, str]:
        """Words with a slip of the fingers, and compounds of which only the end is known."""
        if not isinstance(self.vocabulary, ForgivingVocabulary):
            return {}
        found = {word: self.vocabulary.guess(word) for word in words}
        return {word: guess for word, guess in found.items() if guess}

    def fitting(self, words: Sequence[str]) -> int:
        """As many words as fit; one that is read as several takes the room of several."""
        return _fitting([len(self.vocabulary.read(word)) for word in words[: self.max_words]], self.max_words)

    def _numbers(self, words: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        rows, owners = [], []
        for sentence in words:
            read = [(number, place) for place, word in enumerate(sentence) for number in self.vocabulary.read(word)]
            padding = [(Vocabulary.PADDING, -1)] * (self.max_words - len(read))
            numbers, own = zip(*(read + padding)[: self.max_words], strict=True)
            rows.append(numbers)
            owners.append(own)
        return torch.tensor(rows), torch.tensor(owners)

    def forward(self, tokens: Tokens) -> Words:
        """Features (B, N_w, D), or fewer words; the backward direction starts at each sentence's own last one."""
        is_padding = tokens.word_of_token < 0
        count = is_padding.shape[1]
        embedded = self.embedding(tokens.numbers)
        # Each sentence reversed within its own length; padding stays behind it, where it reaches no word.
        position = torch.arange(count, device=is_padding.device)
        length = count - is_padding.sum(1, keepdim=True)
        reverse = torch.where(is_padding, position, length - 1 - position).unsqueeze(-1)  # (B, N_w, 1), its own inverse
        ahead = self.forwards(embedded)[0]
        behind = self.backwards(torch.take_along_dim(embedded, reverse, dim=1))[0]
        states = torch.cat([ahead, torch.take_along_dim(behind, reverse, dim=1)], dim=-1)
        return Words(
            features=self.norm(states).masked_fill(is_padding.unsqueeze(-1), 0.0),
            is_padding=is_padding,
            word_of_token=tokens.word_of_token,
            expressions=tokens.expressions,
            words=tokens.words,
            may_be_padded=tokens.may_be_padded,
            meanings=self.embedding.meanings(tokens.numbers)
            if isinstance(self.embedding, PretrainedEmbedding)
            else None,
        )


class HuggingFaceEncoder(TextEncoder):
    """Any Hugging Face encoder; its special tokens are dropped, and each sub-word knows its word."""

    def __init__(
        self,
        model: "PreTrainedModel",
        tokenizer: "PreTrainedTokenizerBase",
        width: int,
        max_words: int,
        max_tokens: int,
    ) -> None:
        super().__init__(max_words)
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        own_width: int = model.config.hidden_size
        self.project = (
            nn.Identity() if own_width == width else nn.Sequential(nn.Linear(own_width, width), nn.LayerNorm(width))
        )

    @property
    def padding_number(self) -> int:
        """The tokenizer's."""
        number: int = self.tokenizer.pad_token_id
        return number

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words the tokenizer has no pieces for."""
        missing = self.tokenizer.unk_token_id
        pieces = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [word for word, ids in zip(words, pieces, strict=True) if missing is not None and missing in ids]

    def fitting(self, words: Sequence[str]) -> int:
        """As many words as fit both N_w and the room for their pieces."""
        first = list(words[: self.max_words])
        pieces = self.tokenizer(first, add_special_tokens=False)["input_ids"]
        return _fitting([len(ids) for ids in pieces], self.max_tokens)

    def _numbers(self, words: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Every row padded to the same length, special tokens and all."""
        tokens = self.tokenizer(
            [list(sentence) for sentence in words],
            is_split_into_words=True,
            truncation=True,
            max_length=self.max_tokens + self.tokenizer.num_special_tokens_to_add(),
            padding="max_length",
            return_tensors="pt",
        )
        owners = [[-1 if word is None else word for word in tokens.word_ids(row)] for row in range(len(words))]
        numbers: Tensor = tokens["input_ids"]
        return numbers, torch.tensor(owners)

    def forward(self, tokens: Tokens) -> Words:
        """Features (B, max_tokens, D), or fewer, of the sub-words alone, moved to the front."""
        is_real = tokens.numbers != self.padding_number
        count = tokens.numbers.shape[1] - self.tokenizer.num_special_tokens_to_add()
        states = self.model(input_ids=tokens.numbers, attention_mask=is_real.long()).last_hidden_state
        is_special = tokens.word_of_token < 0
        front = is_special.long().argsort(dim=1, stable=True)[:, :count]  # words first, in their order
        owner = torch.take_along_dim(tokens.word_of_token, front, dim=1)
        is_padding = owner < 0
        features = self.project(torch.take_along_dim(states, front.unsqueeze(-1), dim=1))
        return Words(
            features=features.masked_fill(is_padding.unsqueeze(-1), 0.0),
            is_padding=is_padding,
            word_of_token=owner,
            expressions=tokens.expressions,
            words=tokens.words,
            may_be_padded=tokens.may_be_padded,
        )


def _fitting(lengths: Sequence[int], room: int) -> int:
    """How many of the first words, so many tokens each, fit into `room`; at least one, itself cut if need be."""
    return max(1, sum(used <= room for used in itertools.accumulate(lengths)))


def _named(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(_shortened(word, 30) for word in words))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
