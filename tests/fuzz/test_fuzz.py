"""A slice of the fuzzing that `make fuzz` does for as long as one likes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.targets import TARGETS

EXAMPLES = {"video": 15, "config": 30, "weights": 20}


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_input_is_a_result_or_one_sentence(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for folder in ("whole", "damaged"):
        (tmp_path / folder).mkdir()
    corpus = target.corpus(tmp_path / "whole")

    @settings(
        max_examples=EXAMPLES.get(name, 60),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32), st.sampled_from(range(len(corpus))))
    def attempt(number: int, place: int) -> None:
        target.run(damaged(corpus[place], corpus, number), tmp_path / "damaged")

    attempt()


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_whole_is_read(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for folder in ("whole", "damaged"):
        (tmp_path / folder).mkdir()
    assert target.run(target.corpus(tmp_path / "whole")[0], tmp_path / "damaged")
