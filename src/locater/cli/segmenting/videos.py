"""Which words of a command name videos and which are sentences, and where each video's results go."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from glob import iglob
from pathlib import Path

from locater.errors import LocaterError


@dataclass(frozen=True)
class Asked:
    """The videos and the sentences of one command."""

    videos: tuple[Path, ...]
    sentences: tuple[str, ...]
    is_one: bool  # a single video was named by its own path, so its results need no folder among others


@dataclass(frozen=True)
class Job:
    """One video and the folder of its results."""

    video: Path
    out: Path


def read_words(words: Sequence[str], sentences: Sequence[str] = (), needs_sentence: bool = True) -> Asked:
    """What exists, or is a pattern of what exists, is a video; so is the first word, and what is named as a video.

    Everything else is a sentence, and so are `sentences`, whatever exists; what is clicked needs none.
    """
    videos: list[Path] = []
    said: list[str] = []
    is_one = True
    for place, word in enumerate(words):
        found = _videos_behind(word, is_first=place == 0)
        if found is None:
            said.append(word)
            continue
        videos += found
        is_one = is_one and [str(each) for each in found] == [str(Path(word))]
    said += sentences
    if not said and needs_sentence:
        raise LocaterError(
            f'Say what to segment in {", ".join(words)}, as in "the dog on the left"; what is also the name of a file '
            "goes to --sentence."
        )
    distinct = list({each.resolve(): each for each in reversed(videos)}.values())[::-1]
    return Asked(tuple(distinct), tuple(said), is_one and len(distinct) == 1)


def place_results(asked: Asked, out: Path | None) -> list[Job]:
    """A folder for each video: `out` itself for one, else one in it by the video's name; without it NAME.masks here."""
    if asked.is_one:
        (video,) = asked.videos
        return [Job(video, out or Path(f"{_name(video)}.masks"))]
    names = _distinct_names(asked.videos)
    return [
        Job(video, Path(f"{name}.masks") if out is None else out / name)
        for video, name in zip(asked.videos, names, strict=True)
    ]


def _videos_behind(word: str, is_first: bool) -> list[Path] | None:
    """The videos that a word names; None of a sentence."""
    from locater.video.finding import is_named_as_video, videos_in

    if not word.strip() and not is_first:
        return None  # an empty word would name the folder one is in
    path = Path(word).expanduser()
    try:
        if path.is_dir():
            return videos_in(path)
        if path.exists():
            return [path]
    except (OSError, ValueError):  # a long sentence is no possible name
        return [path] if is_first else None
    matching = _matching(str(path)) if set(word) & set("*?[") else []
    if matching:
        return [video for each in matching for video in (videos_in(each) if each.is_dir() else [each])]
    if "*" in word:
        raise LocaterError(f"Nothing matches {word}; check the pattern.")
    return [path] if is_first or is_named_as_video(word) else None


def _matching(pattern: str) -> list[Path]:
    from locater.io.pictures import natural_order

    return sorted(map(Path, iglob(pattern, recursive=True)), key=natural_order)  # noqa: PTH207, it takes any pattern


def _name(video: Path) -> str:
    return video.resolve().name if video.is_dir() else video.stem


def _distinct_names(videos: Sequence[Path]) -> list[str]:
    """Names of folders, no two the same: the videos' own, longer ones where several share theirs."""
    longer = [[_name(each), each.name or _name(each), f"{each.resolve().parent.name}-{each.name}"] for each in videos]
    names = [each[0] for each in longer]
    for step in (1, 2):
        counts = Counter(names)
        names = [each[step] if counts[name] > 1 else name for each, name in zip(longer, names, strict=True)]
    counts, taken = Counter(names), Counter[str]()
    numbered = []
    for name in names:
        taken[name] += 1
        numbered.append(f"{name}-{taken[name]}" if counts[name] > 1 else name)
    return numbered
