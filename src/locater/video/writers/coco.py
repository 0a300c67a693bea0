"""COCO: a dataset of frames that pycocotools opens, and one of videos as YouTube-VIS has them."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from typing import IO, Any

from locater.io import rle
from locater.records import FrameMasks, Mask
from locater.video.writers.pictures import IMAGES
from locater.video.writers.writing import FrameNames, Writer, append_scratch, bounding_box, scratch_file


class CocoWriter(Writer):
    """`masks.json`: a COCO dataset that pycocotools opens; a category per expression, an image per frame.

    An image has a `file_name` where there is a picture of it: its own in a folder of pictures, or the one that is
    written beside. Annotations go to the file as they come, images to a nameless one that is appended at the end.
    """

    def open(self, files: ExitStack) -> None:
        """Begin the file."""
        path = self.output.folder / "masks.json"
        self._file: IO[str] = files.enter_context(path.open("w", encoding="utf-8"))
        self._images = scratch_file(self.output.folder, files)
        self._names = FrameNames()
        self._annotation_count = 0
        self._image_count = 0
        about = {"description": "Masks by locater", "video": self.output.info.name}
        self._file.write(
            f'{{"info": {json.dumps(about)},\n"categories": {json.dumps(_categories(self.output.expressions))},\n'
            '"annotations": ['
        )

    def write(self, marked: FrameMasks) -> None:
        """Add the next frame's image, and an annotation for each mask that is not empty."""
        self._images.write(_item(self._image(marked), self._image_count))
        self._image_count += 1
        for number, (mask, score) in enumerate(zip(marked.masks, marked.confidence, strict=True), start=1):
            if mask.any():
                annotation = {
                    "id": self._annotation_count + 1,  # pycocotools' evaluation takes 0 for "no match"
                    "image_id": marked.frame.index,
                    "category_id": number,
                    "segmentation": _runs(mask),
                    "area": int(mask.sum()),
                    "bbox": bounding_box(mask),
                    "iscrowd": 0,
                    "score": score,
                }
                self._file.write(_item(annotation, self._annotation_count))
                self._annotation_count += 1

    def _image(self, marked: FrameMasks) -> dict[str, Any]:
        height, width = marked.masks.shape[1:]
        image: dict[str, Any] = {"id": marked.frame.index}
        name = self._names.of(marked.frame)
        if marked.frame.name is not None:
            image["file_name"] = marked.frame.name
        elif self.output.has_images:
            image["file_name"] = f"{IMAGES}/{name}.jpg"
        return image | {"width": width, "height": height, "timestamp": marked.frame.timestamp}

    def finish(self) -> None:
        """Append the images."""
        self._file.write('\n],\n"images": [')
        append_scratch(self._images, self._file)
        self._file.write("\n]}\n")


class CocoVideoWriter(Writer):
    """`coco_video.json`: YouTube-VIS's layout; a video, and an annotation per sentence with a mask per frame or none.

    JSON wants each sentence's masks together and frames bring them side by side, so they wait in a nameless file that
    is read once per sentence at the end.
    """

    def open(self, files: ExitStack) -> None:
        """Begin the scratch files."""
        path = self.output.folder / "coco_video.json"
        self._file: IO[str] = files.enter_context(path.open("w", encoding="utf-8"))
        self._frames = scratch_file(self.output.folder, files)
        self._file_names = scratch_file(self.output.folder, files)
        self._names = FrameNames()
        self._count = 0
        self._size = (self.output.info.height or 0, self.output.info.width or 0)
        self._scores = [0.0] * len(self.output.expressions)

    def write(self, marked: FrameMasks) -> None:
        """Keep the next frame's masks."""
        self._size = (marked.masks.shape[1], marked.masks.shape[2])
        self._file_names.write(_item(f"{IMAGES}/{self._names.of(marked.frame)}.jpg", self._count))
        self._count += 1
        for number, (mask, score) in enumerate(zip(marked.masks, marked.confidence, strict=True)):
            self._scores[number] += score
            row = [_runs(mask), bounding_box(mask), int(mask.sum())] if mask.any() else [None, None, None]
            self._frames.write(json.dumps([number, *row]) + "\n")

    def finish(self) -> None:
        """Write the video, then sentence by sentence."""
        height, width = self._size
        shape = json.dumps({"id": 1, "name": self.output.info.name, "height": height, "width": width})[:-1]
        self._file.write(f'{{"info": {json.dumps({"description": "Masks by locater"})},\n')
        self._file.write(f'"categories": {json.dumps(_categories(self.output.expressions))},\n')
        self._file.write(f'"videos": [{shape}, "length": {self._count}, "file_names": [')
        append_scratch(self._file_names, self._file)
        self._file.write('\n]}],\n"annotations": [')
        for number in range(len(self.output.expressions)):
            self._write_annotation(number, width, height)
        self._file.write("\n]}\n")

    def _write_annotation(self, number: int, width: int, height: int) -> None:
        about = {
            "id": number + 1,
            "video_id": 1,
            "category_id": number + 1,
            "width": width,
            "height": height,
            "length": self._count,
            "iscrowd": 0,
            "score": self._scores[number] / max(1, self._count),
        }
        self._file.write(("," if number else "") + "\n" + json.dumps(about)[:-1])
        for column, name in enumerate(("segmentations", "bboxes", "areas"), start=1):
            self._file.write(f', "{name}": [')
            self._frames.seek(0)
            place = 0
            for line in self._frames:
                if line.startswith(f"[{number},"):
                    self._file.write(_item(json.loads(line)[column], place))
                    place += 1
            self._file.write("]")
        self._file.write("}")


def _categories(expressions: Sequence[str]) -> list[dict[str, Any]]:
    return [{"id": number, "name": name} for number, name in enumerate(expressions, start=1)]


def _runs(mask: Mask) -> dict[str, Any]:
    return {"size": list(mask.shape), "counts": rle.encode(mask).decode("ascii")}


def _item(value: object, place: int) -> str:
    return ("," if place else "") + "\n" + json.dumps(value)
