"""What the documents say of commands and files is so."""

import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from locater.bench.catalog import ALL, BENCHMARKS
from locater.cli import app as cli
from locater.datasets.catalog import CATALOG

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
LINKING = [*GUIDES, ROOT / "CHANGELOG.md", ROOT / "dev" / "LOG.md"]
TODAYS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS]
SHORT = ("results.md", "default.md")
MOST_LINES = 100
DIARY = re.compile(r"throwaway|the (?:checkpoint|one) before|earlier (?:round|recipe)", re.IGNORECASE)
# Where a newcomer looks: how a mask is remembered (Eq. 6), where a dataset is added, where a mask is written.
ASKED_FOR = ("src/locater/model/memory.py", "src/locater/datasets/catalog.py", "src/locater/video/writer.py")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
OUR_COMMAND = re.compile(r"(?<![\w./\-])locater[ \t]+([a-z][\w-]*)(?:[ \t]+([\w-]+))?(.*)")
OUR_MODULE = re.compile(r"python3? -m ((?:experiments|tools|tests)(?:\.\w+)+)(.*)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIGURE = re.compile(r"(?<![\w.])\d*\.\d+")
A_COMMAND = re.compile(r"(?:^    |`)(?:\w+=\S+ )*(?:locater|python -m|pytest|make) ", re.MULTILINE)


@dataclass(frozen=True)
class Named:
    """A command that a document names, with the options it is given there."""

    words: tuple[str, ...]
    options: tuple[str, ...]
    where: str


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code_lines(text: str) -> Iterator[str]:
    """Every line of shell code: of fences that are no other language, indented, or between backticks."""
    prose = FENCE.sub("\n", text)
    fenced = [body for language, body in FENCE.findall(text) if language in ("", "bash", "sh")]
    indented = "\n".join(line for line in prose.splitlines() if line.startswith("    "))
    for block in (*fenced, indented):
        yield from re.sub(r"\\\n\s*", " ", block).splitlines()
    yield from re.findall(r"(?<!`)`([^`]+)`(?!`)", prose.replace("\n", " "))


def options_in(rest: str) -> tuple[str, ...]:
    asked = re.split(r"\s#|&&|\|\s", rest)[0]
    return tuple(re.findall(r"(?<![\w-])--[a-z][\w-]*", asked))


@cache
def our_commands() -> Sequence[Named]:
    groups = {group.name for group in cli.app.registered_groups}
    found = []
    for path in GUIDES:
        for line in code_lines(read(path)):
            for first, second, rest in OUR_COMMAND.findall(line):
                words = (first, second) if first in groups and second else (first,)
                found.append(Named(words, options_in(f" {second}{rest}"), path.name))
    return found


def modules() -> Sequence[Named]:
    return [
        Named((name,), options_in(rest), path.name)
        for path in GUIDES
        for line in code_lines(read(path))
        for name, rest in OUR_MODULE.findall(line)
    ]


def distinct(named: Sequence[Named]) -> list[tuple[str, ...]]:
    return sorted({each.words for each in named})


def printed_help(words: Sequence[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What `--help` prints, by the program itself."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", [*words, "--help"])
    with pytest.raises(SystemExit) as stop:
        if words[0] == "locater":
            cli.main()
        else:
            monkeypatch.delitem(sys.modules, words[0], raising=False)  # as a program it begins afresh
            runpy.run_module(words[0], run_name="__main__")
    assert not stop.value.code, f"{' '.join(words)} --help ends with {stop.value.code}"
    return capsys.readouterr().out


def anchors(text: str) -> set[str]:
    """The names that GitHub gives to a document's headings."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> list[str]:
    """A document's relative links."""
    found = LINK.findall(FENCE.sub("", read(path)))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def linked_files(path: Path) -> set[Path]:
    return {(path.parent / link.partition("#")[0]).resolve() for link in links(path)}


def test_documents_name_commands() -> None:
    assert len(distinct(our_commands())) >= 15 and len(distinct(modules())) >= 8  # else the tests below find nothing


@pytest.mark.parametrize("words", distinct(our_commands()), ids=" ".join)
def test_every_command_has_its_help_and_the_options_that_documents_give_it(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = printed_help(["locater", *words], monkeypatch, capsys)
    assert "Usage: " in known
    given = {(option, each.where) for each in our_commands() if each.words == words for option in each.options}
    assert {(option, where) for option, where in given if not re.search(rf"{option}(?![\w-])", known)} == set()


@pytest.mark.parametrize("words", distinct(modules()), ids=" ".join)
def test_every_program_has_its_help_and_the_options_that_documents_give_it(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = printed_help(words, monkeypatch, capsys)
    assert "usage: " in known
    given = {(option, each.where) for each in modules() if each.words == words for option in each.options}
    assert {(option, where) for option, where in given if not re.search(rf"{option}(?![\w-])", known)} == set()


def test_every_benchmark_that_is_named_exists() -> None:
    lines = (line for path in GUIDES for line in code_lines(read(path)))
    named = {name for line in lines for name in re.findall(r"(?<![\w./\-])locater bench ([a-z][\w-]*)", line)}
    assert named and named <= {*BENCHMARKS, ALL}


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = []
    for link in links(path):
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (anchor and anchor not in anchors(read(target))):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("path", TODAYS, ids=lambda path: path.name)
def test_documents_tell_what_is_and_the_log_how_it_came_about(path: Path) -> None:
    assert DIARY.findall(" ".join(read(path).split())) == []


@pytest.mark.parametrize("name", SHORT)
def test_results_are_read_in_one_sitting(name: str) -> None:
    assert len(read(ROOT / "docs" / name).splitlines()) <= MOST_LINES


def test_documents_score_data_that_the_catalog_has() -> None:
    lines = [line for path in GUIDES for line in code_lines(read(path))]
    found = {name for line in lines for name in re.findall(r"locater score \S+ ([\w+-]+):", line)}
    assert len(found) > 4 and found <= CATALOG.keys()


def test_every_figure_stands_by_its_command() -> None:
    text = read(ROOT / "docs" / "results.md")
    parts = re.split(r"^(?=## |\*\*|- \*\*)", text, flags=re.MULTILINE)  # each is about one measurement
    with_figures = [part for part in parts if FIGURE.search(part)]
    assert with_figures
    assert [part.splitlines()[0] for part in with_figures if not A_COMMAND.search(part)] == []


@pytest.mark.parametrize("file", ASKED_FOR)
def test_a_newcomer_finds_the_file_in_two_clicks(file: str) -> None:
    near = [path for path in linked_files(ROOT / "README.md") if path.suffix == ".md"]
    assert [path.name for path in near if ROOT / file in linked_files(path)]
