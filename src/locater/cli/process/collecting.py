"""When garbage is collected: not while a command imports and loads what it keeps to its end."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is collected inside the block, and what is there at its end is never looked through again.

    Importing PyTorch makes half a million objects, all of them to stay; looking for garbage among them, again and
    again, takes a fifth of the time that importing does (`locater bench start`). Once a command: what is garbage by
    then is never found.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
