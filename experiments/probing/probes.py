"""Four questions to frozen features: two on what things are, two on where they end (see encoders.py)."""

from collections import Counter
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from experiments.probing.photos import MASK_SIDE, Photo
from experiments.probing.ridge import FOLDS, Judgements, Moments, Probe, held_out_score
from locater.model.visual.encoder import VisualEncoder
from locater.records import VisualFeatures

MIN_CELLS = 3  # of 20 x 20; a smaller thing is averaged over its neighbours rather than itself
MIN_THINGS = 9  # a class with fewer things, or photographs, is left out ...
MAX_THINGS = 90  # ... and no class has more of a say
EDGE_CELLS = 400  # of a photograph
FINE = MASK_SIDE // 4


@dataclass
class Features:
    """What one encoder says of all photographs."""

    coco: list[Tensor] = field(default_factory=list)  # a photograph: (P, C), half precision
    things: list[Tensor] = field(default_factory=list)  # a photograph: (things, C)
    pets: list[Tensor] = field(default_factory=list)  # (1, C)
    edges: list[Tensor] = field(default_factory=list)  # (EDGE_CELLS, C + early channels)
    early: int = 0


def coverage(masks: Tensor, grid: tuple[int, int]) -> Tensor:
    """How much of each cell of `grid` a mask covers, (things, P)."""
    return F.adaptive_avg_pool2d(masks[:, None].float(), grid).flatten(1)


def averaged(seen: VisualFeatures, photo: Photo) -> Tensor:
    """The mean feature of each thing, (things, C)."""
    share = coverage(photo.masks, seen.grid)
    return share / share.sum(1, keepdim=True).clamp(min=1e-6) @ seen.patches[0, 0]


def extract(encoder: VisualEncoder, photos: dict[str, list[Photo]], pixels: int) -> Features:
    """Its features of every photograph."""
    size = round(pixels / encoder.patch_size) * encoder.patch_size
    result = Features(early=sum(encoder.early_channels))
    for photo in photos["coco"]:
        seen = encoder(photo.pixels(size))
        result.coco.append(seen.patches[0, 0].half())
        result.things.append(averaged(seen, photo))
    for photo in photos["pets"]:
        result.pets.append(averaged(encoder(photo.pixels(size)), photo))
    for photo in photos["horses"]:
        seen = encoder(photo.pixels(size))
        patches = rearrange(seen.patches[0], "one (r c) d -> one d r c", r=seen.grid[0])
        maps = [patches, *(fine[0] for fine in seen.early)]
        cells = torch.cat([F.interpolate(fine, size=(FINE, FINE), mode="bilinear")[0] for fine in maps])
        result.edges.append(cells.flatten(1).T[edge_cells(photo)[0]].half())
    return result


