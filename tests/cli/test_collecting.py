"""Garbage: not looked for while a command imports and loads, and again afterwards, whatever happens."""

import gc

import pytest

from locater.cli.process.collecting import uncollected


def test_nothing_is_collected_inside_and_what_stays_is_not_looked_through_again() -> None:
    before = gc.get_freeze_count()
    with uncollected():
        assert not gc.isenabled()
        kept = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    assert gc.isenabled() and gc.get_freeze_count() >= before + len(kept)
    gc.unfreeze()


def test_it_ends_with_an_error_and_stays_off_where_it_was_off() -> None:
    with pytest.raises(ValueError), uncollected():
        raise ValueError
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
