"""Rehearsal: the start's own answers to words that the data does not teach, beside what the data asks."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch

from locater.config import TrainingConfig, preset
from locater.datasets.folder import FolderDataset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import save_pretrained, with_words_of
from locater.model.locater import Locater
from locater.records import Batch
from locater.text.mirror import mirror_sentence
from locater.text.words import Vocabulary
from locater.training.command import train_preset
from locater.training.data.batches import TrainingData, mirrored
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.mixture import MixedData, Part
from locater.training.data.rehearsal import RehearsingData, rehearsing_seldom, rehearsing_trained, table_of
from locater.training.data.world import WorldData
from locater.training.finetune.settings import settings_for
from locater.worlds.shapes import shapes_batches
from tests.support.recognising import recognising
from tests.training.test_finetune import own_folder

CPU = torch.device("cpu")
KNOWN = ["the", "red", "dog", "cat", "running", "left", "on", "zorblax"]
STILLS = TrainingConfig(
    clip_frames=1, global_frames=0, clip_strides=(0,), is_fine=False, sentences=2, rehearsed=3
)  # three more sentences to each clip


@pytest.fixture
def start() -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": KNOWN}}), 0).eval()


def data_of(root: Path, start: Locater, asked: int = 1) -> RehearsingData:
    folder = FolderDataset(own_folder(root))
    settings = settings_for(start.config, frozenset({"visual"}), "cpu", 2, {"steps": 1, "rehearsed": asked})
    found = rehearsing_trained(DatasetData(folder, folder, 64, settings), start, settings, CPU)
    assert isinstance(found, RehearsingData)
    return found


def drawn(data: RehearsingData, numbers: list[int], progress: float = 0.0) -> Batch:
    return data.draw(data.plan(numbers, progress), CPU)


def others_of(data: RehearsingData, numbers: list[int], own: int = 1) -> list[str]:
    """What the clips are asked beside their own sentences."""
    batch = drawn(data, numbers)
    rows = len(batch.expressions) // len(numbers)
    return [text for place, text in enumerate(batch.expressions) if place % rows >= own]


def test_each_clip_is_asked_for_other_things_and_the_start_answers(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    assert set(data.known) == {"dog", "cat", "left"}  # not what the folder says, nor what names nothing
    batch = drawn(data, [0, 5])
    plain = data.data.plan([0, 5], 0.0)
    assert len(batch.expressions) == len(batch.masks) == len(batch.is_annotated) == 4
    assert torch.equal(batch.masks[::2], plain.masks) and torch.equal(batch.is_annotated[::2], plain.is_annotated)
    assert batch.expressions[::2] == plain.expressions
    others = batch.expressions[1::2]
    assert {word for text in others for word in text.split()} <= {"the", *KNOWN}
    assert all(set(text.split()) & set(data.known) for text in others)
    with torch.no_grad():
        said = start(batch.frames[1:], batch.times[1:], batch.global_frames[1:], batch.global_times[1:],
                     start.read(others[1:]), is_fine=False, is_refined=False).logits.sigmoid()  # fmt: skip
    theirs = torch.nn.functional.interpolate(said, size=(64, 64), mode="bilinear")
    # Logits are brought to size, then made likelihoods; the other way round is near.
    torch.testing.assert_close(batch.masks[3:], theirs, rtol=0, atol=0.05)
    assert batch.is_annotated[1::2].all()


def test_a_clips_number_decides_what_else_it_is_asked_for(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    assert others_of(data, [3, 4]) == others_of(data, [3]) + others_of(data, [4])
    assert len({text for number in range(30) for text in others_of(data, [number])}) > 5


def test_sentences_also_say_how_things_look_and_what_they_do(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start, asked=2)
    asked = others_of(data, list(range(30)))
    assert len(asked) == 60
    running = [text for text in asked if " running" in text]
    assert 0.3 < len(running) / len(asked) < 0.7
    assert any(text.startswith("the red ") for text in asked)
    assert not any("walking" in text for text in asked)  # a word that this start does not know


def test_validation_asks_what_the_folder_says_alone(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    batch = data.draw(data.validation("all", [0, 1]), CPU)
    assert len(batch.expressions) == 2 and data.kinds == ["all"] and data.clip_count == 2


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"is_fine": False}, (False, False, None)),
        ({"is_fine": True}, (True, True, None)),
        ({"is_fine": True, "is_refined": False, "precision": "bf16"}, (True, False, torch.bfloat16)),
        ({"is_fine": True, "precision": "fp16"}, (True, True, torch.float16)),
    ],
)
def test_the_start_is_asked_as_the_network_that_learns_is(
    changes: dict[str, object], expected: tuple[object, ...], start: Locater, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else masks with edges would be taught by ones without."""
    asked = []

    def watched(_: Locater, frames: torch.Tensor, *__: object, is_fine: bool, is_refined: bool) -> SimpleNamespace:
        dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else None
        asked.append((is_fine, is_refined, dtype))
        return SimpleNamespace(logits=torch.zeros(STILLS.rehearsed, frames.shape[1], 8, 8))

    monkeypatch.setattr(Locater, "forward", watched)
    settings = STILLS.model_copy(update=changes)
    data = RehearsingData(WorldData(shapes_batches(), 64, STILLS, 5), start, ["dog"], lambda *_: (), settings)
    drawn(data, [0])
    assert asked == [expected]


