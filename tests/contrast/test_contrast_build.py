"""The files that are built: right, the same every time, whole after a kill, and complete but for what is broken."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from locater.cli import app as cli
from locater.contrast.build import BuildRequest, build
from locater.datasets.catalog import Source, open_dataset
from locater.datasets.davis import described_sequences
from locater.datasets.drawn_worlds import Drawing
from locater.datasets.inspect.check import check_dataset
from locater.errors import LocaterError
from locater.io import rle
from locater.records import Dataset, Sample
from locater.text.roles import SentenceRoles
from tests.support import made_benchmarks
from tests.support.datasets.making_datasets import make_folder
from tests.support.datasets.making_davis import make_davis
from tests.support.making_contrasts import LABELER, FakeLabeler, make_contrasting_a2d, make_odd_folder, tree

PAIR = "two_0__one_0"  # a brown dog is running / walking on the grass


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("source") / "a2d"
    make_contrasting_a2d(root)
    return root


def opened(root: Path) -> Dataset:
    return open_dataset("a2d-sentences", root, "test")


@pytest.fixture(scope="module")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted build, left as it is by every test."""
    out = tmp_path_factory.mktemp("whole") / "set"
    build(opened(source), FakeLabeler(), BuildRequest(out))
    return out


def samples(root: Path, subset: str) -> dict[str, Sample]:
    dataset = open_dataset("a2d-s+", root, subset)
    return {info.key: dataset.load(info) for info in dataset.samples()}


def record(root: Path, subset: str, sequence: str) -> Any:
    return json.loads((root / subset / "sequences" / f"{sequence}.json").read_text())


def test_side_by_side_and_in_turn(source: Path, whole: Path) -> None:
    truth = {info.key: opened(source).load(info) for info in opened(source).samples()}
    query = truth["two/0"]
    side = samples(whole, "S")[f"{PAIR}/0"]
    assert (side.frames.info.width, side.frames.info.height, side.frames.info.frame_count) == (128, 48, 12)
    assert side.info.expression == query.info.expression and side.info.object_count == 3
    assert side.frames.info.frames_per_second == query.frames.info.frames_per_second
    assert sorted(side.masks) == sorted(query.masks) == [1, 11]
    for index in side.masks:
        assert np.array_equal(side.masks[index][:, :64], query.masks[index]) and not side.masks[index][:, 64:].any()
    originals = [frame.pixels for frame in query.frames.frames()]
    for frame, original in zip(side.frames.frames(), originals, strict=True):
        assert np.abs(frame.pixels[:, :64].astype(int) - original).max() <= 3  # JPEG
    turn = samples(whole, "T")[f"{PAIR}/0"]
    assert (turn.frames.info.width, turn.frames.info.frame_count) == (64, 24)
    assert sorted(turn.masks) == [1, 11, 15, 21]  # as many, evenly spaced
    assert [turn.masks[index].any() for index in turn.masks] == [True, True, False, False]


def test_several_actors_are_copied(source: Path, whole: Path) -> None:
    several = samples(whole, "M")
    assert sorted(several) == ["tall/0", "tall/1", "two/0", "two/1"]
    for key, sample in several.items():
        info = next(info for info in opened(source).samples() if info.key == key)
        original = opened(source).load(info)
        assert sorted(sample.masks) == sorted(original.masks) and sample.info.object_count == 2
        assert all(np.array_equal(sample.masks[index], original.masks[index]) for index in original.masks)


