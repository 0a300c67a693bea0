"""Cut-outs and photographs from what people have: COCO's instance files, masks drawn or found, sprites, others."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from locater.errors import LocaterError
from locater.io.coco_masks import decode_segmentation
from locater.io.pictures import opened, pictures_in, pixels_of
from locater.io.text_files import read_json
from locater.records import Mask
from locater.worlds.composed.pack.cutouts import Alpha, CutOut, cut_out
from locater.worlds.composed.pack.nouns import broader_nouns, is_fit, nouns_of_photograph, plain
from locater.worlds.composed.pack.photo_masks import kept_masks, mask_size
from locater.worlds.composed.pack.photographs import Marked, Photograph, photograph

BREEDS = "breeds"  # names are in the files' names, by Oxford-IIIT Pet's rule
# COCO's classes that are seldom whole: they hold what stands on them, or stand half behind something.
NOT_CUT = frozenset(("dining table", "bed", "chair", "couch", "sink", "oven", "keyboard", "book", "tie"))
MOST_TOUCHING = 0.15  # of a cut-out's outline, against other annotated things: more, and one hides the other
_MOST_FILLED = 0.45  # of a photograph, by its one masked thing: beyond, nothing can move beside it
_ABSTRACT = frozenset(("Smileys & Emotion", "People & Body", "Symbols", "Flags", "Component"))
_FINENESS = 3  # polygons are drawn so many times larger, for soft edges
_UNLABELLED = ("person",)  # what a photograph without annotations may show beside what its name says

Found = CutOut | Photograph


def coco(instances: Path, images: Path, cutout_side: int, photograph_side: int) -> Iterator[Found]:
    """Each photograph of a COCO instance file, then the cut-outs of its whole objects."""
    content = read_json(instances, "name a COCO instance file")
    try:
        names = {each["id"]: plain(each["name"]) for each in content["categories"]}
        by_image: dict[Any, list[Mapping[str, Any]]] = {each["id"]: [] for each in content["images"]}
        for annotation in content["annotations"]:
            by_image[annotation["image_id"]].append(annotation)
        files = {each["id"]: str(each["file_name"]) for each in content["images"]}
        for image_id, annotations in by_image.items():
            yield from _coco_image(images / files[image_id], annotations, names, cutout_side, photograph_side)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise LocaterError(
            f"{instances} is no COCO instance file; give one with images, annotations, categories."
        ) from None


def _coco_image(
    path: Path, annotations: Sequence[Mapping[str, Any]], names: Mapping[Any, str], cutout_side: int, side: int
) -> Iterator[Found]:
    picture = pixels_of(path)
    height, width = picture.shape[:2]
    source = path.stem
    marked, vague, cuts = [], [], []
    for annotation in annotations:
        noun = names[annotation["category_id"]]
        if annotation.get("iscrowd"):
            vague.append(noun)
            continue
        alpha = soft_segmentation(annotation["segmentation"], height, width, str(path))
        marked.append(Marked(alpha > 0.5, noun, broader_nouns(noun)))
        if noun not in NOT_CUT:
            cuts.append((noun, alpha))
    yield photograph(picture, marked, vague, source, side)
    covered = np.sum([each.mask for each in marked], axis=0)
    for noun, alpha in cuts:
        if touching(alpha > 0.5, covered) <= MOST_TOUCHING:
            cut = cut_out(picture, alpha, cutout_side, noun, broader_nouns(noun), source)
            if cut is not None:
                yield cut


def soft_segmentation(segmentation: Any, height: int, width: int, name: str) -> Alpha:
    """The mask (H, W) of run lengths, or of polygons with soft edges."""
    if isinstance(segmentation, Mapping):
        mask = decode_segmentation(segmentation, height, width, name)
        if mask.shape != (height, width):
            raise ValueError("a mask of another size than its picture")
        return mask.astype(np.float32)
    alpha = np.zeros((height, width), dtype=np.float32)
    polygons = [np.asarray(polygon, dtype=np.float64).reshape(-1, 2) for polygon in segmentation if len(polygon) >= 6]
    if not polygons:
        return alpha
    corners = np.concatenate(polygons)
    left, top = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, (width - 1, height - 1)).tolist()
    right, bottom = np.clip(np.ceil(corners.max(axis=0)).astype(int), (left + 1, top + 1), (width, height)).tolist()
    canvas = Image.new("L", ((right - left) * _FINENESS, (bottom - top) * _FINENESS))
    draw = ImageDraw.Draw(canvas)
    for polygon in polygons:
        draw.polygon([(x * _FINENESS, y * _FINENESS) for x, y in (polygon - (left, top)).tolist()], fill=255)
    small = canvas.resize((right - left, bottom - top), Image.Resampling.BOX)
    alpha[top:bottom, left:right] = np.asarray(small, dtype=np.float32) / np.float32(255)
    return alpha


def touching(mask: Mask, covered: npt.NDArray[np.int64]) -> float:
    """The share of a mask's outline that lies against other annotated things; `covered` counts all of them."""
    near = np.zeros_like(mask)
    near[2:] |= mask[:-2]
    near[:-2] |= mask[2:]
    near[:, 2:] |= mask[:, :-2]
    near[:, :-2] |= mask[:, 2:]
    rim = near & ~mask
    return float((covered[rim] > 0).mean()) if rim.any() else 0.0


