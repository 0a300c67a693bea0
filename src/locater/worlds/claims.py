"""What a sentence claims, and of which objects it is clearly true, clearly false, or neither.

Verdicts are 1 (clearly true), -1 (clearly false) and 0 (too close to call), one an object. A sentence has exactly
one referent when one verdict is 1 and all others are -1; it has none when all are -1. Zero spoils both.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from locater.worlds.scene_objects import Array, SceneObjects

Verdict = npt.NDArray[np.int8]  # (N,)
Bools = npt.NDArray[np.bool_]

BIG_RADIUS, NOT_BIG_RADIUS = 0.138, 0.122
SMALL_RADIUS, NOT_SMALL_RADIUS = 0.088, 0.100

DIRECTIONS = {"left": (0, -1.0), "right": (0, 1.0), "up": (1, -1.0), "down": (1, 1.0)}  # axis, sign
SIDES = {"left": (0, -1.0), "right": (0, 1.0), "top": (1, -1.0), "bottom": (1, 1.0)}
SUPERLATIVE_PLACES = {"leftmost": (0, -1.0), "rightmost": (0, 1.0), "highest": (1, -1.0), "lowest": (1, 1.0)}
RELATIONS = {"left_of": (0, -1.0), "right_of": (0, 1.0), "above": (1, -1.0), "below": (1, 1.0)}

CORNERS = ("top_left", "top_right", "bottom_left", "bottom_right")
POSITIONS = (*SIDES, "middle", *CORNERS, *SUPERLATIVE_PLACES)
MOTIONS = (*(f"moves_{way}" for way in DIRECTIONS), "fast", "slow", "still", "spinning", "growing", "shrinking")
EARLY_EVENTS = ("jump", "flash", "spin", "swell", "shake")  # each ends where and as it began
LATE_EVENTS = (*EARLY_EVENTS, "fall", "grow", "shrink", "dart_left", "dart_right")
# What may be mistaken for the event: another event, or a motion that lasts.
LIKE_EVENTS = {"swell": ("grow",), "grow": ("swell",)}
LIKE_MOTIONS = {
    "spin": "spinning",
    "swell": "growing",
    "grow": "growing",
    "shrink": "shrinking",
    "fall": "moves_down",
    "dart_left": "moves_left",
    "dart_right": "moves_right",
}


@dataclass(frozen=True)
class Looks:
    """What is said of an object's looks; empty is unsaid."""

    noun: str = ""
    colour: str = ""
    texture: str = ""
    size: str = ""  # big, small


@dataclass(frozen=True)
class Claim:
    """What is said beside the looks."""

    topic: str  # size, position, relation, motion, early_event, late_event, occlusion
    name: str
    anchor: Looks = Looks()  # relations only: the object that the referent is left of, ...


@dataclass(frozen=True)
class Description:
    """All that one sentence says of its referent."""

    looks: Looks
    claim: Claim | None = None


def is_unique(verdict: Verdict, index: int) -> bool:
    """Whether object `index` and clearly no other is meant."""
    return bool(verdict[index] == 1 and np.count_nonzero(verdict != -1) == 1)


def is_absent(verdict: Verdict) -> bool:
    """Whether clearly no object is meant."""
    return bool((verdict == -1).all())


def judge(description: Description, objects: SceneObjects) -> Verdict:
    """The verdict of a whole description, (N,)."""
    looks = judge_looks(description.looks, objects)
    claim = description.claim
    result = looks if claim is None else np.minimum(looks, _judge_claim(claim, objects, looks))
    if objects.is_vague:
        result = np.where(np.array(objects.is_vague) & (looks >= 0), np.int8(0), result)
    return result


