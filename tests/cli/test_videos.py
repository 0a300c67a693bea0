"""Which words are videos, which are sentences, and where results go."""

from pathlib import Path

import pytest

from locater.cli.segmenting.videos import place_results, read_words
from locater.errors import LocaterError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two videos, a folder of pictures, a folder of videos, and a file with a sentence's name."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.mp4", "b.mp4", "shots/s10.mov", "shots/s2.MKV", "shots/.hidden.mov", "frames/1.png", "dog"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    return tmp_path


def names(*words: str, sentences: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    asked = read_words(words, sentences)
    return [str(each) for each in asked.videos], list(asked.sentences)


@pytest.mark.usefixtures("here")
def test_what_exists_is_a_video_and_the_rest_sentences() -> None:
    assert names("a.mp4", "the dog", "the cat?") == (["a.mp4"], ["the dog", "the cat?"])
    assert names("a.mp4", "b.mp4", "the dog") == (["a.mp4", "b.mp4"], ["the dog"])  # what a shell makes of *.mp4
    assert names("*.mp4", "the dog") == (["a.mp4", "b.mp4"], ["the dog"])
    assert names("shots", "the dog") == (["shots/s2.MKV", "shots/s10.mov"], ["the dog"])
    assert names("frames", "the dog") == (["frames"], ["the dog"])
    assert names("a.mp4", "./a.mp4", "the dog") == (["a.mp4"], ["the dog"])
    assert names("a.mp4", "typo.mp4", "the dog") == (["a.mp4", "typo.mp4"], ["the dog"])  # told as missing later
    assert names("no such", "the dog") == (["no such"], ["the dog"])
    assert names("a.mp4", "word " * 2000) == (["a.mp4"], ["word " * 2000])


@pytest.mark.usefixtures("here")
def test_a_sentence_that_is_also_a_file() -> None:
    with pytest.raises(LocaterError, match=r"Say what to segment in a\.mp4, dog"):
        read_words(("a.mp4", "dog"))
    assert names("a.mp4", sentences=("dog",)) == (["a.mp4"], ["dog"])


@pytest.mark.usefixtures("here")
def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(LocaterError, match="Nothing matches"):
        read_words(("*.avi", "the dog"))
    Path("shots/1.png").touch()
    with pytest.raises(LocaterError, match="both pictures and videos"):
        read_words(("shots", "the dog"))


@pytest.mark.usefixtures("here")
def test_where_results_go() -> None:
    def folders(*words: str, out: str | None) -> list[str]:
        asked = read_words((*words, "the dog"))
        return [str(job.out) for job in place_results(asked, None if out is None else Path(out))]

    assert folders("a.mp4", out=None) == ["a.masks"]
    assert folders("a.mp4", out="out") == ["out"]
    assert folders("a.mp4", "b.mp4", out="out") == ["out/a", "out/b"]
    assert folders("a*.mp4", out="out") == ["out/a"]  # a pattern may match more tomorrow
    assert folders("a.mp4", "frames", out=None) == ["a.masks", "frames.masks"]
    for name in ("x/a.mp4", "a.mov"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert folders("a.mp4", "a.mov", "x/a.mp4", out="out")[1:] == ["out/a.mov", "out/x-a.mp4"]
