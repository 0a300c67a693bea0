"""The text encoder over pretrained word vectors: what it knows of words it was not trained on, and how they travel."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from locater.config import ModelConfig, VectorsConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import (
    from_pretrained,
    load_to_go_on,
    load_what_fits,
    save_pretrained,
    with_table_of,
)
from locater.model.locater import Locater
from locater.model.text import LSTMEncoder
from locater.model.word_embedding import PretrainedEmbedding
from locater.text.table import WordTable
from locater.training.command import with_vocabulary

ANIMALS, VEHICLES = ("dog", "puppy", "hound", "héron"), ("car", "van", "truck")
LISTED = ("the", "left", *ANIMALS, *VEHICLES)
TRAINED = ("the", "dog", "left", "blorp")  # the last is in no table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A toy table in which animals lie near one another, and vehicles do."""
    torch.manual_seed(0)
    centre = {**dict.fromkeys(ANIMALS, torch.randn(12)), **dict.fromkeys(VEHICLES, torch.randn(12))}
    vectors = [centre.get(word, torch.randn(12)) + 0.2 * torch.randn(12) for word in LISTED]
    WordTable.of_vectors(LISTED, torch.stack(vectors)).save(tmp_path / "words.safetensors")
    return tmp_path / "words.safetensors"


def config(table: Path | None, **more: object) -> ModelConfig:
    text = {"kind": "vectors", "embedding_width": 16, "vocabulary": list(TRAINED), **more}
    return preset("tiny", {"text": {**text, "table": None if table is None else str(table)}})


@pytest.fixture
def model(table: Path) -> Locater:
    return build(config(table), seed=0).eval()


def parts(model: Locater) -> tuple[LSTMEncoder, PretrainedEmbedding]:
    assert isinstance(model.text, LSTMEncoder)
    assert isinstance(model.text.embedding, PretrainedEmbedding)
    return model.text, model.text.embedding


def features(model: Locater, sentence: str) -> Tensor:
    """(W, D) of one sentence."""
    found: Tensor = model.text(model.read([sentence])).features[0]
    return found


def projected(embedding: PretrainedEmbedding, table: Path, word: str) -> Tensor:
    """A word's pretrained vector, by hand."""
    known = WordTable.load(table)
    found: Tensor = known.vectors()[known.words.index(word)] @ embedding.project.weight.T
    return found


def test_words_that_were_not_trained_on_are_understood_by_their_neighbours(model: Locater) -> None:
    dog, puppy, hound, truck = (features(model, f"the {word}")[1] for word in ("dog", "puppy", "hound", "truck"))
    assert not torch.equal(puppy, hound)
    assert (puppy - hound).norm() < 0.5 * (puppy - truck).norm()
    assert (puppy - dog).norm() < 0.5 * (truck - dog).norm()
    assert model.read(["the puppy left of the truck"]).notices == (
        "'the puppy left of the truck': not understood, and read as unknown words: of.",
    )


def test_it_is_the_papers_bi_lstm_over_the_vectors_of_the_words(model: Locater) -> None:
    text, embedding = parts(model)
    reference = torch.nn.LSTM(16, 16, bidirectional=True, batch_first=True)
    reference.load_state_dict(
        {
            **text.forwards.state_dict(),
            **{f"{name}_reverse": value for name, value in text.backwards.state_dict().items()},
        }
    )
    tokens = model.read(["the left puppy"])
    alone = text.norm(reference(embedding(tokens.numbers[:, :3]))[0])[0]
    torch.testing.assert_close(features(model, "the left puppy")[:3], alone, rtol=1e-5, atol=1e-5)


def test_a_word_is_its_pretrained_vector_plus_what_was_learned_of_it(model: Locater, table: Path) -> None:
    _, embedding = parts(model)

    def of(word: str) -> Tensor:
        return embedding(torch.tensor([embedding.vocabulary.read(word)]))[0, 0]  # type: ignore[no-any-return]

    learned = dict(zip(TRAINED, embedding.learned.weight[2:], strict=True))
    torch.testing.assert_close(of("dog"), learned["dog"] + projected(embedding, table, "dog"))
    torch.testing.assert_close(of("puppy"), projected(embedding, table, "puppy"))
    torch.testing.assert_close(of("blorp"), learned["blorp"])
    torch.testing.assert_close(of("zorblax"), embedding.learned.weight[1])
    assert not embedding(torch.tensor([[0]])).any()  # padding


