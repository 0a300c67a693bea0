"""Word tables: small, whole, and made by one command."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from locater.errors import LocaterError
from locater.text.table import WordTable, pack_words, unpack_words
from tools.make_table import choose_words, main, principal

WORDS = ("dog", "héron", "t-shirt")


def test_a_table_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    table = WordTable.of_vectors(WORDS, torch.randn(3, 8))
    table.save(tmp_path / "words.safetensors")
    again = WordTable.load(tmp_path / "words.safetensors")
    assert again.words == WORDS
    assert torch.equal(again.vectors(), table.vectors())


def test_a_byte_a_number_keeps_every_vector_within_half_a_step() -> None:
    vectors = torch.randn(200, 64) * torch.logspace(-2, 1, 200).unsqueeze(1)
    vectors[0] = 0
    table = WordTable.of_vectors([str(place) for place in range(200)], vectors)
    # Half a step, and as much again for the scale's own rounding to fp16.
    assert ((table.vectors() - vectors).abs() <= vectors.abs().amax(1, keepdim=True) / 127 + 1e-6).all()
    assert torch.cosine_similarity(table.vectors(), vectors)[1:].min() > 0.999


@pytest.mark.parametrize("words", [(), ("a",), WORDS])
def test_words_are_packed_as_bytes_and_back(words: tuple[str, ...]) -> None:
    packed = pack_words(words)
    assert packed.dtype == torch.uint8
    assert unpack_words(packed) == words


@pytest.mark.parametrize("damage", ["absent", "another file", "cut", "no words", "float codes"])
def test_a_damaged_table_is_one_sentence_that_says_what_to_do(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "words.safetensors"
    WordTable.of_vectors(WORDS, torch.randn(3, 8)).save(path)
    tensors = load_file(path)
    if damage == "absent":
        path.unlink()
    elif damage == "another file":
        path.write_text("dog 1 2 3")
    elif damage == "cut":
        save_file({**tensors, "codes": tensors["codes"][:2]}, path)
    elif damage == "no words":
        save_file({name: tensor for name, tensor in tensors.items() if name != "letters"}, path)
    else:
        save_file({**tensors, "codes": tensors["codes"].float()}, path)
    with pytest.raises(LocaterError, match=r"make one with python -m tools\.make_table") as error:
        WordTable.load(path)
    assert "\n" not in str(error.value)


def test_words_are_headwords_by_frequency_and_then_those_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lemminflect")
    monkeypatch.setattr("tools.make_table.ALWAYS", 2)
    common = ["the", ",", "dogs", "dog", "building", "puppies", "puppy", "geese", "zorblax", "cat"]
    # "building" is a headword of its own, "geese" has no rule; plain plurals and what no dictionary has are left out.
    assert choose_words(common, 6, ["cat", "héron"]) == [
        "the",
        "dogs",
        "dog",
        "building",
        "puppy",
        "geese",
        "cat",
        "héron",
    ]


def test_main_directions_keep_what_differs_most() -> None:
    torch.manual_seed(0)
    vectors = torch.randn(500, 2) @ torch.randn(2, 10) + 0.01 * torch.randn(500, 10) + 5
    kept = principal(vectors, 2)
    assert kept.shape == (500, 2)
    assert kept.square().mean().item() == pytest.approx(1)
    distances = torch.pdist(vectors[:50])
    scale = (torch.pdist(kept[:50]) / distances).median()
    torch.testing.assert_close(torch.pdist(kept[:50]) / scale, distances, rtol=0.05, atol=0.05)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder of vectors, other words and a tiny sentence encoder."""
    from transformers import BertConfig, BertModel, BertTokenizer

    pytest.importorskip("lemminflect")
    lines = [f"{word} {place} {place % 2} 0.5" for place, word in enumerate(["the", "dog", "puppy", "car", "zebra"])]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "also.txt").write_text("Zebra\nunheard-of\n")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "photo", "of", ".", "dog", "puppy", "the"]
    sizes = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    torch.manual_seed(0)
    BertModel(sizes).save_pretrained(tmp_path / "bert")
    BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)}).save_pretrained(tmp_path / "bert")
    return tmp_path


@pytest.mark.parametrize(
    ("sources", "width", "is_known"),
    [(["vectors"], 3, False), (["encoder"], 4, True), (["vectors", "encoder"], 5, True)],
)
def test_the_command_makes_a_table(
    files: Path, capsys: pytest.CaptureFixture[str], sources: list[str], width: int, is_known: bool
) -> None:
    places = {"vectors": files / "vectors.txt", "encoder": files / "bert"}
    given = [f"--common={files / 'vectors.txt'}", f"--also={files / 'also.txt'}", "--words=3", f"--width={width}"]
    out = files / "words.safetensors"
    assert main([*given, *[f"--{source}={places[source]}" for source in sources], f"--out={out}"]) == 0
    words = ("the", "dog", "puppy", "zebra", *(["unheard-of"] if is_known else []))  # the file of vectors lacks it
    assert f"{len(words)} words" in capsys.readouterr().out
    table = WordTable.load(out)
    assert table.words == words
    assert table.codes.shape == (len(words), width)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give --vectors, --encoder or both"),
        (["--encoder=no/such/place/at/all"], "cannot be loaded"),
        (["--vectors=also.txt"], "no vectors of one width"),
        (["--vectors=none.txt"], "cannot be read"),
    ],
)
def test_the_command_says_what_is_wrong(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(files)
    with pytest.raises(SystemExit, match=told):
        main(["--common=vectors.txt", "--out=words.safetensors", *arguments])
    assert not (files / "words.safetensors").exists()
