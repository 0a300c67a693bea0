"""Kills at the worst moments: just before and just after every rename and exchange, in a process of its own."""

import functools
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from locater.io import exchange, scratch
from locater.io.atomic import atomic_entries, atomic_folder, atomic_path
from locater.io.results_folder import MARKER, results_folder


class Killer:
    """Kills this process at the n-th move of a name, before it happens or after."""

    def __init__(self, at: int, is_after: bool) -> None:
        self.left, self.is_after = at, is_after

    def around(self, move: Callable[..., object]) -> Callable[..., object]:
        def moved(*arguments: object) -> object:
            self.left -= 1
            if self.left == 0 and not self.is_after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = move(*arguments)
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return moved


def killed(work: Callable[[], None], at: int, is_after: bool, has_exchange: bool) -> bool:
    """Whether the work, in a child, came to its `at`-th move and died of it."""
    child = os.fork()
    if child == 0:
        killer = Killer(at, is_after)
        setattr(os, "replace", killer.around(os.replace))  # noqa: B010, what Path.replace calls
        setattr(os, "rename", killer.around(os.rename))  # noqa: B010
        own = exchange.exchanged
        setattr(exchange, "exchanged", killer.around(own) if has_exchange else lambda *_: False)  # noqa: B010
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def put_file(target: Path, text: str) -> None:
    with atomic_path(target) as partial:
        partial.write_text(text)


def put_folder(target: Path, text: str) -> None:
    with atomic_folder(target) as partial:
        (partial / "a").write_text(text)
        (partial / "b").write_text(text)


def put_results(target: Path, text: str) -> None:
    with results_folder(target, "test", force=True) as partial:
        (partial / target.name).mkdir()
        (partial / target.name / "a").write_text(text)
        (partial / "b").write_text(text)


def put_entry(target: Path, text: str) -> None:
    with atomic_entries(target) as partial:
        (partial / "masks").mkdir()
        (partial / "masks" / "a").write_text(text)


def texts(target: Path) -> list[str]:
    """What the files of a target hold, but for the marker and what a person put there."""
    if target.is_file():
        return [target.read_text()]
    return [path.read_text() for path in target.rglob("*") if path.is_file() and path.name not in (MARKER, "notes")]


@pytest.mark.parametrize("has_exchange", [True, False], ids=["exchange", "two renames"])
@pytest.mark.parametrize("put", [put_file, put_folder, put_results, put_entry])
def test_a_kill_at_any_move_leaves_the_old_or_the_new_whole(
    put: Callable[[Path, str], None], has_exchange: bool, tmp_path: Path
) -> None:
    seen: list[list[str]] = []
    for number in itertools.count(2):  # before the first move, after it, before the second, ...
        at, is_after = number // 2, number % 2 == 1
        target = tmp_path / f"{at}-{is_after}" / "out"
        put(target, "old")
        old, new = texts(target), ["new" for _ in texts(target)]
        if target.is_dir():
            (target / "notes").write_text("mine")
        if not killed(functools.partial(put, target, "new"), at, is_after, has_exchange):
            break
        if has_exchange or put is put_file:
            assert texts(target) in (old, new)  # already now, before anybody tidies up
        scratch.remove_abandoned(target.parent)  # what the next run there begins with
        assert texts(target) in (old, new)
        assert [path.name for path in target.parent.iterdir()] == ["out"]
        if put not in (put_file, put_folder):
            assert (target / "notes").read_text() == "mine"
        seen.append(texts(target))
    assert old in seen and new in seen


START = """
import sys, time
from pathlib import Path
from locater.io.results_folder import results_folder
with results_folder(Path(sys.argv[1]), "test", force=True) as partial:
    (partial / "a").write_text("half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_the_next_run_removes_what_a_killed_one_left_but_nothing_of_one_at_work(tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = [
        subprocess.Popen([sys.executable, "-c", START, str(out)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for each in running:
            assert each.stdout is not None and each.stdout.readline() == "writing\n"
        assert len(list(tmp_path.glob(".out.*.partial"))) == 2
        running[0].kill()
        running[0].wait()
        (tmp_path / ".theirs.abcdefgh.partial").mkdir()
        (tmp_path / ".theirs.abcdefgh.partial" / "a").write_text("no lock, so not ours")
        put_results(out, "new")
        assert len(list(tmp_path.glob(".out.*.partial"))) == 1
        assert (tmp_path / ".theirs.abcdefgh.partial" / "a").exists()
    finally:
        for each in running:
            each.kill()
            each.wait()
            assert each.stdout is not None
            each.stdout.close()
    put_results(out, "newer")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".theirs.abcdefgh.partial", "out"]