def masked_pictures(name: str, images: Path, masks: Path, cutout_side: int, photograph_side: int) -> Iterator[Found]:
    """Each picture that has a mask of the same name, then its cut-out; `breeds` reads the nouns from the names."""
    by_stem = {path.stem: path for path in pictures_in(masks)}
    paired = [(path, by_stem[path.stem]) for path in pictures_in(images) if path.stem in by_stem]
    if not paired:
        raise LocaterError(f"No picture of {images} has a mask of the same name in {masks}; name both folders again.")
    for path, mask in paired:
        picture = pixels_of(path)
        alpha = _mask(mask, picture.shape[1], picture.shape[0])
        noun, broader = _breed(path.stem) if name == BREEDS else (plain(name), broader_nouns(plain(name)))
        source = f"{images.parent.name}/{path.stem}"
        vague = [each for each in _UNLABELLED if each != noun]
        if alpha.mean() <= _MOST_FILLED:
            yield photograph(picture, [Marked(alpha > 0.5, noun, broader)], vague, source, photograph_side)
        cut = cut_out(picture, alpha, cutout_side, noun, broader, source)
        if cut is not None:
            yield cut


def photo_cutouts(file: Path, photos: Path, cutout_side: int, photograph_side: int) -> Iterator[Found]:
    """Each photograph whose mask `locater data cutout` kept, then its cut-out where the thing is whole."""
    for each in kept_masks(file):
        image = opened(photos / each.file).convert("RGB")
        height, width = each.mask.shape
        if mask_size(image.height, image.width) != (height, width):
            raise LocaterError(f"{photos / each.file} has another size than its mask in {file}; make that file again.")
        picture = np.asarray(image.resize((width, height), Image.Resampling.BOX), dtype=np.uint8)
        # Without the folder's name: other sources may hold the same image, and its split must be theirs.
        source = Path(each.file).stem
        vague = [noun for noun in _UNLABELLED if noun not in (each.noun, *each.broader)]
        if each.mask.mean() <= _MOST_FILLED:
            yield photograph(picture, [Marked(each.mask, each.noun, each.broader)], vague, source, photograph_side)
        cut = cut_out(picture, each.mask.astype(np.float32), cutout_side, each.noun, each.broader, source)
        if cut is not None:
            yield cut


def _breed(stem: str) -> tuple[str, tuple[str, ...]]:
    """A breed's name and what it is: cats' files begin with a capital, dogs' do not."""
    return plain(stem.rpartition("_")[0]), broader_nouns("", "cat" if stem[0].isupper() else "dog")


def _mask(path: Path, width: int, height: int) -> Alpha:
    """The soft mask of a picture file: a trimap (unsure is half), 0 and 255, or any number but 0."""
    image = opened(path)
    if abs(image.width * height / (image.height * width) - 1) > 0.05:
        raise LocaterError(f"The mask {path} has another shape than its picture, {width} x {height}; replace it.")
    values = np.asarray(image.resize((width, height), Image.Resampling.NEAREST))
    if values.ndim == 3:
        values = values[..., 0]
    present = set(np.unique(values).tolist())
    if 3 in present and present <= {1, 2, 3}:  # Oxford's own: 1 animal, 2 background, 3 unsure
        return np.select([values == 1, values == 3], [1.0, 0.5], 0.0).astype(np.float32)
    if 2 in present and present <= {0, 1, 2}:
        return np.select([values == 1, values == 2], [1.0, 0.5], 0.0).astype(np.float32)
    return (values > 127 if max(present) > 200 else values > 0).astype(np.float32)


def sprites(folder: Path, cutout_side: int) -> Iterator[CutOut]:
    """The sprites of a folder, named by its names.json or by their files; those without a fit noun are left out."""
    listing = folder / "names.json"
    if listing.exists():
        try:
            named = [
                (folder / each["file"], each["name"], each.get("category", ""))
                for each in read_json(listing, "write it again, or remove it")
            ]
        except (KeyError, TypeError, AttributeError):
            raise LocaterError(f"{listing} must be a list of objects with file and name.") from None
    else:
        named = [(path, path.stem, "") for path in pictures_in(folder)]
    for path, name, category in named:
        noun = plain(name)
        if category in _ABSTRACT or not is_fit(noun):
            continue
        rgba = np.asarray(opened(path).convert("RGBA"))
        alpha = rgba[..., 3].astype(np.float32) / np.float32(255)
        cut = cut_out(rgba[..., :3], alpha, cutout_side, noun, broader_nouns(noun), f"sprite/{path.stem}", True)
        if cut is not None:
            yield cut


def backgrounds(folder: Path, photograph_side: int) -> Iterator[Photograph]:
    """The pictures of a folder; what their names say is in them, somewhere."""
    for path in pictures_in(folder):
        vague = (*nouns_of_photograph(path.stem), *_UNLABELLED)
        yield photograph(pixels_of(path), [], vague, f"{folder.name}/{path.stem}", photograph_side)
