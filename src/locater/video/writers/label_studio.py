"""Label Studio's tasks: a picture per frame, with a brush mask per sentence to start from."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO, Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from locater.records import FrameMasks, Mask
from locater.video.overlay import colour_of, printable
from locater.video.writers.pictures import IMAGES
from locater.video.writers.writing import FrameNames, Writer, row_runs

_SIZES = (3, 4, 8, 16)  # bits that may count a run, as Label Studio's page chooses them
_CHANNELS = 4  # its brush is an RGBA picture, whose alpha is the mask


class LabelStudioWriter(Writer):
    """`labelstudio.json`, tasks with predictions to import, and `labelstudio.xml`, the labelling interface for them."""

    def open(self, files: ExitStack) -> None:
        """Write the interface and begin the tasks."""
        folder = self.output.folder
        labels = "".join(
            f'    <Label value={quoteattr(printable(name))} background="#{bytes(colour_of(number)).hex()}"/>\n'
            for number, name in enumerate(self.output.expressions)
        )
        (folder / "labelstudio.xml").write_text(
            '<View>\n  <Image name="image" value="$image" zoom="true"/>\n'
            f'  <BrushLabels name="mask" toName="image">\n{labels}  </BrushLabels>\n</View>\n',
            encoding="utf-8",
        )
        self._file: IO[str] = files.enter_context((folder / "labelstudio.json").open("w", encoding="utf-8"))
        self._file.write("[")
        self._names = FrameNames()
        self._count = 0

    def write(self, marked: FrameMasks) -> None:
        """Add the next frame's task."""
        name = self._names.of(marked.frame)
        results = [
            self._result(number, mask, score, f"{name}_{number + 1}")
            for number, (mask, score) in enumerate(zip(marked.masks, marked.confidence, strict=True))
            if mask.any()
        ]
        task = {
            # Relative to LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT, which is to be this folder.
            "data": {"image": f"/data/local-files/?d={IMAGES}/{quote(name)}.jpg", "frame": marked.frame.index},
            "predictions": [
                {"model_version": "locater", "score": max(marked.confidence, default=0), "result": results}
            ],
        }
        self._file.write(("," if self._count else "") + "\n" + json.dumps(task))
        self._count += 1

    def _result(self, number: int, mask: Mask, score: float, identity: str) -> dict[str, Any]:
        height, width = mask.shape
        label = printable(self.output.expressions[number])
        return {
            "id": identity,
            "from_name": "mask",
            "to_name": "image",
            "type": "brushlabels",
            "original_width": width,
            "original_height": height,
            "image_rotation": 0,
            "score": score,
            "value": {"format": "rle", "rle": list(brush_runs(mask)), "brushlabels": [label]},
        }

    def finish(self) -> None:
        """Close the list."""
        self._file.write("\n]\n")


def brush_runs(mask: Mask) -> bytes:
    """The mask as Label Studio packs a brush's pixels: thi.ng's rle-pack of bytes 0 and 255, four a pixel."""
    head = f"{mask.size * _CHANNELS:032b}{8 - 1:05b}" + "".join(f"{size - 1:04b}" for size in _SIZES)
    bits = head + "".join(_run_bits(mask))
    return int(bits.ljust(-(-len(bits) // 8) * 8, "0"), 2).to_bytes(-(-len(bits) // 8), "big")


def _run_bits(mask: Mask) -> Iterator[str]:
    """Bits of one run after the other: that it is one, the size of its count, the count less one, the value."""
    most = 1 << _SIZES[-1]
    for number, run in enumerate(row_runs(mask).tolist()):
        value = "11111111" if number % 2 else "00000000"
        left = run * _CHANNELS
        while left:
            count = min(left, most)
            choice = next(place for place, size in enumerate(_SIZES) if count <= 1 << size)
            yield f"1{choice:02b}{count - 1:0{_SIZES[choice]}b}{value}"
            left -= count
