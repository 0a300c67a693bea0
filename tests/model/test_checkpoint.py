"""Checkpoints: strict, whole, safe."""

import json
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import from_pretrained, load_to_go_on, load_what_fits, save_pretrained, trained_words


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": ["dog", "héron", "the"]}}), seed=0), tmp_path / "c")
    return tmp_path / "c"


def test_a_checkpoint_comes_back_whole_with_its_vocabulary(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    model, again = from_pretrained(folder), from_pretrained(str(folder))
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name])
    assert model.config.text.vocabulary == ("dog", "héron", "the")  # type: ignore[union-attr]
    assert model.text.unknown(["the", "Héron", "cat"]) == ["cat"]


def test_half_precision_is_half_the_bytes_and_loads_as_float32(folder: Path, tmp_path: Path) -> None:
    model = from_pretrained(folder)
    save_pretrained(model, tmp_path / "half", half=True)
    whole, half = ((f / "model.safetensors").stat().st_size for f in (folder, tmp_path / "half"))
    assert half < 0.6 * whole
    loaded = from_pretrained(tmp_path / "half")
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


@pytest.mark.parametrize("damage", ["missing", "extra", "misshapen"])
def test_tensors_that_do_not_fit_are_listed(folder: Path, damage: str) -> None:
    tensors = load_file(folder / "model.safetensors")
    if damage == "missing":
        del tensors["fusion.steps.0.visual_type"]
    elif damage == "extra":
        tensors["fusion.steps.0.surprise"] = torch.zeros(2)
    else:
        tensors["fusion.steps.0.visual_type"] = torch.zeros(5)
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(LocaterError, match=f"{damage} fusion.steps.0") as error:
        from_pretrained(folder)
    assert "\n" not in str(error.value)