def test_a_trained_form_starts_from_the_vector_of_its_base_form(table: Path) -> None:
    _, embedding = parts(build(config(table, vocabulary=["puppies"]), seed=0).eval())
    (number,) = embedding.vocabulary.read("puppies")
    found = embedding(torch.tensor([[number]]))[0, 0] - embedding.learned.weight[2]
    torch.testing.assert_close(found, projected(embedding, table, "puppy"))


@pytest.mark.parametrize(("forget", "share"), [(0.0, 0.0), (0.3, 0.3), (1.0, 1.0)])
def test_in_training_words_forget_what_was_learned_of_them(table: Path, forget: float, share: float) -> None:
    _, embedding = parts(build(config(table, forget=forget), seed=0))
    numbers = torch.tensor(embedding.vocabulary.read("dog") * 4000).view(100, 40)
    is_forgotten = torch.isclose(embedding.train()(numbers), projected(embedding, table, "dog"), atol=1e-6).all(-1)
    assert is_forgotten.float().mean().item() == pytest.approx(share, abs=0.03)
    assert not torch.isclose(embedding.eval()(numbers), projected(embedding, table, "dog"), atol=1e-6).all(-1).any()
    # A word without a pretrained vector has nothing else to be read by.
    own = torch.tensor(embedding.vocabulary.read("blorp") * 200).view(1, 200)
    assert torch.equal(embedding.train()(own), embedding.eval()(own))


def test_the_table_is_frozen_and_all_else_learns(model: Locater) -> None:
    text, embedding = parts(model.train())
    text(text.tokenize(["the blorp left", "puppy"])).features.square().sum().backward()
    learning = {name for name, parameter in text.named_parameters() if parameter.grad is not None}
    assert learning == {name for name, _ in text.named_parameters()}
    assert not learning & {"embedding.codes", "embedding.scales"}
    gradient = embedding.learned.weight.grad
    assert gradient is not None
    assert not gradient[0].any()  # words that only the table has share nothing that is learned
    assert gradient[2:].any(1).tolist()[TRAINED.index("blorp")]


def test_forms_and_compounds_are_read_without_a_notice(model: Locater) -> None:
    assert torch.equal(features(model, "the puppies"), features(model, "the puppy"))
    assert torch.equal(features(model, "the HÉRON's"), features(model, "the héron"))
    read = model.read(["the puppy-van left"])
    assert read.notices == ()
    assert read.words == (("the", "puppy-van", "left"),)
    assert read.word_of_token[0, :5].tolist() == [0, 1, 1, 2, -1]
    assert torch.equal(features(model, "puppyvan"), features(model, "puppy van"))


def test_words_of_several_parts_take_the_room_of_several(table: Path) -> None:
    model = build(config(table, max_words=4), seed=0).eval()
    read = model.read(["dog puppy-van left", "dog-puppy-van-car-truck left"])
    assert read.words == (("dog", "puppy-van", "left"), ("dog-puppy-van-car-truck",))
    assert read.word_of_token.tolist() == [[0, 1, 1, 2], [0, 0, 0, 0]]
    assert "only the first 1 words are read" in read.notices[0]


def test_the_training_text_sets_the_learned_words(table: Path) -> None:
    found = with_vocabulary(config(table, vocabulary=[]), ["the dog", "a dog"])
    assert isinstance(found.text, VectorsConfig)
    assert found.text.vocabulary == ("a", "dog", "the")


def test_without_a_table_it_knows_its_trained_words_alone() -> None:
    model = build(config(None), seed=0)
    assert model.text.unknown(["the", "dogs", "puppy"]) == ["puppy"]


def masks(model: Locater) -> Tensor:
    words = model.text(model.read(["the puppy left", "blorp trucks"]))
    torch.manual_seed(1)
    clip = model.fuse(model.visual(torch.rand(1, 2, 3, 64, 64)), torch.zeros(1, 2, 2), words)
    return model.step(clip.frame(0), words, model.initial_state(words))[0].logits