def test_mirrored_clips_keep_their_sentences(tmp_path: Path, start: Locater) -> None:
    batch = drawn(data_of(tmp_path, start), list(range(8)))
    flipped = mirrored(batch, 0, 1.0)
    assert torch.equal(flipped.masks, batch.masks.flip(-1))
    assert flipped.expressions == tuple(map(mirror_sentence, batch.expressions)) != batch.expressions
    halves = mirrored(batch, 0, 0.5)
    is_flipped = torch.tensor([not torch.equal(*pair) for pair in zip(halves.frames, batch.frames, strict=True)])
    assert is_flipped.any() and not is_flipped.all()
    for place, text in enumerate(batch.expressions):  # each clip's own two
        assert halves.expressions[place] == (mirror_sentence(text) if is_flipped[place // 2] else text)


def test_kin_of_a_folder_are_the_known_words_nearest_in_meaning(tmp_path: Path) -> None:
    save_pretrained(recognising(tmp_path, ("the", "red", "car", "tench", "zorblax")), tmp_path / "plain")
    start = with_words_of(tmp_path / "plain", ["the car", "the tench"])
    data = data_of(tmp_path / "mine", start)
    assert set(data.known) == {"car", "tench"} and set(data.kin(Random(0), [])) == {"car", "tench"}


def test_a_start_without_words_of_its_own_is_tuned_as_it_is(tmp_path: Path) -> None:
    start = build(preset("tiny", {"text": {"vocabulary": ["the", "red", "zorblax"]}}), 0)
    folder = FolderDataset(own_folder(tmp_path))
    settings = settings_for(start.config, frozenset({"visual"}), "cpu", 2, {"steps": 1})
    data = DatasetData(folder, folder, 64, settings)
    assert rehearsing_trained(data, start, settings, CPU) is data


class Counted(WorldData):
    """The shapes world, which knows how many pictures it has of some names."""

    def pictures(self) -> Mapping[str, int]:
        return {"star": 500, "tench": 3, "striped bass": 0}


def rehearsing(data: TrainingData, start: Locater, asked: int = 3) -> RehearsingData:
    found = rehearsing_seldom(data, start, STILLS.model_copy(update={"rehearsed": asked}), CPU)
    assert isinstance(found, RehearsingData)
    return found


def test_what_is_never_said_is_rehearsed_where_nobody_counts_pictures(tmp_path: Path) -> None:
    start = recognising(tmp_path, ("the", "red", "star", "tench", "flamingo", "car", "quickly")).eval()
    world = WorldData(shapes_batches(), 64, STILLS, 5)
    data = rehearsing(world, start)
    assert set(data.known) == {"tench", "flamingo", "car"}  # not what the world says, nor "quickly"
    batch, plain = drawn(data, [7, 8]), world.draw(world.plan([7, 8], 0.0), CPU)
    assert len(batch.frames) == 2 and len(batch.expressions) == len(batch.masks) == 2 * (2 + 3)
    assert [*batch.expressions[0:2], *batch.expressions[5:7]] == list(plain.expressions)
    assert torch.equal(torch.cat([batch.masks[0:2], batch.masks[5:7]]), plain.masks)
    taught = set(Vocabulary.of_text(world.words()).words)
    assert not any(taught & {text.split()[-1]} for text in others_of(data, list(range(20)), own=2))


def test_what_few_pictures_show_is_rehearsed_though_it_is_said(tmp_path: Path) -> None:
    """Else what a pack names as absent and hardly shows is learned never to be there."""
    start = recognising(tmp_path, ("the", "star", "stars", "disc", "tench", "flamingo")).eval()
    data = rehearsing(Counted(shapes_batches(), 64, STILLS, 5), start)
    assert data.known == ("tench",)  # a star is often seen, and of "striped bass" the start has no word
    near = {name for _ in range(20) for name in data.kin(Random(0), ["the small star"])}
    assert near == {"disc", "tench", "flamingo"}  # nor many of what is often seen


def test_many_of_what_is_often_shown_are_taught_however_they_are_called(tmp_path: Path) -> None:
    class OftenShown(WorldData):
        def pictures(self) -> Mapping[str, int]:
            return {"man": 500, "knife": 40, "fire bus": 40, "tench": 3}

    start = recognising(tmp_path, ("the", "men", "knives", "buses", "disc", "tench", "mice")).eval()
    data = rehearsing(OftenShown(shapes_batches(), 64, STILLS, 5), start)
    near = {name for _ in range(20) for name in data.kin(Random(0), ["the small star"])}
    assert near == {"disc", "tench", "mice"}


def test_each_part_of_a_mixture_teaches_as_it_would_alone(tmp_path: Path) -> None:
    """Else what a dataset says would be rehearsed as never taught, once another part counts pictures."""

    class Fish(WorldData):
        def words(self) -> list[str]:
            return ["the", "trout", "tench"]

    start = recognising(tmp_path, ("the", "star", "disc", "trout", "tench", "bass", "striped", "flamingo")).eval()
    parts = [Part(kind.__name__, kind(shapes_batches(), 64, STILLS, 5), 1.0, is_drawn=True) for kind in (Counted, Fish)]
    data = rehearsing_seldom(MixedData(parts), start, STILLS, CPU)
    assert isinstance(data, MixedData)
    for part in data.parts:
        assert isinstance(part.data, RehearsingData)
        assert part.data.known == ("striped bass",)  # of a tench the other part has sentences
        near = {name for _ in range(20) for name in part.data.kin(Random(0), ["the small star"])}
        assert near == {"striped bass", "disc", "bass", "flamingo"}


def test_kin_of_a_clip_are_near_in_meaning_to_what_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("locater.training.data.rehearsal.KIN_OF_ONE", 1)
    start = recognising(tmp_path, ("the", "star", "disc", "tench", "flamingo", "goldfish")).eval()
    data = rehearsing(WorldData(shapes_batches(), 64, STILLS, 5), start)
    embedding = table_of(start)
    likeness = {word: float(embedding.meaning("star") @ embedding.meaning(word)) for word in data.known}
    nearest = max(likeness, key=lambda word: likeness[word])
    assert data.kin(Random(0), ["the small star on the left"]) == [nearest]
    assert data.kin(Random(0), ["that one"]) == ()  # which names nothing


def test_a_clip_of_a_mixture_is_asked_the_same_whoever_its_neighbours_are(tmp_path: Path) -> None:
    """Else what two processes learn would differ from what one does."""
    start = recognising(tmp_path, ("the", "tench", "flamingo", "goldfish", "car", "disc", "star")).eval()
    parts = [Part(name, WorldData(shapes_batches(), 64, STILLS, 5), 1.0, is_drawn=True) for name in ("a", "b")]
    data = rehearsing_seldom(MixedData(parts), start, STILLS, CPU)

    def asked(numbers: list[int]) -> set[tuple[str, ...]]:
        texts = data.draw(data.plan(numbers, 0.0), CPU).expressions
        return {texts[place : place + 5] for place in range(0, len(texts), 5)}

    assert asked([0, 1, 2, 3]) == asked([0, 2]) | asked([1, 3])


def test_worker_processes_plan_without_the_start(tmp_path: Path) -> None:
    start = recognising(tmp_path, ("the", "tench", "flamingo", "star")).eval()
    data = rehearsing(WorldData(shapes_batches(), 64, STILLS, 5), start)
    sent = pickle.dumps(data)
    assert len(sent) < sum(each.numel() for each in start.parameters())
    assert pickle.loads(sent).plan([3, 4], 0.0).clips.expressions == data.plan([3, 4], 0.0).clips.expressions


def test_a_start_without_a_table_cannot_rehearse_what_the_data_never_says(start: Locater, tmp_path: Path) -> None:
    save_pretrained(start, tmp_path / "start")
    asked = ["training.steps=1", "training.rehearsed=1"]
    with pytest.raises(LocaterError, match="no table of words; set training"):
        train_preset("tiny", "shapes", tmp_path / "out", asked, start=tmp_path / "start")
    assert not (tmp_path / "out").exists()


def test_a_later_stage_that_rehearses_is_refused_before_the_first_step(tmp_path: Path) -> None:
    stages = "training.stages=[{steps: 1}, {steps: 1, rehearsed: 1}]"
    with pytest.raises(LocaterError, match="name the one to begin with by --start"):
        train_preset("tiny", "shapes", tmp_path / "none", [stages])
    assert not (tmp_path / "none").exists()


def test_training_rehearses_what_its_start_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ["training.steps=1", "training.batch_size=2", "training.rehearsed=1", "training.validation_videos=0"]
    save_pretrained(recognising(tmp_path, ("the", "red", "star", "tench")), tmp_path / "plain")
    save_pretrained(with_words_of(tmp_path / "plain", ["the red star"]), tmp_path / "start")
    seen: list[Batch] = []
    plain = RehearsingData.draw

    def watched(data: RehearsingData, plan: object, device: torch.device) -> Batch:
        seen.append(plain(data, plan, device))
        return seen[-1]

    monkeypatch.setattr(RehearsingData, "draw", watched)
    table = {"kind": "vectors", "embedding_width": 16, "table": str(tmp_path / "words.safetensors")}
    visual = {"kind": "efficientnet_lite", "deep": True, "recognises": True}
    settings = [*asked, *(f"text.{key}={value}" for key, value in table.items())]
    settings += [f"visual.{key}={str(value).lower()}" for key, value in visual.items()]
    train_preset("tiny", "shapes", tmp_path / "out", settings, start=tmp_path / "start")
    assert seen and len(seen[0].expressions) == 4 and "tench" in " ".join(seen[0].expressions)
