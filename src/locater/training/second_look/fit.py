"""From crops' features and labels to a second look."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.model.second_look import SecondLook, packed

WIDTH = 128
STEPS, BATCH = 1500, 512
RATE, DECAY = 3e-3, 0.05
DROPPED = 0.3  # of a crop's features
NOISE = 0.15  # on the words' directions: so that words near to trained ones are read like them
HARDEST = 30  # false words per crop that count most: near kin
OFTEN = 100  # crops that make a word familiar


@dataclass(frozen=True)
class Lesson:
    """What is learned from: N crops and M words."""

    seen: Tensor  # (N, C)
    taken_for: Tensor  # (N, E)
    is_true: Tensor  # (N, M) bool
    is_known: Tensor  # (N, M) bool
    words: Tensor  # (M, E): directions; zeros where the network has none
    rivals: Tensor  # (M, M) bool: of what the second word names, the first is false, though they are near kin


def fit(lesson: Lesson, seed: int = 0, steps: int | None = None) -> SecondLook:
    """A second look that goes by the lesson; its score's weights are those of an untrained one."""
    steps = STEPS if steps is None else steps
    generator = torch.Generator().manual_seed(seed)
    has_meaning = lesson.words.any(-1)
    is_known = (lesson.is_known & has_meaning).float()
    is_true = lesson.is_true.float() * is_known
    is_false = is_known - is_true
    often = is_true.sum(0) >= OFTEN
    rare = has_meaning & ~often & lesson.rivals.any(1)
    mean, deviation = lesson.seen.mean(0), lesson.seen.std(0) + 1e-3
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        channels, meaning_width = lesson.seen.shape[1], lesson.words.shape[1]
        look = SecondLook(channels, meaning_width, WIDTH, int(often.sum()), rare=int(rare.sum()))
    look.familiar.copy_(lesson.words[often])
    look.rare.copy_(lesson.words[rare])
    known = torch.cat([often.nonzero(), rare.nonzero()]).squeeze(-1)
    look.rivals.copy_(packed(lesson.rivals[known][:, known]))
    optimizer = torch.optim.AdamW(look.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    for _ in range(steps):
        rows = torch.randint(len(lesson.seen), (BATCH,), generator=generator)
        kept = torch.rand(BATCH, lesson.seen.shape[1], generator=generator) >= DROPPED
        seen = (lesson.seen[rows] - mean) / deviation * kept / (1 - DROPPED)
        shaken = lesson.words + NOISE / math.sqrt(lesson.words.shape[1]) * torch.randn(
            lesson.words.shape, generator=generator
        )
        logits = look(seen, lesson.taken_for[rows], F.normalize(shaken, dim=-1))
        loss = _loss(logits, is_true[rows], is_false[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    with torch.no_grad():  # crops come as they are from now on
        look.from_crop.weight.div_(deviation)
        look.from_crop.bias.sub_(look.from_crop.weight @ mean)
    return look.eval()


def _loss(logits: Tensor, is_true: Tensor, is_false: Tensor) -> Tensor:
    """True words as much as false ones, and of these the hardest as much as all."""
    missed = (F.softplus(-logits) * is_true).sum(1) / is_true.sum(1).clamp(min=1)
    taken = F.softplus(logits) * is_false
    hardest = taken.topk(min(HARDEST, taken.shape[1]), dim=1).values.mean(1)
    return (missed + 0.7 * hardest + 0.9 * taken.sum(1) / is_false.sum(1).clamp(min=1)).mean()
