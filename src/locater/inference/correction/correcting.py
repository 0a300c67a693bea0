"""One frame's mask put right: by clicks, a box, or a mask that somebody drew."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.compute.upsample import upsample
from locater.inference.correction.following import UNKNOWN, labels_of, looks_of
from locater.model.visual.refiner import SUREST, Refiner
from locater.records import Click, Correction, Mask

_CERTAIN_AROUND = 0.012  # of the longer side: how far around a click its own word is law
_ANOTHER = 0.5  # of a mask's area: what is clicked and larger may be another thing, else it is a part
_MOST = 0.5  # of a mask's area: a part is smaller
_A_REST = 0.2  # of a mask's area: less is what nobody cared to take out
_TOO_MUCH = 2.0  # of the area of a mask that was right elsewhere: no part of it is as large
_LARGE_PART = 0.05  # of the longer side: how far a part may reach that cannot be told from the thing
_TOUCHING = 5  # pixels of the network's mask across which two parts still touch
_BESIDE_BOX = 0.05  # of the box's sides: how far a mask may stand out of it


@dataclass(frozen=True)
class CorrectedMask:
    """What became of one frame's mask."""

    logits: Tensor  # (h, w)
    labels: Tensor  # (P,), for the frames that follow
    trust: float  # how much the network's own answer is worth there


class FrameView:
    """One frame as corrections see it: a refiner's features of it, or where there is none the visual encoder's."""

    def __init__(self, image: Tensor, refiner: Refiner | None) -> None:
        self.image = image  # (1, D, r, c)
        self.refiner = refiner
        self.grid = (image.shape[-2], image.shape[-1])
        self.looks = looks_of(image)[0]  # (P, D)

    def pointed_at(self, clicks: Sequence[Click], box: Tensor | None, size: tuple[int, int]) -> Tensor:
        """Logits (r', c') of the thing at some clicks or in a box (1, 2, 2), in pixels of a frame of `size` (H, W)."""
        rows, columns = self.grid
        scale = torch.tensor([columns / size[1], rows / size[0]], device=self.image.device)
        places = torch.tensor([[click.x, click.y] for click in clicks], device=self.image.device).view(-1, 2) * scale
        is_inside = torch.tensor([click.is_inside for click in clicks], device=self.image.device, dtype=torch.bool)
        if self.refiner is None:
            return self._alike(places, is_inside) if box is None else self._inside(box * scale)
        longer = max(self.grid)
        return self.refiner.pointed_at(
            self.image, places / longer, is_inside, None if box is None else box * scale / longer
        ).float()

    def _alike(self, places: Tensor, is_inside: Tensor) -> Tensor:
        """What looks like the places inside rather than like the average of all, or like a place outside."""
        columns = self.grid[1]
        cells = places.floor().long()
        likeness = self.looks.float() @ self.looks[cells[:, 1] * columns + cells[:, 0]].float().T  # (P, A)
        inside = likeness[:, is_inside].amax(1)
        outside = likeness[:, ~is_inside].amax(1) if not is_inside.all() else torch.full_like(inside, UNKNOWN)
        return (SUREST * (inside - outside.clamp_min(UNKNOWN))).view(self.grid)

    def _inside(self, box: Tensor) -> Tensor:
        """All that lies in a box, in cells."""
        (left, top), (right, bottom) = box[0].tolist()
        y, x = (torch.arange(side, device=box.device) + 0.5 for side in self.grid)
        is_in = ((top <= y) & (y <= bottom))[:, None] & ((left <= x) & (x <= right))
        return torch.where(is_in, SUREST, -SUREST)


def corrected_mask(
    view: FrameView, own: Tensor, followed: Tensor | None, told: Correction, size: tuple[int, int]
) -> CorrectedMask:
    """The mask that a correction makes of a frame of `size` (H, W), from the network's `own` logits (h, w).

    Where another frame was corrected before, `followed` is what followed from that, and is what is corrected here. A
    mask is taken as it is and a box for all that is meant. Clicks change what is there: a part that is clicked into it
    is added, a part that is clicked out of it goes, and something else as large that is clicked takes its place.
    """
    base = own if followed is None else followed
    shape = (base.shape[-2], base.shape[-1])

    def pointed_at(clicks: Sequence[Click], box: Tensor | None = None) -> Tensor:
        return upsample(view.pointed_at(clicks, box, size)[None], shape)[0].clamp(-SUREST, SUREST)

    inside = [click for click in told.clicks if click.is_inside]
    taken_out = torch.zeros_like(base, dtype=torch.bool)
    if told.mask is not None:
        logits = _as_logits(told.mask, base)
    elif told.box is not None:
        box = torch.tensor(told.box, device=base.device).view(1, 2, 2)
        logits = torch.minimum(pointed_at(told.clicks, box), _only_near(told.box, size, base))
    else:
        logits = base.float().clamp(-SUREST, SUREST)
        if inside:
            core = [] if followed is None else _innermost(followed > 0, size)
            thing = torch.maximum(pointed_at([*told.clicks, *core]), _around(inside, size, base))
            if followed is not None and (thing > 0).sum() > _TOO_MUCH * (logits > 0).sum() > 0:
                thing = torch.minimum(thing, _around(inside, size, base, _LARGE_PART))
            if (thing > 0).sum() > _ANOTHER * (logits > 0).sum():
                logits = torch.where(_touching(logits > 0, thing > 0), logits, -SUREST)
            logits = torch.maximum(thing, logits)
        for click in told.clicks:
            if not click.is_inside and logits[_cell(click, size, shape)] > 0:
                part = pointed_at([Click(click.x, click.y), *(Click(c.x, c.y, False) for c in inside)]) > 0
                is_known = followed is not None or bool(inside)  # then most of it is right
                if is_known and (part & (logits > 0)).sum() > _MOST * (logits > 0).sum():
                    part &= _around([click], size, base, _LARGE_PART) > 0
                taken_out |= part
        logits = torch.where(taken_out, -SUREST, logits)
    logits = torch.maximum(logits, _around(inside, size, base))
    outside = _around([click for click in told.clicks if not click.is_inside], size, base)
    logits = torch.minimum(logits, -outside)
    is_said = followed is not None or bool(inside) or told.box is not None or told.mask is not None
    # Who takes out a part has looked at the rest.
    says_what = is_said or bool((logits > 0).sum() > _A_REST * (own > 0).sum())
    return _judged(view, own, logits, taken_out | (outside > 0), says_what)


