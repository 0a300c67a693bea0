"""The libraries of the `data` extra, imported where they are needed, one plain sentence when they are absent."""

import importlib
from typing import Any

from locater.errors import LocaterError


def data_library(name: str) -> Any:
    """The module `name`; a user without it learns how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise LocaterError(
            f"This dataset's files need {package}, which is not installed; run: pip install 'locater[data]'."
        ) from None
