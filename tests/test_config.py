"""Settings and presets."""

from pathlib import Path

import pytest

from locater.config import LSTMConfig, ViTConfig, preset, training_stages
from locater.errors import LocaterError
from locater.presets import preset_about, preset_names
from locater.presets.changes import parse_changes


def test_paper_has_the_papers_sizes() -> None:
    config = preset("paper")
    assert (config.image_size, config.visual.patch_size, config.width) == (320, 16, 768)
    assert isinstance(config.visual, ViTConfig) and (config.visual.depth, config.visual.heads) == (6, 12)
    assert isinstance(config.text, LSTMConfig) and config.text.max_words == 20
    assert (config.fusion.modules, config.fusion.norm) == (3, "post")
    assert (config.patches, config.global_cells, config.local_cells) == (400, 600, 800)
    assert (config.memory.write, config.memory.interval, config.memory.time_embedding) == ("paper", 10, False)
    assert (config.decoder.readout, config.decoder.query, config.decoder.upsampling) == (
        "product",
        "visual",
        "bilinear",
    )


def test_the_challenge_has_its_sizes() -> None:
    config = preset("paper_challenge")
    assert (config.image_size, config.visual.patch_size, config.patches) == (384, 8, 2304)
    assert config.text.kind == "huggingface"


def test_paper_image_has_no_memory() -> None:
    assert preset("paper_image").global_cells == preset("paper_image").local_cells == 0


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_valid_and_described(name: str) -> None:
    assert preset(name).patches > 0
    assert preset_about(name).endswith(".")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"visul": {}}, "'visul' is no known setting; known here are decoder, design"),
        ({"memory": {"heds": 2}}, "known here are global_ratio, heads, interval"),
        ({"visual": {"dpth": 2}}, "known here are depth, heads"),
        ({"memory": {"heads": "2"}}, "memory.heads"),
        ({"memory": {"write": "papr"}}, "'paper', 'sum' or 'compete'"),
        ({"image_size": 65}, "not a multiple of the patch size"),
        ({"memory": {"heads": 5}}, "not a multiple of memory.heads"),
        ({"visual": {"kind": "efficientnet_lite", "recognises": True}}, "needs visual.deep"),
        ({"visual": {"kind": "efficientnet_lite", "recognises": True, "deep": True}}, "needs text.kind vectors"),
    ],
)
def test_a_wrong_setting_is_one_sentence(changes: dict[str, object], told: str) -> None:
    with pytest.raises(LocaterError) as error:
        preset("tiny", changes)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(LocaterError, match="paper, paper_challenge"):
        preset("papper")


def test_settings_cannot_change() -> None:
    with pytest.raises(Exception, match="frozen"):
        preset("tiny").image_size = 32  # type: ignore[misc]


def test_a_stage_differs_from_the_preset_and_the_users_changes_win() -> None:
    changes = parse_changes(["training.stages=[{steps: 5, flip: 0.1}, {steps: 7}]", "training.flip=0.2"])
    first, second = training_stages("tiny", changes)
    assert (first.steps, second.steps, first.flip, second.flip) == (5, 7, 0.2, 0.2)
    assert first.batch_size == training_stages("tiny")[0].batch_size
    with pytest.raises(LocaterError, match=r"training\.stages is a list"):
        training_stages("tiny", {"training": {"stages": {"steps": 5}}})


def test_every_preset_trains() -> None:
    for name in preset_names():
        assert training_stages(name)


def test_the_paper_is_trained_as_its_section_3_3_says() -> None:
    (training,) = training_stages("paper")
    assert training.auxiliary_weight == 0.4  # lambda of Eq. 12
    assert (training.optimizer, training.learning_rate, training.weight_decay) == ("adam", 4e-5, 1e-4)
    assert (training.power, training.batch_size, training.epochs, training.flip) == (0.9, 32, 30, 0.5)
    assert (training.clip_frames, training.dice_weight, training.layer_decay) == (8, 0.0, 1.0)


def test_a_bare_no_is_the_precision_of_that_name() -> None:
    assert training_stages("shapes", parse_changes(["training.precision=no"]))[0].precision == "no"


def test_a_frame_keeps_its_shape_where_the_preset_says_so() -> None:
    square, kept = preset("shapes"), preset("default")
    assert square.input_size(360, 640) == (128, 128)
    rows, columns = kept.input_size(360, 640)
    assert rows % 16 == columns % 16 == 0 and abs(columns / rows - 16 / 9) < 0.1
    assert abs(rows * columns / kept.image_size**2 - 1) < 0.1
    assert kept.input_size(64, 64) == (kept.image_size, kept.image_size)
    narrow = kept.input_size(2000, 10)
    assert narrow[0] / narrow[1] < 3


def test_numbers_may_have_an_exponent_and_no_point(tmp_path: Path) -> None:
    """YAML 1.1 takes 1e-4 for a word."""
    given = parse_changes(["training.learning_rate=1e-4", "training.steps=20", "x=-.5E+3", "y=e4", "z=1e-4x"])
    assert given == {"training": {"learning_rate": 1e-4, "steps": 20}, "x": -500.0, "y": "e4", "z": "1e-4x"}
    (tmp_path / "own.yaml").write_text("extends: tiny\ntraining:\n  learning_rate: 3e-5\n")
    assert training_stages(str(tmp_path / "own.yaml"))[0].learning_rate == 3e-5
    with pytest.raises(LocaterError, match=r"'\[\[\[\[' is no value for training\.steps"):
        parse_changes(["training.steps=[[[["])
