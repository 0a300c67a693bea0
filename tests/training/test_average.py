"""Averages of checkpoints through the real command."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from locater.cli import app as cli
from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.model.locater import Locater
from locater.training.average import average
from locater.training.recipe import AverageConfig

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*arguments: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["locater", "average", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert isinstance(stopped.value.code, int)
        return stopped.value.code, capsys.readouterr().err.strip()

    return ran


def network(seed: int, **changes: object) -> Locater:
    return build(preset("tiny", {"image_size": 32, "text": {"vocabulary": ["dog", "the"]}, **changes}), seed)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("a", "b")]
    for seed, folder in enumerate(made):
        model = network(seed)
        for name, buffer in model.named_buffers():
            if name.endswith("num_batches_tracked"):
                buffer.fill_(10 + seed)  # both were trained, for another number of steps
        save_pretrained(model, folder)
    return made


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def test_weights_are_normalised_and_a_part_may_have_its_own(run: Run, folders: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    parts = ("--part", "text=0,1", "--part", "memory=1,1", "--part", "memory.time=1,0")
    assert run(*folders, "--weights", "1.4,0.6", *parts, "--out", out) == (0, "")
    first, second, mean = (tensors(folder) for folder in (*folders, out))
    assert (out / "config.json").read_text() == (folders[0] / "config.json").read_text()
    for name, tensor in mean.items():
        if name.endswith("num_batches_tracked"):
            assert tensor == 11
        elif name.startswith("text."):
            assert torch.equal(tensor, second[name]), name
        elif name.startswith("memory.time."):
            assert torch.equal(tensor, first[name]), name
        else:
            share = 0.5 if name.startswith("memory.") else 0.7
            torch.testing.assert_close(tensor, share * first[name] + (1 - share) * second[name])
    assert not torch.equal(first["text.embedding.weight"], second["text.embedding.weight"])


def test_without_weights_all_weigh_the_same_and_half_is_as_shipped(run: Run, tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        save_pretrained(network(seed, refiner={"enlarged": 1.0}), tmp_path / str(seed))
    assert run(*(tmp_path / str(seed) for seed in (0, 1, 2)), "--half", "--out", tmp_path / "out")[0] == 0
    stored = tensors(tmp_path / "out")
    assert any(name.startswith("refiner.") and tensor.dtype == torch.int8 for name, tensor in stored.items())
    name = "fusion.steps.0.joint.mlp.0.weight"
    expected = sum(tensors(tmp_path / str(seed))[name] for seed in (0, 1, 2)) / 3
    assert stored[name].dtype == torch.float16
    torch.testing.assert_close(from_pretrained(tmp_path / "out").state_dict()[name], expected, rtol=1e-3, atol=1e-4)


def test_a_shipped_name_averaged_with_itself_is_itself(run: Run, tmp_path: Path) -> None:
    assert run("shapes", "shapes", "--weights", "1,3", "--out", tmp_path / "out")[0] == 0
    ours, theirs = from_pretrained(tmp_path / "out").state_dict(), from_pretrained("shapes").state_dict()
    for name, tensor in theirs.items():
        torch.testing.assert_close(ours[name], tensor, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("{a}", "--weights", "1"), "at least 2"),
        (("{a}", "{b}", "--weights", "0.7"), "weights has to be 2 numbers, not all of them 0"),
        (("{a}", "{b}", "--weights", "0,0"), "weights has to be 2 numbers, not all of them 0"),
        (("{a}", "{b}", "--weights", "1,-1"), "greater than or equal to 0"),
        (("{a}", "{b}", "--weights", "1,nan"), "finite"),
        (("{a}", "{b}", "--weights", "half"), "'half' is no list of weights"),
        (("{a}", "{b}", "--part", "text"), "'' is no list of weights"),
        (("{a}", "{b}", "--part", "txt=1,0"), "no part 'txt' to be averaged by itself; they have visual, text,"),
        (("{a}", "shapes"), "differ in "),
        (("{a}", "{other}"), "differ in text.vocabulary; only checkpoints of one config, vocabulary included"),
        (("{a}", "nowhere"), "There is no checkpoint 'nowhere'"),
    ],
)
def test_what_cannot_be_averaged_is_one_sentence(
    arguments: tuple[str, ...], told: str, run: Run, folders: list[Path], tmp_path: Path
) -> None:
    save_pretrained(network(0, text={"vocabulary": ["cat", "the"]}), tmp_path / "other")
    names = {"a": folders[0], "b": folders[1], "other": tmp_path / "other"}
    code, said = run(*(each.format(**names) for each in arguments), "--out", tmp_path / "out")
    assert code == 2 and said.startswith("Error: ") and "\n" not in said
    assert told in said
    assert not (tmp_path / "out").exists()


def test_whole_numbers_that_differ_have_no_mean() -> None:
    """Of networks with word vectors: a table's codes are int8."""
    text = {"kind": "vectors", "words": 3, "vector_width": 4, "letters": 9, "vocabulary": ["dog"]}
    models = [network(seed, text=text) for seed in (0, 1)]
    config = AverageConfig(of=("a", "b"), weights=(0.5, 0.5))
    whole = next(buffer for buffer in models[1].text.buffers() if buffer.dtype == torch.int8)
    whole.add_(1)
    with pytest.raises(LocaterError, match=r"a and b differ in text\.embedding\.\w+, whole numbers that have no mean"):
        average(models, config)
