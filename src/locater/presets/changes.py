"""Settings as a person writes them behind --set."""

from collections.abc import Sequence
from typing import Any

import yaml

from locater.errors import LocaterError
from locater.presets.numbers import load_yaml


def parse_changes(assignments: Sequence[str]) -> dict[str, Any]:
    """Nested settings from `memory.write=paper` and its like, each value read as YAML."""
    changes: dict[str, Any] = {}
    for assignment in assignments:
        path, is_assigned, text = assignment.partition("=")
        if not is_assigned or not path:
            raise LocaterError(f"'{assignment}' is no setting; write it as memory.write=paper.")
        *groups, key = path.split(".")
        place = changes
        for group in groups:
            place = place.setdefault(group, {})
            if not isinstance(place, dict):
                raise LocaterError(f"'{assignment}' changes a part of {group}, which another --set gives whole.")
        # YAML 1.1 reads a bare "no" as false, and training.precision has a "no".
        try:
            place[key] = text if text == "no" else load_yaml(text)
        except (yaml.YAMLError, RecursionError, ValueError):
            raise LocaterError(
                f"'{text[:60]}' is no value for {path}; write numbers, names or [lists] of them."
            ) from None
    return changes
