"""Text encoders against plain PyTorch and transformers' own models."""

import pytest
import torch
from transformers import PreTrainedModel

from locater.errors import LocaterError
from locater.model.text import HuggingFaceEncoder, LSTMEncoder
from locater.model.word_embedding import LearnedEmbedding
from locater.text.words import Vocabulary


@pytest.fixture
def lstm() -> LSTMEncoder:
    torch.manual_seed(0)
    vocabulary = Vocabulary.of_text(["the dog on the left", "a cat"])
    return LSTMEncoder(LearnedEmbedding(vocabulary, 6), width=8, max_words=7)


def bert(width: int = 16) -> HuggingFaceEncoder:
    from transformers import BertConfig, BertModel, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "cat", "play", "##ing", "##s", "on", "left"]
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
    )
    tokenizer = BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)})
    model: PreTrainedModel = BertModel(config)
    return HuggingFaceEncoder(model, tokenizer, width, max_words=6, max_tokens=9).eval()


def bidirectional(lstm: LSTMEncoder) -> torch.nn.LSTM:
    """PyTorch's own bi-LSTM with the encoder's weights."""
    reference = torch.nn.LSTM(6, 4, bidirectional=True, batch_first=True)
    weights = dict(lstm.forwards.state_dict())
    weights |= {f"{name}_reverse": tensor for name, tensor in lstm.backwards.state_dict().items()}
    reference.load_state_dict(weights)
    return reference


def test_lstm_equals_an_unpadded_run_of_each_sentence(lstm: LSTMEncoder) -> None:
    sentences = ["the dog on the left", "A cat", "cat"]
    words = lstm(lstm.tokenize(sentences))
    reference = bidirectional(lstm)
    assert words.features.shape == (3, 7, 8)
    for row, sentence in enumerate(sentences):
        tokens = [lstm.vocabulary.number(word) for word in sentence.split()]
        alone = lstm.norm(reference(lstm.embedding(torch.tensor([tokens])))[0])[0]
        torch.testing.assert_close(words.features[row, : len(tokens)], alone, rtol=1e-5, atol=1e-6)
        assert words.is_padding[row].tolist() == [False] * len(tokens) + [True] * (7 - len(tokens))


def test_unknown_words_and_long_sentences_are_named(lstm: LSTMEncoder) -> None:
    read = lstm.tokenize(["der Hund on the left", " ".join(["dog"] * 5000)])
    assert len(read.words[1]) == 7
    assert any("der, Hund" in notice for notice in read.notices)
    assert any("4993 more" in notice for notice in read.notices)
    assert all(len(notice) < 300 for notice in read.notices)
    unknown = lstm(lstm.tokenize(["zebra"])).features[0, 0]
    assert torch.equal(unknown, lstm(lstm.tokenize(["giraffe"])).features[0, 0])


@pytest.mark.parametrize("expression", ["", "   ", "...!?"])
def test_an_expression_without_words_is_refused(lstm: LSTMEncoder, expression: str) -> None:
    with pytest.raises(LocaterError, match="holds no words"):
        lstm.tokenize([expression])


def test_no_expression_is_refused(lstm: LSTMEncoder) -> None:
    with pytest.raises(LocaterError, match="No expression"):
        lstm.tokenize([])


def test_bert_features_equal_transformers_own() -> None:
    encoder = bert()
    words = encoder(encoder.tokenize(["The dogs playing on", "cat"]))
    ids = torch.tensor([[2, 5, 6, 10, 8, 9, 11, 3]])  # [CLS] the dog ##s play ##ing on [SEP]
    expected = encoder.model(input_ids=ids).last_hidden_state[0, 1:-1]
    torch.testing.assert_close(words.features[0, :6], expected, rtol=1e-5, atol=1e-5)
    assert words.word_of_token[0].tolist() == [0, 1, 1, 2, 2, 3, -1, -1, -1]
    assert words.is_padding[0].tolist() == [False] * 6 + [True] * 3
    alone = encoder(encoder.tokenize(["cat"]))
    torch.testing.assert_close(words.features[1], alone.features[0], rtol=1e-5, atol=1e-5)


def test_attention_over_sub_words_is_summed_a_word() -> None:
    encoder = bert()
    words = encoder(encoder.tokenize(["dogs playing"]))
    attention = torch.tensor([[0.1, 0.2, 0.3, 0.4, 0, 0, 0, 0, 0]])
    by_word = words.attention_by_word(attention)[0]
    assert [word for word, _ in by_word] == ["dogs", "playing"]
    assert [weight for _, weight in by_word] == pytest.approx([0.3, 0.7])


def test_words_whose_pieces_do_not_fit_are_cut_and_named() -> None:
    encoder = bert()
    read = encoder.tokenize(["playing playing playing playing playing xyz"])
    assert read.words == (("playing",) * 4,)  # 8 pieces fit into 9, 10 do not
    assert "2 more are not" in read.notices[0]
    assert "xyz" in encoder.tokenize(["xyz dog"]).notices[0]


def test_another_width_is_projected() -> None:
    encoder = bert(width=12)
    assert encoder(encoder.tokenize(["dog"])).features.shape == (1, 9, 12)


@pytest.mark.parametrize(
    ("sentences", "count", "may_be_padded"),
    [
        (["the dogs on"], 4, False),  # dog ##s
        (["the cat", "cat on"], 2, False),
        (["the cat on the left", "dog"], 5, True),
    ],
)
@pytest.mark.parametrize("kind", ["lstm", "bert"])
def test_trimmed_sentences_have_the_same_features(
    lstm: LSTMEncoder, kind: str, sentences: list[str], count: int, may_be_padded: bool
) -> None:
    encoder = lstm if kind == "lstm" else bert()
    tokens = encoder.tokenize(sentences)
    trimmed = encoder.trimmed(tokens)
    whole, words = encoder(tokens), encoder(trimmed)
    longest = count - (kind == "lstm" and count == 4)
    assert tokens.may_be_padded and whole.may_be_padded  # who feeds rows of any length to one graph relies on it
    assert trimmed.may_be_padded is words.may_be_padded is may_be_padded
    assert bool(words.is_padding.any()) is may_be_padded
    assert words.features.shape[1] == longest < whole.features.shape[1]
    torch.testing.assert_close(words.features, whole.features[:, :longest], rtol=1e-5, atol=1e-5)
    assert torch.equal(words.word_of_token, whole.word_of_token[:, :longest])
