"""Bounding boxes as tables: a row per frame and sentence where something is marked."""

import csv
import json
from contextlib import ExitStack
from typing import IO

from locater.records import FrameMasks
from locater.video.writers.writing import FrameNames, Writer, bounding_box

COLUMNS = ("frame", "name", "timestamp", "number", "sentence", "left", "top", "width", "height", "area", "score")


class BoxesWriter(Writer):
    """`boxes.csv` and `boxes.json`: whole pixels, so that a box's right edge is left + width."""

    def open(self, files: ExitStack) -> None:
        """Begin both files."""
        folder = self.output.folder
        self._table: IO[str] = files.enter_context(
            (folder / "boxes.csv").open("w", encoding="utf-8", errors="replace", newline="")
        )
        self._file: IO[str] = files.enter_context((folder / "boxes.json").open("w", encoding="utf-8"))
        self._rows = csv.writer(self._table)
        self._rows.writerow(COLUMNS)
        self._names = FrameNames()
        self._box_count = 0
        self._frame_count = 0
        about = {"video": self.output.info.name, "sentences": self.output.expressions}
        self._file.write(json.dumps(about)[:-1] + ', "boxes": [')

    def write(self, marked: FrameMasks) -> None:
        """Add the next frame's boxes."""
        self._frame_count += 1
        frame, name = marked.frame, self._names.of(marked.frame)
        for number, (mask, score) in enumerate(zip(marked.masks, marked.confidence, strict=True), start=1):
            if not mask.any():
                continue
            sentence = self.output.expressions[number - 1]
            own = frame.name or name
            row = (frame.index, own, frame.timestamp, number, sentence, *bounding_box(mask), int(mask.sum()), score)
            self._rows.writerow(row)
            entry = json.dumps(dict(zip(COLUMNS, row, strict=True)))
            self._file.write(("," if self._box_count else "") + "\n" + entry)
            self._box_count += 1

    def finish(self) -> None:
        """Close the list; it is the number of frames that tells those without a box."""
        self._file.write(f'\n], "frames": {self._frame_count}}}\n')
