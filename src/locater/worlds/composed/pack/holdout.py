"""Classes kept from training: named ones, or a share of all that hangs on nothing but their nouns."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from locater.errors import LocaterError
from locater.worlds.composed.pack.kinds import BROADEST
from locater.worlds.composed.pack.nouns import is_person, plain


@dataclass(frozen=True)
class HoldOut:
    """What is held out."""

    nouns: frozenset[str] = frozenset()
    percent: int = 0  # of all classes but people

    @staticmethod
    def of(items: Iterable[str]) -> "HoldOut":
        """From words as a command line has them: nouns, and perhaps a share such as 5%."""
        words = [item.strip() for item in items]
        shares = [word.removesuffix("%") for word in words if word.endswith("%")]
        if any(not share.isdecimal() or not 0 < int(share) <= 50 for share in shares) or len(shares) > 1:
            raise LocaterError("A share of classes to hold out is one number from 1% to 50%; change --hold-out.")
        nouns = frozenset(plain(word) for word in words if word and not word.endswith("%"))
        return HoldOut(nouns, int(shares[0]) if shares else 0)

    def covering(self, noun: str, broader: Sequence[str]) -> str:
        """The held-out class that a thing of these nouns belongs to; "" for none."""
        named = (noun, *broader)
        chosen = next((each for each in named if each in self.nouns), "")
        # All dogs or none: a beagle is not new to who knows other dogs.
        whole = [each for each in named if each not in BROADEST]
        if chosen or not whole or is_person(whole[-1]):
            return chosen
        return whole[-1] if _chance(whole[-1]) < self.percent else ""


def _chance(noun: str) -> int:
    """A number from 0 to 99 that is always the same for a noun."""
    return int.from_bytes(hashlib.sha256(f"held out: {noun}".encode()).digest()[:4], "big") % 100
