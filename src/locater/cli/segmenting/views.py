"""Views of a video as a person types them: `--scales 0.75,1,1.25 --flip`."""

from typing import TYPE_CHECKING

from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.records import Views


def read_views(scales: str, flip: bool) -> "Views":
    """What was typed."""
    from locater.records import Views

    try:
        numbers = tuple(float(part) for part in scales.split(","))
    except ValueError:
        raise LocaterError(f"--scales '{scales}' cannot be read; write numbers with commas, as 0.75,1,1.25.") from None
    return Views(numbers, flip)