def _judged(view: FrameView, own: Tensor, logits: Tensor, taken_out: Tensor, says_what: bool) -> CorrectedMask:
    """The mask with what it teaches: not what the object is where nobody said so, but what it is not."""
    mask, before = logits > 0, own > 0
    if not says_what:
        labels = F.adaptive_avg_pool2d((~taken_out).float()[None], view.grid).flatten() * UNKNOWN
        return CorrectedMask(logits, labels, trust=1.0)
    trust = (mask & before).sum() / (mask | before).sum().clamp_min(1)
    return CorrectedMask(logits, labels_of(logits[None], view.grid)[0], float(trust))


def _as_logits(mask: Mask, like: Tensor) -> Tensor:
    given = torch.from_numpy(mask.astype("float32")).to(like.device)[None, None]
    share = F.interpolate(given, size=like.shape, mode="bilinear", antialias=True)[0, 0]
    return (2 * share - 1) * SUREST


def _only_near(box: tuple[float, float, float, float], size: tuple[int, int], like: Tensor) -> Tensor:
    """The surest "yes" in a box and a little beside it, else the surest "no"."""
    left, top, right, bottom = box
    x_margin, y_margin = _BESIDE_BOX * (right - left), _BESIDE_BOX * (bottom - top)
    y, x = _pixels(size, like)
    is_near = (
        ((top - y_margin <= y) & (y <= bottom + y_margin))[:, None] & (left - x_margin <= x) & (x <= right + x_margin)
    )
    return torch.where(is_near, SUREST, -SUREST)


def _around(clicks: Sequence[Click], size: tuple[int, int], like: Tensor, reach: float = _CERTAIN_AROUND) -> Tensor:
    """The surest "yes" right around some clicks, else the surest "no"."""
    near = torch.zeros_like(like, dtype=torch.bool)
    y, x = _pixels(size, like)
    # Two of the network's pixels at least: a mask is resized to the frame's size afterwards.
    radius = max(reach * max(size), 2 * max(size[0] / like.shape[0], size[1] / like.shape[1]))
    for click in clicks:
        near |= (y - click.y).square()[:, None] + (x - click.x).square() <= radius**2
    return torch.where(near, SUREST, -SUREST)


def _touching(mask: Tensor, seed: Tensor) -> Tensor:
    """Those parts of `mask` (h, w) that touch `seed`."""
    reached = seed
    while True:
        grown = F.max_pool2d(reached[None].float(), _TOUCHING, stride=1, padding=_TOUCHING // 2)[0] > 0
        grown = grown & mask | reached
        if torch.equal(grown, reached):
            return reached & mask
        reached = grown


def _innermost(mask: Tensor, size: tuple[int, int]) -> list[Click]:
    """A click where `mask` (h, w) is thickest; none where it is empty."""
    left = mask
    while (thinner := -F.max_pool2d(-left[None].float(), 3, stride=1, padding=1)[0] > 0).any():
        left = thinner
        if left.all():
            break
    places = left.nonzero()
    if not len(places):
        return []
    row, column = places[len(places) // 2].tolist()
    return [Click((column + 0.5) * size[1] / mask.shape[1], (row + 0.5) * size[0] / mask.shape[0])]


def _cell(click: Click, size: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
    """The network's pixel under a click."""
    return int(click.y / size[0] * shape[0]), int(click.x / size[1] * shape[1])


def _pixels(size: tuple[int, int], like: Tensor) -> tuple[Tensor, Tensor]:
    """Where the middles of the network's pixels are in a frame of `size`: y (h,) and x (w,)."""
    y, x = ((torch.arange(n, device=like.device) + 0.5) * full / n for n, full in zip(like.shape, size, strict=True))
    return y, x