def test_a_record_says_where_all_comes_from(source: Path, whole: Path) -> None:
    found = record(whole, "S", PAIR)
    (query,) = found["queries"]
    assert query["source"] == {"key": "two/0", "video": "two", "object_id": "0", "kind": ""}
    for each in (query, found["contrast"]):
        for role in each["roles"]:
            assert each["expression"][role["start"] : role["end"]]
    assert [role["role"] for role in query["roles"]] == ["Arg0", "Verb", "ARGM-LOC"]
    assert found["pair"]["shared_roles"] == ["ARGM-LOC", "Arg0"] and not found["pair"]["relaxed"]
    box = {"left": 64, "top": 0, "width": 64, "height": 48, "first_frame": 0, "frame_count": 12, "padded_frames": 2}
    assert found["halves"]["contrast"] == box
    assert found["provenance"].keys() == {"dataset", "seed", "order", "locater", "labeler"}
    other = opened(source).load(next(info for info in opened(source).samples() if info.key == "one/0"))
    outline = found["contrast"]["masks"]["1"]
    mask = rle.decode(outline["counts"].encode(), *outline["size"])
    assert np.array_equal(mask[:, 64:], other.masks[1]) and not mask[:, :64].any()
    for place in query["masks"].values():
        assert (whole / "S" / place).is_file()
    lines = [json.loads(line) for line in (whole / "pairs.jsonl").read_text().splitlines()]
    assert len(lines) == 7
    assert {line["query"]["source"]["key"]: line.get("reason") for line in lines if not line["paired"]} == {
        "tall/1": "no semantic role was found",
        "alone/0": "no other description shares a role's phrase",
    }
    assert "| queries, the paper's | 1,295 | 856 | 1,295 | 1,295 |" in (whole / "statistics.md").read_text()


@pytest.mark.parametrize(("form", "video"), [("folder", "frames"), ("folder", "mp4"), ("authors", "frames")])
def test_built_twice_the_bytes_are_the_same(source: Path, tmp_path: Path, form: str, video: str) -> None:
    for name in ("one", "two"):
        build(opened(source), FakeLabeler(), BuildRequest(tmp_path / name, ("S", "T"), format=form, video=video))
    one, two = tree(tmp_path / "one"), tree(tmp_path / "two")
    assert len(one) > 20 and any(path.endswith(".mp4") for path in one) == (video == "mp4")
    assert one == two


def test_built_again_nothing_changes(source: Path, whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.glob("*/*/*")}
    build(opened(source), FakeLabeler(), BuildRequest(whole))
    assert {path: path.stat().st_mtime_ns for path in whole.glob("*/*/*")} == before


def command(source: Path, out: Path, *more: str) -> list[str]:
    arguments = ["contrast", "build", f"a2d-sentences:{source}", "--out", str(out), "--labeler", LABELER, *more]
    return [sys.executable, "-m", "locater", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}


