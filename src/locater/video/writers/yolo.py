"""YOLO's segmentation labels: a text file per frame, a line per object."""

from contextlib import ExitStack

import yaml

from locater.records import FrameMasks
from locater.video.overlay import printable
from locater.video.writers.pictures import IMAGES
from locater.video.writers.polygons import polygon_of
from locater.video.writers.writing import FrameNames, Writer

# Some programs cut a corner to whole pixels and some round it. A quarter of a pixel inside, both find its own.
_INSIDE = 0.25


class YoloWriter(Writer):
    """`labels/00000.txt`, ... beside `images/`, and `data.yaml`, which names the classes: the sentences.

    A line is a class and one polygon, in fractions of the picture's sides; where nothing is marked the file is empty,
    which makes the picture an example of background.
    """

    def open(self, files: ExitStack) -> None:  # noqa: ARG002
        """Write data.yaml and make the folder."""
        self._folder = self.output.folder / "labels"
        self._folder.mkdir()
        self._names = FrameNames()
        # Without a `path`, the folders are looked for beside this file.
        about = {"train": IMAGES, "val": IMAGES, "names": dict(enumerate(map(printable, self.output.expressions)))}
        text = yaml.safe_dump(about, sort_keys=False, allow_unicode=True)
        (self.output.folder / "data.yaml").write_text(text, encoding="utf-8")

    def write(self, marked: FrameMasks) -> None:
        """Write the next frame's labels."""
        height, width = marked.masks.shape[1:]
        lines = []
        for number, mask in enumerate(marked.masks):
            if mask.any():
                corners = (polygon_of(mask) + _INSIDE) / (width, height)
                lines.append(f"{number} " + " ".join(f"{value:.6f}" for value in corners.ravel().tolist()) + "\n")
        path = self._folder / f"{self._names.of(marked.frame)}.txt"
        path.write_text("".join(lines), encoding="utf-8")
