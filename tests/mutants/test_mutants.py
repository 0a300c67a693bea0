"""Mutants never go stale unnoticed, and their runner tells a killed one from one that lives."""

import ast
from pathlib import Path

import pytest

from tests.mutants.catalog import MUTANTS
from tests.mutants.record import Mutant
from tests.mutants.runner import FailingTestsError, Verdict, run_mutants

PROJECT = Path(__file__).parents[2]


def test_every_mutant_fits_the_source_and_names_tests_that_exist() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names))
    stale = {mutant.name: mutant.staleness(PROJECT) for mutant in MUTANTS}
    assert not {name: reason for name, reason in stale.items() if reason}
    for mutant in MUTANTS:
        assert mutant.tests and mutant.why and mutant.old != mutant.new, mutant.name
        ast.parse(mutant.applied(mutant.source(PROJECT).read_text(encoding="utf-8")), mutant.name)


ADD = "def add(a, b):\n    return a + b\n\n\ndef half(a):\n    return a / 2\n"
TESTS = "from locater.sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package of two functions, one of them tested."""
    for path, text in (("src/locater/__init__.py", ""), ("src/locater/sums.py", ADD), ("tests/test_sums.py", TESTS)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def mutant(name: str, old: str, new: str, test: str = "test_sums.py::test_add") -> Mutant:
    return Mutant(name, "sums.py", old, new, (test,), "it matters")


def test_a_mutant_is_killed_survives_or_is_stale(project: Path) -> None:
    mutants = [
        mutant("noticed", "a + b", "a - b"),
        mutant("unnoticed", "a / 2", "a / 3"),
        mutant("gone", "a * b", "a - b"),
        mutant("twice", "return a", "return b"),
        mutant("untested", "a + b", "a - b", "test_sums.py::test_multiply"),
    ]
    heard = []
    outcomes = run_mutants(mutants, project, listen=lambda outcome: heard.append(outcome.mutant.name))
    verdicts = {outcome.mutant.name: outcome.verdict for outcome in outcomes}
    stale = dict.fromkeys(("gone", "twice", "untested"), Verdict.STALE)
    assert verdicts == {"noticed": Verdict.KILLED, "unnoticed": Verdict.SURVIVED, **stale}
    assert heard == [each.name for each in mutants]
    assert "test_add" in outcomes[0].detail
    assert [outcome.detail for outcome in outcomes[2:]] == [
        "its old text is found 0 times in src/locater/sums.py",
        "its old text is found 2 times in src/locater/sums.py",
        "tests/test_sums.py has no test_multiply",
    ]
    assert (project / "src/locater/sums.py").read_text() == ADD


def test_tests_that_fail_anyway_kill_nothing(project: Path) -> None:
    (project / "tests/test_sums.py").write_text(TESTS.replace("== 5", "== 6"))
    with pytest.raises(FailingTestsError, match="without any mutant"):
        run_mutants([mutant("noticed", "a + b", "a - b")], project)