def edge_cells(photo: Photo) -> tuple[Tensor, Tensor]:
    """Cells of 4 pixels within 8 pixels of the outline, as many inside as outside, and whether each is inside."""
    is_on = F.avg_pool2d(photo.masks[:, None].float(), 4) > 0.5
    spread = F.max_pool2d(is_on.float(), 5, stride=1, padding=2) > 0
    core = F.max_pool2d((~is_on).float(), 5, stride=1, padding=2) == 0
    generator = torch.Generator().manual_seed(0)
    chosen = []
    for side in ((is_on & ~core).flatten().nonzero()[:, 0], (spread & ~is_on).flatten().nonzero()[:, 0]):
        chosen.append(side[torch.randint(len(side), (EDGE_CELLS // 2,), generator=generator)])
    cells = torch.cat(chosen)
    return cells, is_on.flatten()[cells]


# ---- Questions -------------------------------------------------------------------------------------------------------


def things(features: Features, photos: list[Photo]) -> float:
    """The class of a thing from its average feature: the mean over classes of the share that is right."""
    rows: list[tuple[int, int, Tensor]] = []  # fold, label, feature
    counts: Counter[int] = Counter()
    for index, photo in enumerate(photos):
        areas = coverage(photo.masks, (20, 20)).sum(1)
        for label, area, feature in zip(photo.labels, areas, features.things[index], strict=True):
            if area >= MIN_CELLS and counts[label] < MAX_THINGS:
                counts[label] += 1
                rows.append((index % FOLDS, label, feature[None].float()))
    classes = sorted(label for label, count in counts.items() if count >= MIN_THINGS)
    rows = [row for row in rows if row[1] in classes]
    folds = [Moments() for _ in range(FOLDS)]
    for fold, label, feature in rows:
        target = torch.tensor([[float(label == c) for c in classes]])
        folds[fold].add(feature, target, weight=1 / counts[label])  # a class is as important as any other

    def judge(probe: Probe, fold: int) -> Judgements:
        own = [(label, feature) for place, label, feature in rows if place == fold]
        guesses = probe(torch.cat([feature for _, feature in own])).argmax(1).tolist()
        return [(label, float(classes[guess] == label)) for (label, _), guess in zip(own, guesses, strict=True)]

    return held_out_score(folds, judge)


def found(features: Features, photos: list[Photo]) -> float:
    """Of the patches of a class, how many are among as many best-scored ones; the mean over classes."""
    side = round(len(features.coco[0]) ** 0.5)
    shares = [class_shares(photo, side) for photo in photos]
    counts = Counter(label for share in shares for label in share)
    classes = sorted(label for label, count in counts.items() if count >= MIN_THINGS)
    folds = [Moments() for _ in range(FOLDS)]
    for index, share in enumerate(shares):
        target = torch.stack([share.get(c, torch.zeros(side**2)) for c in classes], dim=1)
        folds[index % FOLDS].add(features.coco[index].float(), target)

    def judge(probe: Probe, fold: int) -> Judgements:
        result: Judgements = []
        for index in range(fold, len(photos), FOLDS):
            scores = probe(features.coco[index].float())
            for label in set(shares[index]) & set(classes):
                is_on = shares[index][label] > 0.5
                best = scores[:, classes.index(label)].topk(int(is_on.sum())).indices
                result.append((label, float(is_on[best].float().mean())))
        return result

    return held_out_score(folds, judge)


def class_shares(photo: Photo, side: int) -> dict[int, Tensor]:
    """How much of each patch (P,) a class covers, for the classes that are not too small."""
    shares: dict[int, Tensor] = {}
    for label, thing in zip(photo.labels, coverage(photo.masks, (side, side)), strict=True):
        shares[label] = (shares.get(label, torch.zeros(())) + thing).clamp(max=1)
    return {label: share for label, share in shares.items() if (share > 0.5).sum() >= MIN_CELLS}


def breeds(features: Features, photos: list[Photo]) -> float:
    """The share of animals whose five nearest neighbours vote for their breed."""
    pooled = torch.cat(features.pets).float()
    labels = torch.tensor([photo.labels[0] for photo in photos])
    unit = F.normalize((pooled - pooled.mean(0)) / pooled.std(0).clamp(min=1e-6), dim=1)
    alike = (unit @ unit.T).fill_diagonal_(-2)
    near = alike.topk(5, dim=1)
    votes = torch.zeros(len(labels), int(labels.max()) + 1).scatter_add_(1, labels[near.indices], near.values)
    return float((votes.argmax(1) == labels).float().mean())


def edges(features: Features, photos: list[Photo]) -> float:
    """The share of cells near an outline that are put on the right side of it."""
    inside = [edge_cells(photo)[1] for photo in photos]
    folds = [Moments() for _ in range(FOLDS)]
    for index, (cells, is_in) in enumerate(zip(features.edges, inside, strict=True)):
        folds[index % FOLDS].add(cells.float(), is_in.float()[:, None])

    def judge(probe: Probe, fold: int) -> Judgements:
        guesses = ((probe(features.edges[i].float())[:, 0] > 0.5, inside[i]) for i in range(fold, len(photos), FOLDS))
        return [(0, float((guess == is_in).float().mean())) for guess, is_in in guesses]

    return held_out_score(folds, judge)
