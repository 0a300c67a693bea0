"""CVAT's own XML, version 1.1, for tasks of images and of a video, with masks as run lengths."""

from collections.abc import Mapping
from contextlib import ExitStack
from xml.sax.saxutils import escape, quoteattr

from locater.records import FrameMasks, Mask
from locater.video.overlay import colour_of, printable
from locater.video.writers.writing import Writer, append_scratch, bounding_box, row_runs, scratch_file


class CvatWriter(Writer):
    """`cvat_images.xml` and `cvat_video.xml`: both can be uploaded as "CVAT 1.1" to a task with the same frames.

    CVAT has no tracks of masks: of one it keeps the first. So the video's file has a track per mask, as CVAT's own
    exports do: the mask, and in the next frame its end.
    """

    def open(self, files: ExitStack) -> None:
        """Begin the scratch files; the header tells how many frames there are, so it is written at the end."""
        self._images = scratch_file(self.output.folder, files)
        self._tracks = scratch_file(self.output.folder, files)
        self._frame_count = 0
        self._track_count = 0
        self._size = (self.output.info.height or 0, self.output.info.width or 0)

    def write(self, marked: FrameMasks) -> None:
        """Add the next frame."""
        self._size = (marked.masks.shape[1], marked.masks.shape[2])
        index = marked.frame.index
        # CVAT finds a frame by its picture's name; in a video it names them so itself.
        name = marked.frame.name or f"frame_{index:06d}"
        about = {"id": index, "name": name, "width": self._size[1], "height": self._size[0]}
        self._images.write(f"  <image{_attributes(about)}>\n")
        for label, mask in zip(self.output.expressions, marked.masks, strict=True):
            if mask.any():
                shape = _shape(mask)
                own = {"label": label, "source": "auto", "occluded": 0}
                self._images.write(f"    <mask{_attributes({**own, **shape, 'z_order': 0})}></mask>\n")
                self._write_track(label, index, shape)
        self._images.write("  </image>\n")
        self._frame_count += 1

    def _write_track(self, label: str, index: int, shape: Mapping[str, object]) -> None:
        about = {"id": self._track_count, "label": label, "source": "auto"}
        self._track_count += 1
        self._tracks.write(f"  <track{_attributes(about)}>\n")
        for frame, is_outside in ((index, 0), (index + 1, 1)):
            place = {"frame": frame, "keyframe": 1, "outside": is_outside, "occluded": 0}
            self._tracks.write(f"    <mask{_attributes({**place, **shape, 'z_order': 0})}></mask>\n")
        self._tracks.write("  </track>\n")

    def finish(self) -> None:
        """Write both files behind their headers."""
        for name, mode, scratch in (("images", "annotation", self._images), ("video", "interpolation", self._tracks)):
            with (self.output.folder / f"cvat_{name}.xml").open("w", encoding="utf-8") as file:
                file.write(self._header(mode))
                append_scratch(scratch, file)
                file.write("</annotations>\n")

    def _header(self, mode: str) -> str:
        labels = "".join(
            f"        <label><name>{escape(printable(name))}</name><color>#{bytes(colour_of(number)).hex()}</color>"
            "<type>mask</type><attributes></attributes></label>\n"
            for number, name in enumerate(self.output.expressions)
        )
        height, width = self._size
        size = f"<original_size><width>{width}</width><height>{height}</height></original_size>"
        return (
            '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n  <meta>\n    <task>\n'
            f"      <name>{escape(printable(self.output.info.name))}</name>\n      <size>{self._frame_count}</size>\n"
            f"      <mode>{mode}</mode>\n      <labels>\n{labels}      </labels>\n"
            + (f"      {size}\n" if mode == "interpolation" else "")
            + "    </task>\n  </meta>\n"
        )


def _shape(mask: Mask) -> dict[str, object]:
    left, top, width, height = bounding_box(mask)
    runs = row_runs(mask[top : top + height, left : left + width]).tolist()
    return {"rle": ", ".join(map(str, runs)), "left": left, "top": top, "width": width, "height": height}


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(printable(str(value)))}" for name, value in values.items())