def judge_looks(looks: Looks, objects: SceneObjects) -> Verdict:
    """The verdict of noun, colour, texture and size, (N,)."""
    result: Verdict = np.array(
        [
            min(
                _judge_word(looks.noun, (objects.nouns[index], *broader), doubtful),
                _judge_word(looks.colour, (objects.colours[index],), doubtful),
                _judge_word(looks.texture, (objects.textures[index],), doubtful),
            )
            for index, (broader, doubtful) in enumerate(
                zip(
                    objects.broader or ((),) * len(objects),
                    objects.doubtful or (frozenset(),) * len(objects),
                    strict=True,
                )
            )
        ],
        dtype=np.int8,
    )
    if objects.is_vague:
        result = np.where(np.array(objects.is_vague), np.minimum(result, np.int8(0)), result)
    if looks.size == "big":
        sizes = _verdict(objects.radii.min(axis=1) >= BIG_RADIUS, objects.radii.max(axis=1) <= NOT_BIG_RADIUS)
        result = np.minimum(result, sizes)
    elif looks.size == "small":
        sizes = _verdict(objects.radii.max(axis=1) <= SMALL_RADIUS, objects.radii.min(axis=1) >= NOT_SMALL_RADIUS)
        result = np.minimum(result, sizes)
    return result


def judge_motion(name: str, objects: SceneObjects) -> Verdict:
    """The verdict of a motion that lasts through the video, (N,)."""
    if name.startswith("moves_"):
        return _judge_direction(objects, *DIRECTIONS[name.removeprefix("moves_")])
    lengths = objects.path_lengths
    if name == "fast":
        return _verdict(lengths >= 0.55, lengths <= 0.30)
    if name == "slow":
        return _verdict((lengths >= 0.10) & (lengths <= 0.26), lengths >= 0.50)
    half = objects.radii.shape[1] // 2
    if name == "spinning":
        turned = np.abs(objects.angles - objects.angles[:, :1])
        halves = np.minimum(turned[:, half], np.abs(objects.angles[:, -1] - objects.angles[:, half]))
        return _verdict((turned[:, -1] >= 3.5) & (halves >= 1.2), turned.max(axis=1) <= 0.3)
    if name == "still":
        extent = np.abs(objects.paths).max(axis=(1, 2))
        turned = np.abs(objects.angles - objects.angles[:, :1]).max(axis=1)
        is_quiet = np.array([not events for events in objects.events])
        resized = np.abs(objects.growths - 1).max(axis=1)
        return _verdict((extent <= 0.02) & (turned <= 0.1) & (resized <= 0.05) & is_quiet, extent >= 0.1)
    ratios = objects.growths if name == "growing" else 1 / objects.growths
    both_halves = np.minimum(ratios[:, half], ratios[:, -1] / ratios[:, half])
    return _verdict((ratios[:, -1] >= 1.5) & (both_halves >= 1.15), ratios.max(axis=1) <= 1.15)


def judge_event(name: str, when: str, objects: SceneObjects) -> Verdict:
    """The verdict of doing `name` in the first (`early`) or last (`late`) third of the video, (N,)."""
    result = np.full(len(objects), -1, dtype=np.int8)
    if name in LIKE_MOTIONS:
        result[judge_motion(LIKE_MOTIONS[name], objects) >= 0] = 0
    for index, events in enumerate(objects.events):
        names = [event.name for event in events if event.when == when]
        if any(event.when == "" for event in events) or any(like in names for like in LIKE_EVENTS.get(name, ())):
            result[index] = 0
        elif name in names:
            result[index] = 1
        elif any(event.name == name for event in events):
            result[index] = -1  # the same, in the other third
    return result


def _judge_claim(claim: Claim, objects: SceneObjects, looks: Verdict) -> Verdict:
    rivals = looks >= 0
    match claim.topic:
        case "position":
            return _judge_position(claim.name, objects, rivals, is_sure=bool((looks != 0).all()))
        case "relation":
            return _judge_relation(claim, objects)
        case "motion":
            return judge_motion(claim.name, objects)
        case "early_event" | "late_event":
            return judge_event(claim.name, claim.topic.removesuffix("_event"), objects)
        case "occlusion":
            most = objects.covered.max(axis=1)
            return _verdict(most >= 0.98, most <= 0.15)
        case "size":
            low, high = np.log(objects.radii.min(axis=1)), np.log(objects.radii.max(axis=1))
            if claim.name == "smallest":
                low, high = -high, -low
            return _superlative(low, high, margin=0.2, rivals=rivals)
    raise ValueError(f"no claims on {claim.topic}")


