"""Their text encoder: BERT's word pieces, vectors of its own, a bi-LSTM of three layers, and no padding mask."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor, nn

from locater.model.text import TextEncoder
from locater.records import Tokens, Words

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")  # what any vocabulary of BERT's has


class WordPieceLSTM(TextEncoder):
    """Every sentence has the same length, its special tokens and its padding included; all of it is read."""

    def __init__(
        self, pieces: Sequence[str], rows: int, embedding_width: int, layers: int, width: int, max_words: int
    ) -> None:
        from transformers import BertTokenizer

        super().__init__(max_words)
        known = pieces or SPECIAL
        self.tokenizer = BertTokenizer(vocab={piece: place for place, piece in enumerate(known)}, do_lower_case=True)
        self.embedding = nn.Embedding(rows, embedding_width)
        self.lstm = nn.LSTM(embedding_width, width // 2, num_layers=layers, bidirectional=True, batch_first=True)
        self.norm = nn.LayerNorm(width)

    @property
    def padding_number(self) -> int:
        """BERT's."""
        return int(self.tokenizer.pad_token_id)

    def unknown(self, words: Sequence[str]) -> list[str]:
        """Words with a piece that has no vector."""
        missing = self.tokenizer.unk_token_id
        return [word for word in words if missing in self._pieces([word])]

    def fitting(self, words: Sequence[str]) -> int:
        """As many words as have room for their pieces."""
        used = accumulate(len(self._pieces([word])) for word in words)
        return max(1, sum(each <= self.max_words for each in used))

    def trimmed(self, tokens: Tokens) -> Tokens:
        """The tokens as they are: the network was trained on sentences with all their padding."""
        return replace(tokens, may_be_padded=False)

    def forward(self, tokens: Tokens) -> Words:
        """Features (B, N_w + 2, D); nothing is marked as padding, since nothing downstream leaves it out."""
        features = self.norm(self.lstm(self.embedding(tokens.numbers))[0])
        nowhere = torch.zeros_like(tokens.numbers, dtype=torch.bool)
        return Words(features, nowhere, tokens.word_of_token, tokens.expressions, tokens.words, may_be_padded=False)

    def _pieces(self, words: Sequence[str]) -> list[int]:
        numbers: list[int] = self.tokenizer(list(words), is_split_into_words=True, add_special_tokens=False)[
            "input_ids"
        ]
        return self._with_rows(torch.tensor(numbers, dtype=torch.long)).tolist()

    def _with_rows(self, numbers: Tensor) -> Tensor:
        """Pieces past the table, which has 30,000 rows for BERT's 30,522, as unknown ones."""
        return numbers.where(numbers < self.embedding.num_embeddings, self.tokenizer.unk_token_id)

    def _numbers(self, words: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        tokens = self.tokenizer(
            [list(sentence) for sentence in words],
            is_split_into_words=True,
            truncation=True,
            max_length=self.max_words + 2,
            padding="max_length",
            return_tensors="pt",
        )
        owners = [[-1 if word is None else word for word in tokens.word_ids(row)] for row in range(len(words))]
        return self._with_rows(tokens["input_ids"]), torch.tensor(owners)