@torch.no_grad()
@pytest.mark.parametrize("half", [False, True])
def test_words_and_vectors_travel_inside_the_checkpoint(
    model: Locater, table: Path, tmp_path: Path, half: bool
) -> None:
    save_pretrained(model, tmp_path / "c", half=half)
    table.unlink()
    loaded = from_pretrained(tmp_path / "c")
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"README.md", "config.json", "model.safetensors"}
    assert load_file(tmp_path / "c" / "model.safetensors")["text.embedding.codes"].dtype == torch.int8
    (_, ours), (_, theirs) = parts(model), parts(loaded)
    assert theirs.vocabulary.words == ours.vocabulary.words == (*LISTED, *TRAINED)
    for name in ("codes", "scales", "letters", "trained_rows"):
        assert torch.equal(getattr(theirs, name), getattr(ours, name))
    if half:  # the learned weights are rounded once, and then no more
        model = loaded
        save_pretrained(model, tmp_path / "again", half=True)
        loaded = from_pretrained(tmp_path / "again")
    assert torch.equal(masks(loaded), masks(model))
    assert torch.equal(features(loaded, "puppies"), features(model, "puppies"))


@pytest.mark.parametrize(
    ("damage", "told"),
    [("missing", "missing text.embedding.codes"), ("cut", "misshapen text.embedding.codes"), ("words", "is damaged")],
)
def test_a_checkpoint_with_half_a_table_is_refused(model: Locater, tmp_path: Path, damage: str, told: str) -> None:
    save_pretrained(model, tmp_path / "c")
    path = tmp_path / "c" / "model.safetensors"
    tensors = load_file(path)
    if damage == "missing":
        del tensors["text.embedding.codes"]
    elif damage == "cut":
        tensors["text.embedding.codes"] = tensors["text.embedding.codes"][:-1].clone()
    else:
        tensors["text.embedding.letters"] = torch.full_like(tensors["text.embedding.letters"], ord("a"))
    save_file(tensors, path)
    with pytest.raises(LocaterError, match=told) as error:
        from_pretrained(tmp_path / "c")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("load", [load_to_go_on, load_what_fits])
def test_other_training_text_takes_over_the_table_and_what_was_learned(
    model: Locater, tmp_path: Path, load: Callable[[Locater, Path], None]
) -> None:
    """Without the table's file: a checkpoint has a copy of its own, and new words have their places in it."""
    save_pretrained(model, tmp_path / "start")
    later = with_table_of(config(None, vocabulary=["blorp", "dog", "puppies", "the", "zorblax"]), tmp_path / "start")
    going_on = build(later, seed=1).eval()
    load(going_on, tmp_path / "start")
    for sentence in ("the dog", "the blorp dog", "the van"):  # trained words, and one that only the table has
        torch.testing.assert_close(features(going_on, sentence), features(model, sentence))
    embedding = parts(going_on)[1]
    rows = dict(zip(embedding.trained.words, embedding.trained_rows[2:].tolist(), strict=True))
    assert rows["puppies"] == 1 + LISTED.index("puppy") and rows["zorblax"] == 0


def test_a_table_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="There is no word table"):
        build(config(tmp_path / "none.safetensors"))


def test_the_encoder_is_exported_as_it_is(model: Locater, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from locater.export.graphs import graphs_of
    from locater.export.onnx_files import write_graph

    graph = graphs_of(model)[0]
    example = model.read(["the dog"])
    write_graph(graph, {"numbers": example.numbers, "word_of_token": example.word_of_token}, tmp_path / "text.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "text.onnx")
    for sentence in ("the blorp left of puppies", "zorblax", "van-truck"):
        tokens = model.read([sentence])
        feed = {"numbers": tokens.numbers.numpy(), "word_of_token": tokens.word_of_token.numpy()}
        found = torch.from_numpy(session.run(["words"], feed)[0])
        torch.testing.assert_close(found, model.text(tokens).features.detach(), rtol=1e-4, atol=1e-4)
