"""Every example of every document runs, on small made files and a network of a few thousand weights.

An example is a command or a block of Python. What cannot run here is listed below, with its reason.
"""

import re
import runpy
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from accelerate.state import AcceleratorState

from locater.inference.demo import demo_clip
from locater.io.results_folder import MARKER
from locater.model.checkpoint import save_pretrained
from locater.training.second_look import fit as fitting
from locater.video.writer import FORMATS
from tests.support.command_line.running import run_main
from tests.support.documents.examples import Example, examples
from tests.support.documents.stages import STAGES, understanding
from tests.support.making_contrasts import LABELER

ROOT = Path(__file__).parents[1]
GUIDES = {path.name: path for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md")))}
DOWNLOADS = "downloads, or needs what was downloaded"
APART = "networks trained apart, and others' masks; tests/cli/test_ensemble.py has them in miniature"
# The beginning of an example, and why it does not run here.
NOT_HERE = {
    "pip ": DOWNLOADS,
    "git clone": DOWNLOADS,
    "cd locater": "belongs to the clone",
    "make ": "sets up a machine; tests/test_unchanged.py has the demo, tests/test_site.py the site",
    "pytest ": "is this",
    ".venv/bin/": "is this",
    "LOCATER_DATA=": "is this, on files that may not be handed on",
    "def test_sides_of_a_ship_change_places": "fails by design: the reader is to make it pass",
    "locater live 0": "a camera",
    "locater live rtsp:": "a network stream",
    "locater web": "serves until it is stopped; tests/web/test_command.py",
    "locater contrast review": "serves until it is stopped; tests/contrast/test_review.py",
    "torchrun": "eight processes; tests/evaluation/test_evaluate.py has two",
    "locater batch": "starts Ray; tests/batch/test_batch_command.py",
    "locater bench all": "an hour; tests/bench runs each benchmark",
    "locater score": "other systems' masks, in a layout of its own each: tests/evaluation/external",
    "locater compare": "other systems' masks: tests/evaluation/external/test_compare.py",
    "locater submission check": "the servers' zips: tests/evaluation/external/test_submission.py",
    "locater finetune MY_FOLDER": "the command's form; the tutorial below it runs it",
    "locater evaluate CHECKPOINT positions:PACK --out runs/positions": "tests/evaluation/test_positions_score.py",
    "locater evaluate MAIN": APART,
    "locater ensemble": APART,
    "from locater.inference.ensemble": APART,
    "python -m experiments.ensemble": "five minutes per seed",
    "python -m experiments.ensemble.sprite_pack": "writes the pack that the tests of composed worlds have smaller",
    "python -m tools.authors": f"{DOWNLOADS}; tests/model/authors",
    'locater segment clip.mp4 "the dog on the left" --checkpoint FOLDER': f"{DOWNLOADS}; tests/model/authors",
    "locater evaluate default failures:PACK": "tests/worlds/composed has failure types of a pack",
    "locater data compose --coco INSTANCES.json IMAGES --per-noun 40": "worlds.md has it",
    "locater reproduce ": "trains; tests/reproduce/test_pieces.py",
    "locater train paper": DOWNLOADS,
    "locater train default": DOWNLOADS,
    "locater train experiments/recipes/": "trains for an hour; tests/training/test_recipe.py has others",
    "locater train RECIPE.yaml": f"{DOWNLOADS}; tests/training/test_recipe.py has others",
    "locater train PRESET --data DATA": f"{DOWNLOADS}; tests/model/test_word_vectors.py",
    "locater export": "tests/export/test_export.py",
    "pip install './lite": "tests/lite/test_lite_installed.py",
    "locater-lite": "tests/lite/test_lite_installed.py",
    "from locater_lite": "tests/lite/test_lite_installed.py",
    "python -m zipfile": DOWNLOADS,
    "python -m tools.convert": DOWNLOADS,
    "python -m tools.make_demo_clip": DOWNLOADS,
    "python -m tools.make_table": DOWNLOADS,
    "OMP_NUM_THREADS=1 python -m experiments.encoders": DOWNLOADS,
    "python -m experiments.words.word_vectors": DOWNLOADS,
    "import numpy, pyarrow.parquet": DOWNLOADS,
}
# The beginning of a command, and what makes it quick.
QUICKER: dict[str, Sequence[str]] = {
    "locater evaluate": ("--limit", "3"),
    "locater evaluate shapes shapes": ("--count", "1"),
    "locater evaluate CHECKPOINT positions:": ("--count", "2"),
    "locater evaluate CHECKPOINT composed:": ("--count", "1"),
    "locater evaluate shapes failures": ("--count", "1"),
    "locater evaluate default failures": ("--count", "1"),
    "locater contrast build shapes": ("--count", "2"),
    "locater contrast build": ("--labeler", LABELER),
    "locater contrast pairs": ("--labeler", LABELER),
    "locater finetune": ("--set", "training.steps=2"),
    "locater data compose": ("--per-noun", "4", "--photographs", "6"),
    "locater train": tuple(
        f"--set=training.{each}" for each in ("steps=1", "batch_size=1", "clip_frames=2", "validation_videos=0")
    ),
    "python -m experiments.words.word_attention": ("--limit", "2"),
    "python -m experiments.ambiguity": ("--count", "1", "--ordinary", "1"),
}
# What stands for something else in an example, and what this machine takes for it.
MEANT = {
    "README.md": {"my_camera": "[]"},
    "worlds.md": {
        '"cuda"': '"cpu"',
        "range(64)": "range(2)",
        "train PRESET": "train tiny",
        "zebra,giraffe": "zebra",
        "merge_packs base": "merge_packs pack",
    },
    "training.md": {"--start CHECKPOINT": "--start shapes"},
}
COUNTED = "locater data check a2d"  # made files are fewer than the published ones, which is said, with exit code 2
FIRST = "locater data cutout"  # its masks go into the pack of the example above it
# Files that a document promises, among others.
PROMISED = {
    "README.md": ("masks/overlay.mp4", "masks/masks/00000.png", "masks/masks.json"),
    "finetune.md": (
        *("tuned/checkpoint/", "tuned/report.html", "tuned/report.md", "tuned/per_sentence.csv", "tuned/training/"),
        *("sheet.png", "masks/overlay.mp4"),
    ),
    "explain.md": ("why/index.html", "why/explanation.json", "why/words.png"),
    "outputs.md": ("results/overlay.mp4", "results/matte", "results/data.yaml", "results/labels", "results/alpha"),
    "sources.md": ("results/beach/overlay.mp4", "results/hills/overlay.mp4"),
}


def reason_not_to_run(example: Example) -> str | None:
    """Why an example does not run here; None where it does."""
    if example.is_usage:
        return "a command's form; tests/test_docs.py checks its options"
    return next((reason for start, reason in NOT_HERE.items() if example.text.startswith(start)), None)


def test_every_reason_is_one_of_an_example() -> None:
    said = [example.text for path in GUIDES.values() for example in examples(path)]
    for starts in (NOT_HERE, QUICKER):
        assert [start for start in starts if not any(text.startswith(start) for text in said)] == []
    running = {name for name, path in GUIDES.items() if any(reason_not_to_run(each) is None for each in examples(path))}
    assert running == set(STAGES)


@pytest.fixture(autouse=True)
def fresh_accelerate() -> Iterator[None]:
    """accelerate keeps one state per process."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


@pytest.mark.filterwarnings("ignore")  # an untrained network marks everything, twice
@pytest.mark.parametrize("name", STAGES)
def test_the_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(fitting, "STEPS", 8)  # of a second look
    save_pretrained(understanding([GUIDES[name].read_text(encoding="utf-8")]), tmp_path / "default")
    STAGES[name](tmp_path)
    names: dict[str, object] = {}
    promised, kept = set(PROMISED.get(name, ())), set[str]()
    for example in sorted(examples(GUIDES[name]), key=lambda each: not each.text.startswith(FIRST)):
        if reason_not_to_run(example) is None:
            run(with_meaning(example, name), names, monkeypatch, capfd)
            kept |= {each for each in promised if Path(each).exists()}
    assert kept == promised


@pytest.mark.proof
def test_readmes_examples_run_with_the_shipped_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    demo_clip(tmp_path / "clip.mp4")
    names: dict[str, object] = {}
    for example in examples(GUIDES["README.md"]):
        if reason_not_to_run(example) is None:
            run(with_meaning(example, "README.md"), names, monkeypatch, capfd)
    assert getattr(names["mask"], "shape", None) == (360, 640)
    made = {path.name for path in (tmp_path / "masks").iterdir() if path.name != MARKER}
    assert made == {"overlay.mp4", "masks", "masks.json"}


def test_every_output_format_is_described() -> None:
    described = re.findall(r"^\| `([a-z-]+)` \|", GUIDES["outputs.md"].read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(described) == sorted(FORMATS)


def with_meaning(example: Example, name: str) -> Example:
    """The example with what this machine takes for its placeholders."""
    text = example.text
    for said, meant in MEANT.get(name, {}).items():
        text = text.replace(said, meant)
    return Example(text, example.is_python)


def matching(word: str) -> list[str]:
    """The files that a shell puts in a pattern's place."""
    return sorted(map(str, Path().glob(word))) if "*" in word else []


def run(
    example: Example, names: dict[str, object], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Run one example; it ends well."""
    if example.is_python:
        exec(compile(example.text, example.text.splitlines()[0], "exec"), names)
        return
    words = [path for word in example.words for path in (matching(word) or [word])]
    words += [word for start, more in QUICKER.items() if example.text.startswith(start) for word in more]
    if words[0] == "locater":
        ran = run_main(monkeypatch, capfd, *words[1:])
        assert ran.code == (2 if example.text.startswith(COUNTED) else 0), (example.text, ran)
    else:
        assert words[:2] == ["python", "-m"], example.text
        monkeypatch.setattr(sys, "argv", words[2:])
        monkeypatch.delitem(sys.modules, words[2], raising=False)  # as a program it begins afresh
        try:
            runpy.run_module(words[2], run_name="__main__")
        except SystemExit as stop:
            assert not stop.code, example.text
    for place in (*Path.cwd().glob("*.masks"), Path("DIR")):  # examples are alternatives
        shutil.rmtree(place, ignore_errors=True)
