"""Content damaged in ways that readers stumble over: bits, cuts, repeats, numbers, brackets, other files' pieces."""

import random
import re
from collections.abc import Callable, Sequence

_NUMBERS = (
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"Infinity",
    b"1180591620717411303424",
    b"null",
    b'"x"',
    b"[]",
    b"{}",
    b"1.5",
)
_WORDS = (b"[" * 2000, b"\x00", b"\xff\xfe", b"\x1b[2J", b'"', b"}", b"\n" * 50, b"9" * 5000, b"../" * 9, b"%s%n")


def damaged(content: bytes, corpus: Sequence[bytes], number: int) -> bytes:
    """The content with one to six kinds of damage; the number decides which."""
    draw = random.Random(number)
    result = bytearray(content)
    for _ in range(draw.randint(1, 6)):
        draw.choice(_KINDS)(result, corpus, draw)
    return bytes(result)


def _place(content: bytearray, draw: random.Random) -> int:
    # Headers decide more than what comes after them.
    return draw.randrange(max(1, min(len(content), 400) if draw.random() < 0.5 else len(content)))


def _flip(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    for _time in range(draw.choice((1, 4, 40))):
        if content:
            content[_place(content, draw)] ^= 1 << draw.randrange(8)


def _overwrite(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    at = _place(content, draw)
    value = draw.choice((b"\xff" * 4, b"\x00" * 4, b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", draw.randbytes(16)))
    content[at : at + len(value)] = value


def _cut(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    at = _place(content, draw)
    del content[at : draw.choice((len(content), at + draw.randint(1, 64)))]


def _repeat(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    at = _place(content, draw)
    content[at:at] = content[at : at + draw.choice((4, 64, 1024))] * draw.randint(1, 4)


def _splice(content: bytearray, corpus: Sequence[bytes], draw: random.Random) -> None:
    other = draw.choice(corpus)
    content[_place(content, draw) :] = other[draw.randrange(max(1, len(other))) :]


def _insert(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    at = _place(content, draw)
    content[at:at] = draw.choice(_WORDS)


def _renumber(content: bytearray, _: Sequence[bytes], draw: random.Random) -> None:
    found = list(re.finditer(rb"-?\d+(\.\d+)?", bytes(content[:20000])))
    if found:
        at = draw.choice(found)
        content[at.start() : at.end()] = draw.choice(_NUMBERS)


_KINDS: tuple[Callable[[bytearray, Sequence[bytes], random.Random], None], ...] = (
    *(_flip, _overwrite, _cut, _repeat, _splice, _insert, _renumber),
)
