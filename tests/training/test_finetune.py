"""Fine-tuning on a folder: what is held out, what is kept, and that nothing known is lost on the way."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState
from PIL import Image

from locater.config import preset
from locater.datasets.folder import FolderDataset
from locater.errors import LocaterError
from locater.inference.demo import demo_clip
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.model.checkpoint import from_pretrained, save_pretrained, with_words_of
from locater.model.locater import Locater
from locater.records import Mask
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.held_out import held_out
from locater.training.finetune import command
from locater.training.finetune.blending import blend, blended
from locater.training.finetune.settings import settings_for
from locater.training.metrics_log import mean_score, read_events
from locater.training.trainer import Trainer
from locater.training.validation import validate
from locater.video.reader import open_source
from tests.support.command_line.running import run_main
from tests.support.evaluating.command import tiny_checkpoint

SIDE, FRAMES = 48, 12


@pytest.fixture(autouse=True)
def fresh_accelerate() -> Iterator[None]:
    """accelerate keeps one state per process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def square(index: int, left: int) -> Mask:
    mask = np.zeros((SIDE, SIDE), np.bool_)
    mask[14:34, left + index : left + 20 + index] = True
    return mask


def own_folder(root: Path, videos: int = 2, splits: tuple[str, ...] = ("",)) -> Path:
    """Clips of a red square that walks over grey, called by a name of its own in each."""
    rows = []
    for number in range(videos):
        name = f"clip{number}"
        (root / "videos" / name).mkdir(parents=True)
        (root / "masks" / name / "thing").mkdir(parents=True)
        for index in range(FRAMES):
            mask = square(index, 2 + 4 * (number % 3))
            pixels = np.where(mask[..., None], (220, 30, 30), (90, 90, 90)).astype(np.uint8)
            Image.fromarray(pixels).save(root / "videos" / name / f"{index:05d}.png")
            Image.fromarray(mask).save(root / "masks" / name / "thing" / f"{index:05d}.png")
        rows.append([name, "Zorblax the red", "thing", splits[number % len(splits)]])
    with (root / "sentences.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["video", "expression", "object", "split"], *rows])
    return root


def test_of_two_clips_the_last_quarter_in_one_piece_is_held_out(tmp_path: Path) -> None:
    parted = held_out(FolderDataset(own_folder(tmp_path)), seed=0)
    for dataset, frames in ((parted.training, range(9)), (parted.validation, range(9, 12))):
        assert [info.video for info in dataset.samples()] == ["clip0", "clip1"]
        for info in dataset.samples():
            masks = dataset.load(info).masks
            assert sorted(masks) == list(frames) and len(masks) == len(frames)
            assert all(index in masks for index in frames) and (5 in masks) != (10 in masks)
            assert np.array_equal(masks[frames[0]], square(frames[0], 2 + 4 * int(info.video[-1])))
    with pytest.raises(KeyError):
        parted.training.load(parted.training.samples()[0]).masks[11]


def test_of_many_videos_whole_ones_are_held_out_and_the_seed_decides_which(tmp_path: Path) -> None:
    folder = FolderDataset(own_folder(tmp_path, videos=10))
    chosen = set()
    for seed in range(8):
        parted = held_out(folder, seed)
        learned, held = ({info.video for info in part.samples()} for part in (parted.training, parted.validation))
        assert len(held) == 2 and len(learned) == 8 and not learned & held
        chosen |= held
    assert len(chosen) > 2


def test_a_split_of_the_table_goes_before_and_holds_out_its_own_lines_alone(tmp_path: Path) -> None:
    parted = held_out(FolderDataset(own_folder(tmp_path / "a", 6, ("train", "valid", ""))), seed=0)
    learned, held = ([info.video for info in part.samples()] for part in (parted.training, parted.validation))
    assert held == ["clip1", "clip4"]  # lines without a split belong to both, and are learned from
    assert learned == ["clip0", "clip2", "clip3", "clip5"]


def test_a_folder_without_masks_is_one_sentence(tmp_path: Path) -> None:
    root = own_folder(tmp_path)
    (root / "masks").rename(root / "elsewhere")
    with pytest.raises(LocaterError, match="no masks to learn from"):
        held_out(FolderDataset(root), seed=0)


def test_with_too_few_masks_the_report_says_that_nothing_was_held_out(tmp_path: Path) -> None:
    root = own_folder(tmp_path)
    for path in root.glob("masks/*/*/*.png"):
        if int(path.stem) > 1:
            path.unlink()
    parted = held_out(FolderDataset(root), seed=0)
    assert "learned from" in parted.how and parted.validation.samples() == parted.training.samples()


def test_the_least_change_that_helps_is_taken() -> None:
    start, tuned = (build(preset("tiny", {"text": {"vocabulary": ["dog"]}}), seed) for seed in (0, 1))
    name = next(
        name
        for name, parameter in start.named_parameters(prefix="")
        if name.startswith("fusion.") and parameter.ndim > 1
    )
    first, last = start.get_parameter(name).detach(), tuned.get_parameter(name).detach()

    def share_of(model: Locater) -> float:
        return float(((model.get_parameter(name).detach() - first) / (last - first)).mean())

    curve = {0.0: 0.2, 0.25: 0.5, 0.5: 0.79, 0.75: 0.8, 1.0: 0.6}
    found = blend(start, tuned, (curve[0.0], curve[1.0]), lambda model: curve[round(4 * share_of(model)) / 4])
    assert found.share == 0.5 and found.scores == curve
    assert share_of(found.model) == pytest.approx(0.5, abs=1e-3)
    rows = (each.state_dict()["text.embedding.weight"] for each in (found.model, tuned))
    assert torch.equal(*rows)
    useless = blend(start, tuned, (0.3, 0.31), lambda model: 0.3 + 0.01 * share_of(model))
    assert useless.share == 0.0
    assert all(torch.equal(a, b) for a, b in zip(useless.model.parameters(), start.parameters(), strict=True))
    assert torch.equal(blended(start, tuned, 1.0).get_parameter(name), last)


@pytest.mark.slow
def test_the_command_learns_a_new_name_and_keeps_the_old_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root, start, out = own_folder(tmp_path / "mine"), tiny_checkpoint(tmp_path / "start"), tmp_path / "out"
    settings = ["training.steps=80", "training.learning_rate=0.003", "training.rates={visual: 1.0}",
                "training.warmup_steps=0", "training.flip=0.0"]  # fmt: skip
    words = ["finetune", root, "--out", out, "--start", start, *(part for each in settings for part in ("--set", each))]
    ran = run_main(monkeypatch, capfd, *words)
    assert ran.code == 0, ran.err
    with (out / "per_sentence.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["held_out_frames"] for row in rows] == ["3", "3"]
    before, after = (np.mean([float(row[f"j_{when}"]) for row in rows]) for when in ("before", "after"))
    assert after > before + 0.3, ran.out
    tuned, first = from_pretrained(out / "checkpoint"), from_pretrained(start)
    assert tuned.text.unknown(["zorblax", "red", "circle"]) == [] and first.text.unknown(["zorblax"]) == ["zorblax"]
    events = read_events(out / "training" / "metrics.jsonl")
    scores = {event["step"]: mean_score(event["validation"]) for event in events if "validation" in event}
    assert len(scores) == 5 and min(scores) == 0
    page = (out / "report.html").read_text("utf-8")
    assert page.count("data:image/jpeg;base64,") == 2 and "Zorblax the red" in page and "<polyline" in page

    weights = (out / "checkpoint" / "model.safetensors").read_bytes()
    log = out / "training" / "metrics.jsonl"
    whole = log.read_text()
    with log.open("a") as file:  # as a kill leaves it: past the last state, and cut off
        file.write(json.dumps({"step": 99, "validation": {"all": 1.0}}) + "\n" + '{"step": 100, "vali')
    again = run_main(monkeypatch, capfd, *words)  # a finished run is reported again, not trained again
    assert log.read_text() == whole
    assert again.out == ran.out and (out / "checkpoint" / "model.safetensors").read_bytes() == weights
    other = run_main(monkeypatch, capfd, *words, "--seed", 1)
    assert "holds another fine-tuning" in other.error


def test_the_checkpoint_with_the_best_validation_is_kept(tmp_path: Path) -> None:
    folder = FolderDataset(own_folder(tmp_path / "mine"))
    model = with_words_of(tiny_checkpoint(tmp_path / "start"), ["Zorblax the red"])
    changes = {"steps": 6, "learning_rate": 1.0, "warmup_steps": 0, "validate_every": 1}  # far too high: up and down
    settings = settings_for(model.config, frozenset({"visual"}), "cpu", 2, changes)
    data = DatasetData(folder, folder, 64, settings)
    Trainer(model, data, settings, tmp_path / "out").run()
    events = [event for event in read_events(tmp_path / "out" / "metrics.jsonl") if "validation" in event]
    scores = [mean_score(event["validation"]) for event in events]
    assert len(scores) == 7 and len(set(scores)) > 1
    best, last = (
        validate(from_pretrained(tmp_path / "out" / name), data, 8, torch.device("cpu"), "no", False, False).scores
        for name in ("best", "checkpoint")
    )
    assert mean_score(best) == pytest.approx(max(scores)) and mean_score(last) == pytest.approx(scores[-1])


@pytest.mark.parametrize(("changes", "asked"), [([], 1), (["training.rehearsed=3"], 3), (["training.rehearsed=0"], 0)])
def test_how_much_is_rehearsed_is_a_setting(
    changes: list[str], asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = []

    def seen(trainer: Trainer, *_: object) -> None:
        learned.append(trainer.data)
        raise LocaterError("seen")

    monkeypatch.setattr(Trainer, "run", seen)
    start = str(tiny_checkpoint(tmp_path / "start"))
    request = command.FinetuneRequest(own_folder(tmp_path / "mine"), tmp_path / "out", start, changes)
    with pytest.raises(LocaterError, match="seen"):
        command.finetune(request)
    batch = learned[0].draw(learned[0].plan([0], 0.0), torch.device("cpu"))
    assert len(batch.expressions) == len(batch.masks) == 1 + asked


def test_settings_of_the_network_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root = own_folder(tmp_path / "mine")
    ran = run_main(monkeypatch, capfd, "finetune", root, "--out", tmp_path / "out", "--set", "memory.write=sum",
                   "--start", tiny_checkpoint(tmp_path / "start"))  # fmt: skip
    assert "keeps the network as it is" in ran.error and not (tmp_path / "out").exists()


def test_a_gpu_gets_longer_clips_and_more_steps() -> None:
    parts = frozenset({"visual", "text.embedding.learned", "fusion", "fusion.norm"})
    cpu, gpu = (settings_for(preset("tiny"), parts, device, 5, {}) for device in ("cpu", "cuda"))
    assert (cpu.steps, gpu.steps) == (60, 150) and gpu.clip_frames > cpu.clip_frames
    assert cpu.rates == gpu.rates == {"visual": 0.0, "fusion.norm": 0.0, "text.embedding.learned": 10.0}
    assert settings_for(preset("tiny"), parts, "cpu", 500, {}).steps == 160
    assert settings_for(preset("tiny"), parts, "cpu", 5, {"steps": 7, "rates": {}}).rates == {}


@pytest.mark.slow
def test_default_gives_the_same_masks_after_a_step_at_a_tiny_rate(tmp_path: Path) -> None:
    """Words that the start knows stay known, on the checkpoint that people tune."""
    clip = demo_clip()
    frame = next(iter(open_source(clip.path).frames())).pixels
    for name in ("videos/cafe", "masks/cafe/oskar"):
        (tmp_path / "mine" / name).mkdir(parents=True)
    Image.fromarray(frame).save(tmp_path / "mine/videos/cafe/00000.png")
    Image.fromarray(clip.truths[0][0]).save(tmp_path / "mine/masks/cafe/oskar/00000.png")
    (tmp_path / "mine/sentences.csv").write_text("video,expression,object\ncafe,Oskar the zorblax dog,oskar\n")
    dataset = FolderDataset(tmp_path / "mine")
    model = with_words_of("default", [info.expression for info in dataset.samples()])
    changes = {"steps": 1, "learning_rate": 1e-9, "batch_size": 1, "clip_frames": 1, "image_size": 96,
               "keep_best": False, "validation_videos": 0}  # fmt: skip
    parts = frozenset({"visual", "refiner", "fusion.norm", "text.embedding.learned"})
    settings = settings_for(model.config, parts, "cpu", 1, changes)
    Trainer(model, DatasetData(dataset, None, 96, settings), settings, tmp_path / "out").run()
    sentences = ["the dog", "the cat on the left", "the cat on the right"]
    tuned, start = (
        next(iter(Segmenter(each, "cpu").segment([frame], sentences)))
        for each in (from_pretrained(tmp_path / "out" / "checkpoint"), from_pretrained("default"))
    )
    assert start.masks[1].any() and start.masks[2].any()
    assert np.array_equal(tuned.masks, start.masks)


def test_new_words_begin_as_they_were_read(tmp_path: Path) -> None:
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": ["dog", "the"]}}), 0), tmp_path / "plain")
    model, start = with_words_of(tmp_path / "plain", ["the zorblax dog"]), from_pretrained(tmp_path / "plain")
    assert model.config.text.vocabulary == ("dog", "the", "zorblax")  # type: ignore[union-attr]
    known = model.text(model.read(["the dog"])).features, start.text(start.read(["the dog"])).features
    assert torch.equal(*known)
    told = with_words_of("default", ["Oskar the zorblax dog in a snowmobile"])
    first = from_pretrained("default")
    assert told.text.unknown(["zorblax"]) == [] and first.text.unknown(["zorblax"]) == ["zorblax"]
    for sentence in ("Oskar", "the zorblax dog", "a snowmobile", "the dog on the left"):
        ours, theirs = (each.text(each.read([sentence])).features for each in (told, first))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
