"""Text encoders: sentences to word features, with a padding mask that everything downstream honours."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from locater.errors import LocaterError
from locater.records import Words
from locater.text.words import Vocabulary, split_words

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


@dataclass(frozen=True)
class ReadExpressions:
    """Sentences split and cut to length, and what was not understood of them."""

    expressions: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    notices: tuple[str, ...]  # one sentence each, for a person


class TextEncoder(nn.Module, ABC):
    """Sentences to `Words` of a fixed number of tokens."""

    def __init__(self, max_words: int) -> None:
        super().__init__()
        self.max_words = max_words

    @abstractmethod
    def unknown(self, words: Sequence[str]) -> list[str]:
        """Those of `words` that carry no meaning for this encoder."""

    def fitting(self, words: Sequence[str]) -> int:
        """How many of the first words can be read."""
        return min(len(words), self.max_words)

    @abstractmethod
    def encode(self, read: ReadExpressions) -> Words:
        """The features of sentences already read."""

    def read(self, expressions: Sequence[str]) -> ReadExpressions:
        """The sentences' words, cut to N_w as the paper does, with a notice for each cut and each unknown word."""
        if not expressions:
            raise LocaterError("No expression was given; say what to segment, for example 'the dog on the left'.")
        words, notices = [], []
        for text in expressions:
            split = split_words(text)
            if not split:
                raise LocaterError(f"The expression {text!r} holds no words; say what to segment.")
            fitting = self.fitting(split)
            kept, cut = split[:fitting], split[fitting:]
            short = _shortened(text, 60)
            if cut:
                notices.append(f"'{short}': only the first {len(kept)} words are read, {len(cut)} more are not.")
            unknown = self.unknown(kept)
            if unknown:
                named = ", ".join(dict.fromkeys(_shortened(word, 30) for word in unknown))
                notices.append(f"'{short}': not understood, and read as unknown words: {named}.")
            words.append(tuple(kept))
        return ReadExpressions(tuple(expressions), tuple(words), tuple(notices))

    def forward(self, expressions: Sequence[str]) -> Words:
        """The sentences as `Words`."""
        return self.encode(self.read(expressions))


class LSTMEncoder(TextEncoder):
    """The paper's bi-LSTM, D/2 each way, over a vocabulary of its own."""

    def __init__(self, vocabulary: Vocabulary, embedding_width: int, width: int, max_words: int) -> None:
        super().__init__(max_words)
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), embedding_width, padding_idx=Vocabulary.PADDING)
        self.lstm = nn.LSTM(embedding_width, width // 2, bidirectional=True, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words outside the vocabulary."""
        return [word for word in words if self.vocabulary.number(word) == Vocabulary.UNKNOWN]

    def encode(self, read: ReadExpressions) -> Words:
        """Features (B, N_w, D); the backward direction starts at each sentence's own last word."""
        device = self.embedding.weight.device
        lengths = torch.tensor([len(words) for words in read.words])
        position = torch.arange(self.max_words).expand(len(lengths), -1)
        is_padding = position >= lengths[:, None]
        numbers = torch.full(position.shape, Vocabulary.PADDING)
        for row, words in enumerate(read.words):
            numbers[row, : len(words)] = torch.tensor([self.vocabulary.number(word) for word in words])
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(numbers.to(device)), lengths, batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.lstm(packed)[0], batch_first=True, total_length=self.max_words
        )
        return Words(
            features=self.norm(states).masked_fill(is_padding[..., None].to(device), 0.0),
            is_padding=is_padding.to(device),
            word_of_token=position.masked_fill(is_padding, -1),
            expressions=read.expressions,
            words=read.words,
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

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words the tokenizer has no pieces for."""
        missing = self.tokenizer.unk_token_id
        pieces = self.tokenizer(list(words), add_special_tokens=False)["input_ids"]
        return [word for word, ids in zip(words, pieces, strict=True) if missing is not None and missing in ids]

    def fitting(self, words: Sequence[str]) -> int:
        """As many words as fit both N_w and the room for their pieces; at least one, itself cut if need be."""
        first = list(words[: self.max_words])
        pieces = self.tokenizer(first, add_special_tokens=False)["input_ids"]
        room = itertools.accumulate(len(ids) for ids in pieces)
        return max(1, sum(used <= self.max_tokens for used in room))

    def encode(self, read: ReadExpressions) -> Words:
        """Features (B, max_tokens, D) of the sub-words alone."""
        device = next(self.model.parameters()).device
        tokens = self.tokenizer(
            [list(words) for words in read.words],
            is_split_into_words=True,
            truncation=True,
            max_length=self.max_tokens + self.tokenizer.num_special_tokens_to_add(),
            padding=True,
            return_tensors="pt",
        )
        states = self.model(
            input_ids=tokens["input_ids"].to(device), attention_mask=tokens["attention_mask"].to(device)
        ).last_hidden_state
        batch, width = len(read.words), states.shape[-1]
        features = states.new_zeros(batch, self.max_tokens, width)
        owner = torch.full((batch, self.max_tokens), -1)
        for row in range(batch):
            words_of_tokens = tokens.word_ids(row)
            places = [place for place, word in enumerate(words_of_tokens) if word is not None]
            features[row, : len(places)] = states[row, places]
            owner[row, : len(places)] = torch.tensor([words_of_tokens[place] for place in places])
        is_padding = (owner < 0).to(device)
        return Words(
            features=self.project(features).masked_fill(is_padding[..., None], 0.0),
            is_padding=is_padding,
            word_of_token=owner,
            expressions=read.expressions,
            words=read.words,
        )


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