def _judge_word(said: str, true: tuple[str, ...], doubtful: frozenset[str]) -> int:
    if said == "" or said in true:
        return 1
    return 0 if said in doubtful else -1


def _verdict(is_true: Bools, is_false: Bools) -> Verdict:
    return is_true.astype(np.int8) - is_false.astype(np.int8)


def _superlative(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], margin: float, rivals: Bools) -> Verdict:
    """Who is above all rivals by `margin`, given each object's lowest and highest value."""
    above: Bools = low[:, None] - high[None, :] >= margin  # (N, N): i clearly above j
    others = rivals[None, :] & ~np.eye(len(low), dtype=np.bool_)
    is_alone = others.sum(axis=1) == 0  # the only circle is no leftmost circle
    return _verdict(np.all(above | ~others, axis=1) & ~is_alone, np.any(above.T & others, axis=1))


def _judge_position(name: str, objects: SceneObjects, rivals: Bools, is_sure: bool) -> Verdict:
    """`is_sure`: of no object it is doubtful whether it is a rival."""
    low, high = objects.centres.min(axis=1), objects.centres.max(axis=1)  # (N, 2)
    if name in SUPERLATIVE_PLACES:
        return _farthest(low, high, *SUPERLATIVE_PLACES[name], margin=0.1, rivals=rivals)
    if name == "middle":
        off = np.abs(objects.centres - 0.5).max(axis=2)  # (N, F)
        return _verdict(off.max(axis=1) <= 0.13, off.min(axis=1) >= 0.21)
    result = np.ones(len(objects), dtype=np.int8)
    for part in name.split("_"):
        axis = 0 if part in ("left", "right") else 1
        if part in ("left", "top"):
            side = _verdict(high[:, axis] <= 0.40, low[:, axis] >= 0.53)
        else:
            side = _verdict(low[:, axis] >= 0.60, high[:, axis] <= 0.47)
        result = np.minimum(result, side)
    if objects.sides_are_relative and name in SIDES:
        beside = _farthest(low, high, *SIDES[name], margin=0.12, rivals=rivals)
        others = rivals.sum() - rivals
        return np.where(others == 0, result, np.where(((others == 1) & is_sure) | (result == beside), beside, 0))
    return result


def _farthest(low: Array, high: Array, axis: int, sign: float, margin: float, rivals: Bools) -> Verdict:
    """Who is farther than all rivals one way, by the least and greatest coordinates (N, 2)."""
    if sign < 0:
        return _superlative(-high[:, axis], -low[:, axis], margin, rivals)
    return _superlative(low[:, axis], high[:, axis], margin, rivals)


def _judge_relation(claim: Claim, objects: SceneObjects) -> Verdict:
    anchors = judge_looks(claim.anchor, objects)
    (found,) = np.nonzero(anchors >= 0)
    if len(found) != 1 or anchors[found[0]] != 1:
        return np.zeros(len(objects), dtype=np.int8)  # nobody knows which one is meant
    offsets = objects.centres - objects.centres[found[0]]  # (N, F, 2)
    if claim.name == "next_to":
        distances = np.sqrt((offsets * offsets).sum(axis=2))
        result = _verdict(distances.max(axis=1) <= 0.32, distances.min(axis=1) >= 0.42)
    else:
        axis, sign = RELATIONS[claim.name]
        along, across = sign * offsets[..., axis], np.abs(offsets[..., 1 - axis])
        is_true = ((along >= 0.12) & (along >= 0.7 * across)).all(axis=1)
        result = _verdict(is_true, along.max(axis=1) <= 0.02)
    result[found[0]] = -1
    return result


def _judge_direction(objects: SceneObjects, axis: int, sign: float) -> Verdict:
    along = sign * objects.paths[..., axis]  # (N, F)
    across = np.abs(objects.paths[..., 1 - axis]).max(axis=1)
    half = along.shape[1] // 2
    both_halves = np.minimum(along[:, half], along[:, -1] - along[:, half])
    is_true = (along[:, -1] >= 0.15) & (both_halves >= 0.3 * along[:, -1]) & (across <= 0.35 * along[:, -1])
    return _verdict(is_true, along.max(axis=1) <= 0.05)
