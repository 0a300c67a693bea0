"""Every dataset's official layout by name and split, with what makes a small one."""

from collections.abc import Callable
from pathlib import Path

from tests.support.datasets import making_datasets as made

LAYOUTS: list[tuple[str, str | None, Callable[[Path], made.Truth]]] = [
    ("a2d-sentences", "test", made.make_a2d),
    ("a2d-sentences", "train", made.make_a2d),
    ("jhmdb-sentences", None, made.make_jhmdb),
    ("refer-youtube-vos", "train", made.make_refer_youtube_vos),
    ("ref-davis17", "val", made.make_ref_davis17),
    ("ref-davis17", "train", made.make_ref_davis17),
    ("mevis", "valid_u", made.make_mevis),
    ("a2d-s+", "M", made.make_authors_a2d_plus),
    ("folder", None, made.make_folder),
    ("coco", "val2017", made.make_coco),
    ("refcoco", "val", made.make_refcoco),
]
