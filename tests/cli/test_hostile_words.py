"""Sentences and names that somebody made long, or to command the terminal."""

import time
from pathlib import Path

import pytest

from locater.cli.terminal import one_line, printable
from locater.text.words import ForgivingVocabulary
from tests.support.command_line.clips import DOG
from tests.support.command_line.running import Run, refused


def test_a_word_of_16000_letters_is_refused_at_once(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    long = {"x" * 1600: "A word has 1,600 letters", "x" * 16_000: "A sentence has 16,000 characters"}
    for text, told in long.items():
        call = ("segment", video, text, "--checkpoint", checkpoint, "--out", tmp_path / "out")
        assert told in refused(run, tmp_path, *call)
    vocabulary = ForgivingVocabulary(["dog"] * 8000, ["cat"])
    assert vocabulary.read("y" * 16_000) == [vocabulary.UNKNOWN] and vocabulary.guess("y" * 16_000) == ""
    assert time.monotonic() - began < 20


ESCAPE = "\x1b]0;owned\x07\x1b[31m\u202e\x9b2J\udc80"


def test_control_characters_do_not_reach_the_terminal(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    named = tmp_path / f"clip{ESCAPE}[red].mp4"
    named.write_bytes(video.read_bytes())
    ran = run(
        *("segment", named, DOG, f"{DOG} {ESCAPE}", "--checkpoint", checkpoint, "--anyway"),
        *("--out", tmp_path / f"out{ESCAPE}", "--format", "rle"),
    )
    assert ran.code == 0 and "20 frames segmented" in ran.out
    ran_info = run("info", named)
    missing = run("segment", tmp_path / f"none{ESCAPE}.mp4", DOG, "--checkpoint", checkpoint)
    assert missing.code == 2
    for text in (ran.out, ran.err, ran_info.out, ran_info.err, missing.out, missing.err):
        assert not set(text) & set(ESCAPE[0] + "\x07\u202e\x9b\udc80"), repr(text)
    assert "\\x1b" in ran.out and "\\x1b" in missing.err and "[red]" in ran_info.out.replace("\n", "")


@pytest.mark.parametrize("text", ["naïve 左边的狗 🐕 👩\u200d💻", "a\tb", "two\nlines"])
def test_what_is_harmless_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_one_line_is_one_line_of_some_length() -> None:
    assert one_line("a\r\nb\x0bc\u2028d") == "a b c d"
    assert one_line("\x00\x7f") == "\\x00\\x7f"
    assert len(one_line("x" * 10**6)) < 2100
