"""Every command that writes, small enough to be killed hundreds of times."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file

from locater.cli.app import main
from locater.contrast.decisions import Decision, append_decision, read_decisions
from locater.export import onnx_files
from locater.export.graphs import Graph
from locater.export.onnx_files import export
from locater.io.atomic import plain_os_errors
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.training.second_look import fit as fitting
from locater.worlds.composed import Sources, compose
from tests.support.command_line.clips import DOG, two_sentence_checkpoint
from tests.support.composed_sources import SMALL, make_coco
from tests.support.datasets.making_datasets import make_folder, write_binary, write_pictures
from tests.support.datasets.making_stills import Thing, make_stills
from tests.support.evaluating.command import tiny_checkpoint
from tests.support.making_contrasts import LABELER, make_contrasting_a2d
from tests.support.photo_sources import draw_photograph, make_model
from tests.support.recognising import recognising

Words = Sequence[object]
STEPS = 2
_FIT = ("image_size=16", "training.batch_size=2", "training.clip_frames=2", "training.global_frames=2",
        "training.validate_every=1", "training.save_every=1", "training.keep_best=true")  # fmt: skip


def _nothing(*_: Path) -> int:
    return 0


@dataclass(frozen=True)
class Writer:
    """One command: how it is called, and what of its work must not be done twice."""

    name: str
    prepare: Callable[[Path], object]
    words: Callable[[Path, Path], Words] = lambda *_: ()
    run: Callable[[Path], None] | None = None  # instead of a command
    is_replaced: bool = False  # earlier results are there and change places with the new ones
    counted: tuple[str, ...] = ()  # functions whose calls are work, as module:Class.function
    total: int = 0  # work of a whole run
    finished: Callable[[Path], int] = _nothing  # work whose result is on disk
    volatile: tuple[str, ...] = ()  # files that tell the time
    patch: Callable[[Path], None] = lambda _: None  # makes it quicker; its files stay the same


def _set(*settings: str) -> list[str]:
    return [word for each in settings for word in ("--set", each)]


def _clip(inputs: Path) -> None:
    two_sentence_checkpoint(inputs / "checkpoint")
    write_pictures(inputs / "clip", ["0.png", "1.png"])


def _lines(name: str, header: int = 0) -> Callable[[Path], int]:
    """How many whole lines a file has below its header."""

    def count(out: Path) -> int:
        path = out / name if name else out
        return max(0, path.read_bytes().count(b"\n") - header) if path.exists() else 0

    return count


def _steps(folder: str) -> Callable[[Path], int]:
    """The step of the newest state, read as another program would."""

    def count(out: Path) -> int:
        states = sorted((out / folder).glob("state-*"))
        if not states:
            return 0
        load_file(states[-1] / "optimizer.safetensors")
        return int(json.loads((states[-1] / "progress.json").read_text())["step"])

    return count


def _evaluating(inputs: Path) -> None:
    tiny_checkpoint(inputs / "checkpoint")
    make_folder(inputs / "data")


def _two_checkpoints(inputs: Path) -> None:
    two_sentence_checkpoint(inputs / "one")
    two_sentence_checkpoint(inputs / "two")


def _systems(inputs: Path) -> None:
    for key, masks in make_folder(inputs / "data").items():
        for index, mask in masks.items():
            name = f"{index:05d}" if key.startswith("street") else ("f1", "f2", "f10")[index]
            write_binary(inputs / "ours" / key / f"{name}.png", mask)


def _photographs(inputs: Path) -> None:
    for number in range(4):
        draw_photograph(inputs / "photos" / f"n02088364_{number}_beagle.png", (24 + number, 30, 80, 84))
    make_model(inputs / "bright.onnx")


def _tuning(inputs: Path) -> None:
    tiny_checkpoint(inputs / "start")
    make_folder(inputs / "mine")


def _looking(inputs: Path) -> None:
    model = recognising(inputs, ("the", "dog", "car", "person", "boat", "cat", "bus", "cow", "truck"))
    save_pretrained(model, inputs / "checkpoint")
    make_stills(inputs / "stills", [[Thing(name, (4, 4, 20, 16))] for name in ("dog", "car", "boat", "dog", "bus")])
    compose(Sources(coco=[make_coco(inputs / "coco", 8)]), inputs / "pack", ["zebra"], SMALL)
    asked = ["evaluate", inputs / "checkpoint", f"coco-val:{inputs / 'stills'}", "--out", inputs / "answers"]
    sys.argv = ["locater", *map(str, asked)]
    with suppress(SystemExit):
        main()


def _fewer_steps(_: Path) -> None:
    setattr(fitting, "STEPS", 4)  # noqa: B010


def _exporting(inputs: Path) -> None:
    _clip(inputs)
    export(from_pretrained(inputs / "checkpoint"), inputs / "exported")


def _copied_graphs(inputs: Path) -> None:
    """Tracing takes most of a minute; what it gives is written here as it was the first time."""

    def write_graph(graph: Graph, _: object, path: Path) -> None:
        path.write_bytes((inputs / "exported" / f"{graph.name}.onnx").read_bytes())

    setattr(onnx_files, "write_graph", write_graph)  # noqa: B010


def _decide(out: Path) -> None:
    with plain_os_errors(out):
        out.mkdir(exist_ok=True)
    known = read_decisions(out)
    for name in (f"pair {number}" for number in range(4)):
        if name not in known:  # a person goes on with what is not decided
            append_decision(out, Decision(name, "accept", "seen"))


def _decided(out: Path) -> int:
    return len(read_decisions(out))


_SEGMENT: Callable[[Path, Path], Words] = lambda given, out: (  # noqa: E731
    "segment", given / "clip", DOG, "--checkpoint", given / "checkpoint", "--format", "png,rle,sheet", "--force",
    "--out", out)  # fmt: skip
_INIT: Callable[[Path, Path], Words] = lambda _, out: ("init", "tiny", "--force", "--out", out)  # noqa: E731

ALL = (
    Writer("segment", _clip, _SEGMENT),
    Writer("segment again", _clip, _SEGMENT, is_replaced=True),
    Writer("explain", _clip, lambda given, out: (
        "explain", given / "clip", DOG, "--checkpoint", given / "checkpoint", "--frames", 2, "--force", "--out", out)),
    Writer("init", _nothing, _INIT),
    Writer("init again", _nothing, _INIT, is_replaced=True),
    Writer("average", _two_checkpoints, lambda given, out: (
        "average", given / "one", given / "two", "--force", "--out", out), is_replaced=True),
    Writer("export", _exporting, lambda given, out: (
        "export", given / "checkpoint", "--to", "onnx", "--force", "--out", out), patch=_copied_graphs),
    Writer("evaluate", _evaluating, lambda given, out: (
        "evaluate", given / "checkpoint", f"folder:{given / 'data'}", "--failures", 2, "--out", out),
        counted=("locater.evaluation.run.journal:JournalWriter.write",), total=2,
        finished=lambda out: len({json.loads(line)["video"] for line in _whole_lines(out)})),
    Writer("train", lambda given: make_folder(given / "data"), lambda given, out: (
        "train", "tiny", "--data", f"folder:{given / 'data'}", "--workers", 0, "--out", out,
        *_set(f"training.steps={STEPS}", "training.validation_videos=1", *_FIT)),
        counted=("locater.training.trainer:Trainer.step",), total=STEPS, finished=_steps("")),
    Writer("train a recipe", lambda given: make_folder(given / "data"), lambda given, out: (
        "train", "tiny", "--data", f"folder:{given / 'data'}", "--workers", 0, "--out", out,
        *_set("training.validation_videos=0", *_FIT, "training.stages=[{steps: 1}, {steps: 1}, "
              "{average: {of: [stage1, stage2], weights: [0.5, 0.5]}}]"))),
    Writer("finetune", _tuning, lambda given, out: (
        "finetune", given / "mine", "--start", given / "start", "--out", out,
        *_set("training.steps=2", "training.batch_size=2", "training.validate_every=1", "training.save_every=1")),
        counted=("locater.training.trainer:Trainer.step",), total=2, finished=_steps("training")),
    Writer("second-look", _looking, lambda given, out: (
        "second-look", given / "checkpoint", "--pack", given / "pack", "--data", f"coco-val:{given / 'stills'}",
        "--answers", given / "answers", "--out", out), patch=_fewer_steps),
    Writer("contrast build", lambda given: make_contrasting_a2d(given / "a2d"), lambda given, out: (
        "contrast", "build", f"a2d-sentences:{given / 'a2d'}", "--split", "test", "--labeler", LABELER,
        "--subsets", "M", "--video", "mp4", "--out", out),
        counted=("locater.contrast.build:write_sequence",), total=2,
        finished=lambda out: len(list(out.glob("*/sequences/*.json")))),
    Writer("review decisions", _nothing, run=_decide,
        counted=("tests.faults.writers:append_decision",), total=4, finished=_decided),
    Writer("data compose", lambda given: make_coco(given / "coco", 6), lambda given, out: (
        "data", "compose", "--coco", given / "coco" / "instances.json", given / "coco" / "coco", "--force",
        "--out", out), is_replaced=True),
    Writer("data cutout", _photographs, lambda given, out: (
        "data", "cutout", "--photos", given / "photos", "--model", given / "bright.onnx", "--out", out),
        counted=("locater.worlds.composed.pack.photo_masks:_line",), total=4, finished=_lines("", header=1)),
    Writer("compare", _systems, lambda given, out: (
        "compare", given / "ours", given / "ours", "--truth", f"folder:{given / 'data'}", "--names", "a,b", "--force",
        "--out", out)),
    Writer("bench", _nothing, lambda _, out: (
        "bench", "expressions", "--preset", "tiny", "--quick", "--repeats", 1, "--device", "cpu", "--force",
        "--out", out), volatile=("expressions.json", "expressions.png")),
)  # fmt: skip
WRITERS = {writer.name: writer for writer in ALL}


def _whole_lines(out: Path) -> list[str]:
    return [
        line
        for path in out.glob("answers.*.jsonl")
        for line in path.read_text("utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]
