"""Output formats as a person types them: `--format overlay,png`."""

from locater.errors import LocaterError


def read_formats(text: str) -> tuple[str, ...]:
    """The formats named, all of them known."""
    from locater.video.writer import check_formats

    formats = tuple(name.strip() for name in text.split(",") if name.strip())
    check_formats(formats)
    if not formats:
        raise LocaterError("No output format is left to write; name one with --format, for example overlay.")
    return formats
