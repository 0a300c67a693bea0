"""What the encoder sees in named crops, and the file that keeps it: looking takes minutes, a fit seconds."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from locater.errors import LocaterError
from locater.inference.judging import look_at
from locater.io.atomic import atomic_path
from locater.model.locater import Locater
from locater.training.second_look.crops import NamedCrop
from locater.training.second_look.labels import Called
from locater.worlds.composed.pack.holdout import HoldOut

_AT_A_TIME = 32  # crops


@dataclass(frozen=True)
class Seen:
    """N crops, looked at."""

    seen: Tensor  # (N, C)
    taken_for: Tensor  # (N, E)
    called: tuple[Called, ...]

    def without(self, held_out: HoldOut) -> "Seen":
        """The same, but for crops of what is held out."""
        kept = [row for row, each in enumerate(self.called) if not held_out.covering(each.noun, each.broader)]
        if not kept:
            raise LocaterError("Everything is held out; leave nouns away from --hold-out.")
        return Seen(self.seen[kept], self.taken_for[kept], tuple(self.called[row] for row in kept))

    def save(self, path: Path, made_from: str) -> None:
        """Write it, whole or not at all; `made_from` tells what it was made from."""
        called = json.dumps([asdict(each) for each in self.called])
        with atomic_path(path) as partial:
            tensors = {"seen": self.seen.half(), "taken_for": self.taken_for.half()}
            save_file(tensors, partial, metadata={"made_from": made_from, "called": called})

    @classmethod
    def load(cls, path: Path, made_from: str) -> "Seen":
        """What `save` wrote."""
        try:
            with safe_open(path, framework="pt") as file:
                facts = file.metadata() or {}
                seen, taken_for = (file.get_tensor(name).float() for name in ("seen", "taken_for"))
            called = tuple(
                Called(each["noun"], tuple(each["broader"]), tuple(each["denied"]))
                for each in json.loads(facts["called"])
            )
        except (SafetensorError, KeyError, TypeError, ValueError):
            raise LocaterError(f"{path} holds no crops that were looked at; remove it, or name another.") from None
        if facts.get("made_from") != made_from:
            raise LocaterError(f"{path} is of another checkpoint or other pictures; remove it, or name another.")
        return cls(seen, taken_for, called)


def look_at_all(model: Locater, named: Iterable[NamedCrop], listen: Callable[[int], None]) -> Seen:
    """Every crop, looked at; `listen` counts them."""
    parts: list[tuple[Tensor, Tensor]] = []
    called: list[Called] = []
    for some in _at_a_time(named):
        parts.append(look_at(model, [each.pixels for each in some]))
        called += [each.called for each in some]
        listen(len(called))
    if not parts:
        raise LocaterError("There are no named things to learn from; give --pack, or --boxes with --pictures.")
    return Seen(torch.cat([seen for seen, _ in parts]), torch.cat([taken for _, taken in parts]), tuple(called))


def _at_a_time(named: Iterable[NamedCrop]) -> Iterator[list[NamedCrop]]:
    rest = iter(named)
    while some := list(islice(rest, _AT_A_TIME)):
        yield some