def test_a_killed_build_goes_on_to_the_same_bytes(source: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    process = subprocess.Popen(command(source, out), env=environment(), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if len(list(out.glob("S/sequences/*.json"))) >= 1:
            break
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (out / "build.json").exists() and not (out / "report.json").exists()
    for path in out.glob("*/sequences/[!.]*.json"):  # what is there is whole
        assert path.read_bytes() == (whole / path.relative_to(out)).read_bytes()
    # A kill at the worst moment: frames in place, the record not, a partial folder beside.
    (out / "T/videos" / PAIR).mkdir(parents=True)
    (out / "T/videos" / PAIR / "00099.jpg").write_bytes(b"half")
    (out / "S/masks/.left.abcdefgh.partial").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command(source, out), env=environment(), capture_output=True, text=True, check=True)
    assert "Sequences: 2 in M, 5 in S, 5 in T; 0 skipped." in done.stdout
    assert tree(out) == tree(whole)


def test_a_broken_source_costs_its_own_sequences_alone(
    source: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "a2d"
    shutil.copytree(source, root)
    (root / "Release/clips320H/wide.mp4").unlink()
    clip = root / "Release/clips320H/tall.mp4"
    clip.write_bytes(clip.read_bytes()[:-200])
    monkeypatch.setattr(sys, "argv", ["locater", *command(root, tmp_path / "set")[3:]])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    told = capfd.readouterr().out
    skipped = json.loads((tmp_path / "set/report.json").read_text())["skipped"]
    assert f"; {len(skipped)} skipped. Test set:" in told and told.count("\nSkipped ") == len(skipped) > 3
    assert all("wide" in each["sequence"] or "tall" in each["sequence"] for each in skipped)
    assert any("There is no file" in each["reason"] for each in skipped)
    # What could be built is what a whole source gives.
    built = tree(tmp_path / "set")
    expected = tree(whole)
    kept = [name for name in expected if name.count("/") > 1 and "wide" not in name and "tall" not in name]
    assert kept and all(built[name] == expected[name] for name in kept)
    assert {name.split("/")[2].removesuffix(".json") for name in built if name.count("/") > 1} <= {
        name.split("/")[2].removesuffix(".json") for name in expected if name.count("/") > 1
    }
    (root / "Release/clips320H").rename(root / "Release/elsewhere")
    with pytest.raises(LocaterError, match=r"None of 12 sequences could be built; the first: .*no folder"):
        build(opened(root), FakeLabeler(), BuildRequest(tmp_path / "none"))


def test_a_rejected_pair_is_replaced(source: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    shutil.copytree(whole, out)
    (out / "decisions.jsonl").write_text(json.dumps({"sequence": PAIR, "decision": "reject"}) + "\n")
    build(opened(source), FakeLabeler(), BuildRequest(out))
    names = {path.stem for path in (out / "S/sequences").iterdir()}
    (new,) = names - {path.stem for path in (whole / "S/sequences").iterdir()}
    assert PAIR not in names and new.startswith("two_0__") and record(out, "T", new)["pair"]["rank"] == 2
    assert not list(out.glob(f"*/*/{PAIR}*")) and f"{new}/0" in samples(out, "T")
    (out / "decisions.jsonl").unlink()
    build(opened(source), FakeLabeler(), BuildRequest(out))
    assert tree(out) == tree(whole)


def test_the_authors_layout_reads_back_the_same(source: Path, whole: Path, tmp_path: Path) -> None:
    build(opened(source), FakeLabeler(), BuildRequest(tmp_path, format="authors"))
    assert (tmp_path / f"A2D_SUBSET/A2D_SPAT/mask/{PAIR}_0_00002.pth").is_file()
    for subset in ("M", "S", "T"):
        ours, theirs = samples(whole, subset), samples(tmp_path, subset)
        assert ours.keys() == theirs.keys() and ours
        for key, sample in ours.items():
            other = theirs[key]
            assert (sample.info, sorted(sample.masks)) == (other.info, sorted(other.masks))
            assert all(np.array_equal(sample.masks[index], other.masks[index]) for index in sample.masks)
            assert sample.frames.info.frame_count == other.frames.info.frame_count
            assert check_dataset("a2d-s+", tmp_path, subset).problems == ()
    (tmp_path / "decisions.jsonl").write_text(json.dumps({"sequence": PAIR, "decision": "reject"}) + "\n")
    build(opened(source), FakeLabeler(), BuildRequest(tmp_path, format="authors"))
    assert not list(tmp_path.glob(f"A2D_SUBSET/*/*/{PAIR}*"))


@pytest.mark.parametrize("video", ["frames", "mp4"])
@pytest.mark.parametrize("order", ["query-first", "query-last", "mixed"])
def test_odd_sizes_and_every_order(tmp_path: Path, video: str, order: str) -> None:
    make_odd_folder(tmp_path / "own")
    dataset = open_dataset("folder", tmp_path / "own", None)
    build(dataset, FakeLabeler(), BuildRequest(tmp_path / "set", ("S", "T"), order=order, video=video))
    for subset in ("S", "T"):
        assert check_dataset("a2d-s+", tmp_path / "set", subset).problems == ()  # sizes and frames agree
        for sample in samples(tmp_path / "set", subset).values():
            found = record(tmp_path / "set", subset, sample.info.video)
            count = sum(1 for _ in sample.frames.frames())
            assert count == found["frame_count"] and sample.frames.info.frames_per_second == 6
            half = found["halves"]["query"]
            name = found["queries"][0]["source"]["video"]
            original = dataset.load(next(info for info in dataset.samples() if info.video == name))
            for index in original.masks:
                box = sample.masks[half["first_frame"] + index][:, half["left"] : half["left"] + half["width"]]
                assert np.array_equal(box[: half["height"]], original.masks[index])
            first = half["left"] == 0 and half["first_frame"] == 0
            assert order == "mixed" or first == (order == "query-first")


SOURCES: list[tuple[str, str | None, Callable[[Path], object] | None]] = [
    ("refer-youtube-vos", None, made_benchmarks.refer_youtube_vos),
    ("ref-davis17", None, made_benchmarks.ref_davis17),
    ("mevis", None, made_benchmarks.mevis),
    ("folder", None, make_folder),
    ("shapes", None, None),
]


class EachElsewhere(FakeLabeler):
    """Takes every sentence for a thing that moves in a place of its own, so that any two videos make a pair."""

    def label(self, sentences: Sequence[str]) -> list[SentenceRoles]:
        return super().label([f"a thing is moving on the {place}th" for place in range(len(sentences))])


@pytest.mark.parametrize(("name", "split", "make"), SOURCES, ids=[name for name, _, _ in SOURCES])
def test_every_dataset_builds(
    tmp_path: Path, name: str, split: str | None, make: Callable[[Path], object] | None
) -> None:
    root = None if make is None else tmp_path / "root"
    if make is not None and root is not None:
        make(root)
    dataset = Source(name, root).open(split, Drawing(1 if root is None else None, size=32))
    infos = dataset.samples()
    built = build(dataset, EachElsewhere(), BuildRequest(tmp_path / "set"))
    assert not built.skipped
    assert built.sequences["S"] == built.sequences["T"] == sum(info.kind != "absent" for info in infos) > 1
    assert built.sequences["M"] == len({info.video for info in infos if (info.object_count or 0) > 1})
    everything = open_dataset("a2d-s+", tmp_path / "set", None)
    assert everything.name == f"contrast-{dataset.name}-all"
    for info in everything.samples():
        sample = everything.load(info)
        assert sample.masks and sample.frames.info.frame_count
    assert len(everything.samples()) == sum(
        len(infos) if subset == "M" else built.sequences[subset] for subset in ("M", "S", "T")
    ) - sum((info.object_count or 0) <= 1 for info in infos)


def test_what_is_asked_wrongly_gives_one_sentence(
    source: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious.txt").write_text("mine")
    out = str(tmp_path / "out")
    for out_given, words, expected in (
        (out, ["--subsets", "M,X"], "There is no subset 'X'"),
        (out, ["--order", "sideways"], "--order is 'sideways'; choose query-first, query-last or mixed."),
        (out, ["--format", "zip"], "--format is 'zip'"),
        (out, ["--video", "gif"], "--video is 'gif'"),
        (out, ["--format", "authors", "--video", "mp4"], "keeps frames as PNG"),
        (out, ["--labeler", "nothing"], "names no labeler"),
        (str(whole), ["--seed", "1"], "holds another build (another seed)"),
        (str(tmp_path / "full"), [], "holds files that are not ours"),
    ):
        arguments = ["contrast", "build", f"a2d-sentences:{source}", "--out", out_given, "--labeler", LABELER, *words]
        monkeypatch.setattr(sys, "argv", ["locater", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        told = capfd.readouterr()
        assert stop.value.code == 2 and told.out == "" and told.err.count("\n") == 1 and expected in told.err, told.err
    assert not Path(out).exists()
    monkeypatch.setattr(sys, "argv", ["locater", "contrast", "pairs", "nothing-like-it"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2 and "There is no dataset 'nothing-like-it'" in capfd.readouterr().err


def test_two_builds_do_not_share_a_folder(source: Path, whole: Path) -> None:
    with (whole / "build.json").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(LocaterError, match="Another build is at work"):
            build(opened(source), FakeLabeler(), BuildRequest(whole))


def test_pairs_without_pixels(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "text"
    shutil.copytree(source, root, ignore=shutil.ignore_patterns("*.mp4", "*.h5"))
    lines = tmp_path / "pairs.jsonl"
    arguments = ["contrast", "pairs", f"a2d-sentences:{root}", "--labeler", LABELER, "--out", str(lines)]
    monkeypatch.setattr(sys, "argv", ["locater", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    told = capfd.readouterr().out
    assert stop.value.code == 0 and "| queries | 7 | 4 | 5 | 5 |" in told and "5 of 7 queries have a contrast" in told
    assert len(lines.read_text().splitlines()) == 7


def test_only_the_datasets_own_sentences_are_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`locater evaluate davis` asks wrong sentences too; a pair with one of them would have a false truth."""
    make_davis(tmp_path / "davis")
    lines = tmp_path / "pairs.jsonl"
    arguments = ["contrast", "pairs", f"davis:{tmp_path / 'davis'}", "--labeler", LABELER, "--out", str(lines)]
    monkeypatch.setattr(sys, "argv", ["locater", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0, capfd.readouterr().err
    queries = [json.loads(line)["query"] for line in lines.read_text().splitlines()]
    own = {
        f"{name}/{kind}": text for name, each in described_sequences().items() for kind, text in each.sentences.items()
    }
    assert {query["source"]["key"]: query["expression"] for query in queries} == own
