"""What `locater data check` finds: counts beside the published ones, and every bad file by name."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.datasets.annotated import AnnotatedDataset, Figures
from locater.datasets.catalog import find_annotated, find_source, open_dataset
from locater.errors import LocaterError
from locater.records import SampleInfo


@dataclass(frozen=True)
class Count:
    """One figure found, beside those published; None: it could not be counted, empty: nothing was published."""

    what: str
    found: int | None
    published: tuple[int, ...]

    @property
    def is_fine(self) -> bool:
        """Whether it is a published figure, where one was published."""
        return not self.published or self.found in self.published


@dataclass(frozen=True)
class CheckReport:
    """All that was found."""

    title: str
    counts: tuple[Count, ...]
    problems: tuple[str, ...]

    @property
    def is_fine(self) -> bool:
        """Whether the dataset can be relied on."""
        return not self.problems and all(count.is_fine for count in self.counts)

    def lines(self) -> list[str]:
        """The report as a person reads it."""
        lines = [self.title, *(_count_line(count) for count in self.counts)]
        lines += [f"- {problem}" for problem in self.problems]
        if self.problems:
            return [*lines, f"{len(self.problems)} problem{'s' * (len(self.problems) > 1)} with the files."]
        lines.append("All is well." if self.is_fine else "The counts differ from the published ones.")
        return lines


def check_dataset(
    name: str, root: Path | None, split: str | None, on_video: Callable[[int, int], None] | None = None
) -> CheckReport:
    """The report on one split; it never fails because of the files. `on_video` hears how many videos are done."""
    entry, chosen = find_annotated(name), find_source(name).find_split(split)
    if root is None:
        entry.find_root(name, root)
    title = " ".join(part for part in (name, chosen, "in", str(root)) if part)
    try:
        dataset = open_dataset(name, root, chosen)
        infos = dataset.samples()
    except LocaterError as error:
        return CheckReport(title, (), (str(error),))
    except Exception as error:  # a file that no loader foresaw is still a finding, not a crash
        return CheckReport(title, (), (f"{root} cannot be listed ({type(error).__name__}: {error}).",))
    problems: dict[str, None] = {}  # in order, each once: objects of one video share files
    videos: dict[str, list[SampleInfo]] = {}
    for info in infos:
        videos.setdefault(info.video, []).append(info)
    for done, group in enumerate(videos.values(), start=1):
        problems.update(dict.fromkeys(_problems(dataset, group)))
        if on_video is not None:
            on_video(done, len(videos))
    problems.update(dict.fromkeys(_repeated_keys(infos)))
    counts = _counts(dataset, infos, entry.published.get(chosen, {}))
    return CheckReport(title, counts, tuple(problems))


def _problems(dataset: AnnotatedDataset, group: Sequence[SampleInfo]) -> list[str]:
    found: list[str] = []
    try:
        for line in dataset.problems(group):
            found.append(" ".join(line.split()))
    except Exception as error:  # a check that dies on a file tells nothing about the others
        found.append(f"The video {group[0].video} cannot be checked ({type(error).__name__}: {error}).")
    return found


def _repeated_keys(infos: Sequence[SampleInfo]) -> list[str]:
    times = Counter(info.key for info in infos)
    return [f"The question {key} is there {count} times." for key, count in times.items() if count > 1]


def _counts(dataset: AnnotatedDataset, infos: Sequence[SampleInfo], published: Figures) -> tuple[Count, ...]:
    found: dict[str, int | None] = {
        "videos": len({info.video for info in infos}),
        "objects": len({(info.video, info.object_id) for info in infos if info.object_id is not None}),
        "sentences": len(infos),
    }
    if not found["objects"] and "objects" not in published:  # valid and test sets withhold them
        del found["objects"]
    if "masks" in published:  # only where published: counting them opens every file again
        found["masks"] = _mask_count(dataset, infos)
    return tuple(Count(what, number, _alternatives(published.get(what, ()))) for what, number in found.items())


def _alternatives(figures: int | tuple[int, ...]) -> tuple[int, ...]:
    return (figures,) if isinstance(figures, int) else figures


def _mask_count(dataset: AnnotatedDataset, infos: Sequence[SampleInfo]) -> int | None:
    try:
        return sum(len(dataset.load(info).masks) for info in infos)
    except Exception:  # named among the problems already
        return None


def _count_line(count: Count) -> str:
    found = "not countable" if count.found is None else f"{count.found:,}"
    line = f"{count.what:<10}{found:>14}"
    if not count.published:
        return line
    published = " or ".join(f"{figure:,}" for figure in count.published)
    return f"{line}  of {published} published{'' if count.is_fine else '  <- differs'}"
