"""The fit of a grounding module on batches of candidates, and how often it then chooses rightly."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.config import GroundingConfig, TrainingConfig
from locater.model.grounding.grounding import Grounding, Scene
from locater.model.locater import Locater
from locater.records import Batch
from locater.training.data.batches import NUMBERS_PER_SEED, TrainingData, reached_weights
from locater.training.data.world import WorldData
from locater.training.grounding.candidates import candidates_as_in_use, candidates_of, iou
from locater.training.optimizer import polynomial
from locater.worlds.batches import ClipSettings

RATE, DECAY, WARMUP = 1e-3, 0.05, 50
SHARPNESS = 0.1  # differences of IoU that count in the choice among candidates
MADE = 0.5  # of the steps: so long candidates are made; then networks' are among them, and every other set is as in use
NEAR = 0.05  # of IoU: a candidate so near to the best is a right choice too


@dataclass(frozen=True)
class Choices:
    """How candidates of held-out sentences were chosen."""

    sets: int
    right: float  # share of sets whose choice has the best candidate's IoU, or `NEAR` it
    chosen: float  # mean IoU of the choices
    best: float  # ... of the best candidates
    by_chance: float  # share of candidates that would have been right


def fit(
    backbone: Locater,
    config: GroundingConfig,
    batches: Iterator[Batch],
    weak: Sequence[Locater],
    steps: int,
    seed: int = 0,
    listen: Callable[[int, float], None] = lambda _, __: None,
) -> Grounding:
    """A grounding module for what `backbone` sees; `listen` hears each step's number and loss.

    The masks of `weak` networks come in the second half, once it knows right from wrong and for less time; of two or
    more they are then every other set alone: members' masks are what it is to choose among.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = Grounding(config, backbone.config.width).to(backbone.memory.local_start.device)
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, polynomial(steps, min(WARMUP, steps // 4), 0.9))
    for step in range(1, steps + 1):
        batch = next(batches)
        networks = weak if step > MADE * steps else ()
        is_as_in_use = len(networks) > 1 and step % 2 == 0
        masks = (candidates_as_in_use if is_as_in_use else candidates_of)(batch, networks, generator)
        loss = _loss(_scored(backbone, module, batch, masks), iou(masks, batch.masks, batch.is_annotated))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        listen(step, float(loss.detach()))
    return module.eval()


@torch.no_grad()
def choose(
    backbone: Locater, module: Grounding, batches: Iterator[Batch], weak: Sequence[Locater], count: int, seed: int = 1
) -> Choices:
    """How the module chooses on `count` batches that it was not trained on."""
    generator = torch.Generator().manual_seed(seed)
    right, chosen, best, by_chance = [], [], [], []
    for _ in range(count):
        batch = next(batches)
        masks = candidates_of(batch, weak, generator)
        good = iou(masks, batch.masks, batch.is_annotated)
        picked = _scored(backbone, module, batch, masks).argmax(1, keepdim=True)
        top = good.amax(1)
        chosen.append(good.gather(1, picked)[:, 0])
        best.append(top)
        right.append((chosen[-1] >= top - NEAR).float())
        by_chance.append((good >= top[:, None] - NEAR).float().mean(1))
    means = [float(torch.cat(each).mean()) for each in (right, chosen, best, by_chance)]
    return Choices(sum(map(len, right)), *means)


def drawn(
    data: TrainingData, config: TrainingConfig, device: torch.device, seed: int, *, is_held_out: bool = False
) -> Iterator[Batch]:
    """Batches without end: of the training split, or held-out ones of the validation split."""
    number = seed * NUMBERS_PER_SEED
    while True:
        numbers = range(number, number + config.batch_size)
        yield data.draw(_held_out(data, config, numbers) if is_held_out else data.plan(numbers, 1.0), device)
        number += config.batch_size


def _held_out(data: TrainingData, config: TrainingConfig, numbers: Sequence[int]) -> object:
    if not isinstance(data, WorldData):
        return data.validation(data.kinds[0], [number % NUMBERS_PER_SEED for number in numbers])
    settings = ClipSettings(
        config.clip_frames,
        0,
        config.clip_strides,
        reached_weights(config, data.kinds, 1.0),
        config.sentences,
        split="validation",
    )
    return data.batches.clips(numbers, settings)


def _scored(backbone: Locater, module: Grounding, batch: Batch, masks: Tensor) -> Tensor:
    with torch.no_grad():
        tokens = backbone.text.trimmed(backbone.text.tokenize(batch.expressions))
        words = backbone.text(tokens.to(batch.frames.device))
        scene = Scene.of(backbone, batch.frames, batch.times, words)
    logits: Tensor = module(scene, masks, ~batch.is_annotated)
    return logits


def _loss(logits: Tensor, good: Tensor) -> Tensor:
    """Each score is its candidate's IoU, and the choice among a sentence's candidates goes to the best."""
    each = F.binary_cross_entropy_with_logits(logits, good)
    return each + F.cross_entropy(logits, (good / SHARPNESS).softmax(1))