def test_a_pickle_named_safetensors_is_refused_and_never_run(folder: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return open, (str(tmp_path / "exploded"), "w")  # type: ignore[return-value]

    (folder / "model.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(LocaterError, match="no safetensors file"):
        from_pretrained(folder)
    assert not (tmp_path / "exploded").exists()


def test_a_truncated_file_is_refused(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])
    with pytest.raises(LocaterError, match="damaged"):
        from_pretrained(folder)


def test_a_broken_or_misspelt_config_is_one_sentence(folder: Path) -> None:
    values = json.loads((folder / "config.json").read_text())
    values["memory"]["rite"] = "paper"
    (folder / "config.json").write_text(json.dumps(values))
    with pytest.raises(LocaterError, match=r"'memory\.rite' is no known setting"):
        from_pretrained(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(LocaterError, match="no JSON"):
        from_pretrained(folder)


@pytest.mark.parametrize(("name", "told"), [("paper", "is a preset"), ("no/such/place", "There is no checkpoint")])
def test_names_that_lead_nowhere_say_what_to_do(name: str, told: str) -> None:
    with pytest.raises(LocaterError, match=told):
        from_pretrained(name)


def test_the_names_of_the_first_checkpoints_are_still_read(tmp_path: Path) -> None:
    """With the names that the shipped weights have: `memory.digest` and `doings`, in the settings and the tensors."""
    memory = {"read_mlp": True, "motion_targets": 5}
    model = build(preset("tiny", {"text": {"vocabulary": ["dog", "the"]}, "memory": memory}), seed=0)
    save_pretrained(model, tmp_path / "c")
    old = {"memory.read_mlp.": "memory.digest.", "motion_targets.": "doings."}
    tensors = load_file(tmp_path / "c" / "model.safetensors")
    for present, before in old.items():
        named = [name for name in tensors if name.startswith(present)]
        assert named
        for name in named:
            tensors[before + name.removeprefix(present)] = tensors.pop(name)
    save_file(tensors, tmp_path / "c" / "model.safetensors")
    values = json.loads((tmp_path / "c" / "config.json").read_text())
    values["memory"]["digest"] = values["memory"].pop("read_mlp")
    values["memory"]["doings"] = values["memory"].pop("motion_targets")
    (tmp_path / "c" / "config.json").write_text(json.dumps(values))
    loaded = from_pretrained(tmp_path / "c")
    assert loaded.config == model.config
    own = model.state_dict()
    assert own.keys() == loaded.state_dict().keys()
    assert all(torch.equal(tensor, own[name]) for name, tensor in loaded.state_dict().items())


@pytest.mark.parametrize("is_partial", [False, True])
def test_words_of_both_keep_what_was_learned_for_them(folder: Path, is_partial: bool) -> None:
    start = from_pretrained(folder).state_dict()["text.embedding.weight"]
    assert trained_words(folder) == ("dog", "héron", "the")
    changes: dict[str, object] = {"decoder": {"presence": True}} if is_partial else {}
    for words in (("dog", "the", "zebra"), ("a", "dog", "the", "zebra")):  # as many as before, and more
        model = build(preset("tiny", {"text": {"vocabulary": words}, **changes}), seed=1)
        fresh = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        (load_what_fits if is_partial else load_to_go_on)(model, folder)
        rows = model.state_dict()["text.embedding.weight"]
        first = len(rows) - len(words)
        assert torch.equal(rows[:first], start[:first])  # padding, and what stands for unknown words
        for place, word in enumerate(words, start=first):
            known = {"dog": 0, "the": 2}.get(word)
            expected = fresh["text.embedding.weight"][place] if known is None else start[first + known]
            assert torch.equal(rows[place], expected), word
        for name, tensor in model.state_dict().items():
            if name.startswith("presence."):
                assert torch.equal(tensor, fresh[name])
        stored = load_file(folder / "model.safetensors")
        assert torch.equal(model.memory.local_start, stored["memory.local_start"])


def test_a_network_with_a_head_needs_what_fits_of_one_without(folder: Path, tmp_path: Path) -> None:
    words = {"text": {"vocabulary": ("dog", "héron", "the")}}
    model = build(preset("tiny", {**words, "decoder": {"presence": True}}), seed=1)
    with pytest.raises(LocaterError, match=r"missing presence\."):
        load_to_go_on(model, folder)
    load_what_fits(model, folder)
    save_pretrained(model, tmp_path / "headed")
    again = from_pretrained(tmp_path / "headed")
    assert again.presence is not None and again.config.decoder.presence
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name


def test_only_the_parts_that_are_named_are_taken(folder: Path) -> None:
    model = build(preset("tiny", {"text": {"vocabulary": ("dog", "héron", "the")}}), seed=1)
    fresh = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_what_fits(model, folder, ("visual", "text"))
    stored, taken = load_file(folder / "model.safetensors"), set()
    for name, tensor in model.state_dict().items():
        part = name.split(".")[0]
        assert torch.equal(tensor, (stored if part in ("visual", "text") else fresh)[name]), name
        if not torch.equal(tensor, fresh[name]):
            taken.add(part)
    assert taken == {"visual", "text"}
    with pytest.raises(LocaterError, match="no part 'encoder'; it has auxiliary, "):
        load_what_fits(model, folder, ("visual", "encoder"))


def test_saving_over_an_older_checkpoint_replaces_it(folder: Path) -> None:
    other = build(preset("tiny"), seed=7)
    save_pretrained(other, folder)
    assert torch.equal(from_pretrained(folder).memory.local_start, other.memory.local_start)
    assert not list(folder.parent.glob(".*partial"))


def test_a_hugging_face_text_encoder_travels_inside(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog"]
    sizes = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertModel(sizes).save_pretrained(tmp_path / "bert")
    BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)}).save_pretrained(tmp_path / "bert")
    config = preset("tiny", {"text": {"kind": "huggingface", "pretrained": str(tmp_path / "bert")}})
    model = build(config, seed=0).eval()
    save_pretrained(model, tmp_path / "c")
    (tmp_path / "bert").rename(tmp_path / "gone")
    loaded = from_pretrained(tmp_path / "c")
    torch.testing.assert_close(
        loaded.text(loaded.read(["the dog"])).features, model.text(model.read(["the dog"])).features
    )
