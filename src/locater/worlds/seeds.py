"""A video's seed says everything about it: its split, its kind of sentence, its number among those, its pixels."""

from locater.errors import LocaterError

KINDS = (
    "appearance",
    "size",
    "position",
    "relation",
    "motion",
    "early_event",
    "late_event",
    "occlusion",
    "absent",
)
SPLITS = ("train", "validation", "test", "heldout")
SEEDS_PER_SPLIT = 9_000_000_000  # one thousand million videos of each kind
NUMBERS_PER_SPLIT = SEEDS_PER_SPLIT // len(KINDS)


def video_seed(split: str, kind: str, number: int) -> int:
    """The seed of a split's `number`-th video of a kind."""
    if split not in SPLITS:
        raise LocaterError(f"there is no split {split!r}; choose one of {', '.join(SPLITS)}.")
    if kind not in KINDS:
        raise LocaterError(f"there is no kind of sentence {kind!r}; choose one of {', '.join(KINDS)}.")
    if not 0 <= number < NUMBERS_PER_SPLIT:
        raise LocaterError(f"{number} is no number of a video; choose one from 0 to {NUMBERS_PER_SPLIT - 1}.")
    return SPLITS.index(split) * SEEDS_PER_SPLIT + number * len(KINDS) + KINDS.index(kind)


def parts_of_seed(seed: int) -> tuple[str, str, int]:
    """Split, kind and number: what `video_seed` was given."""
    if not 0 <= seed < len(SPLITS) * SEEDS_PER_SPLIT:
        raise LocaterError(f"{seed} is no seed of a video; choose one from 0 to {len(SPLITS) * SEEDS_PER_SPLIT - 1}.")
    split, rest = divmod(seed, SEEDS_PER_SPLIT)
    number, kind = divmod(rest, len(KINDS))
    return SPLITS[split], KINDS[kind], number


def seed_of_key(key: str) -> int:
    """The seed behind a sample's key."""
    split, _, rest = key.partition("/")
    kind, _, number = rest.partition("/")
    if not number.isdigit():
        raise LocaterError(f"{key!r} is no key of a world's sample; one looks like 'test/motion/000123'.")
    return video_seed(split, kind, int(number))
