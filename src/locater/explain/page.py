"""An explanation as one HTML page that needs nothing else: pictures inside, no script, nothing from the internet."""

import base64
import io
from html import escape

import numpy as np
from PIL import Image

from locater.explain.explanation import Explanation, RemovedWord
from locater.explain.memory_trace import MemoryTrace
from locater.explain.pictures import chosen_frames, heated, marked, words_figure
from locater.video.overlay import clock_text

_SIDE = 300  # pixels of a picture's longer side
_READERS = 3  # frames of which it is shown what they read
_ORIGINS = 3  # frames that are shown for each of them
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c1e22; background: #fff; margin: 0 auto; max-width: 1180px;
  padding: 16px; }
h1 { font-size: 26px; line-height: 1.25; margin: 8px 0; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 32px 0 4px; }
p, figcaption { color: #4a4f57; max-width: 75ch; }
img { max-width: 100%; height: auto; display: block; border-radius: 4px; }
.wide { overflow-x: auto; }
.wide img { max-width: none; width: max(100%, 900px); }
.row { display: flex; flex-wrap: wrap; gap: 12px; margin: 8px 0 20px; }
figure { margin: 0; width: min(100%, 270px); }
figcaption { font-size: 14px; }
.sentence { font-size: 18px; }
.sentence span { padding: 2px 4px; border-radius: 4px; }
table { border-collapse: collapse; font-size: 15px; }
td, th { text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid #e4e7eb; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
"""


def explanation_page(explanation: Explanation, name: str, checkpoint: str) -> str:
    """The page's HTML."""
    first, last = explanation.frames[0], explanation.frames[-1]
    looked = (
        f"{name}, checkpoint {checkpoint}: {len(explanation.frames)} frames from {clock_text(first.timestamp)} to "
        f"{clock_text(last.timestamp)}. These frames alone were read, and masks are shown before any refiner."
    )
    sections = (
        _words(explanation),
        _removed(explanation),
        _memory(
            explanation,
            explanation.global_memory,
            0,
            "The global memory",
            "It is written from the whole video before the first mask is made (Eq. 5).",
        ),
        _memory(
            explanation,
            explanation.local_memory,
            1,
            "The local memory",
            "It is written after each mask, with the mask on it (Eq. 6).",
        ),
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(explanation.expression)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>“{escape(explanation.expression)}”</h1><p>{escape(looked)}</p>\n{''.join(sections)}</body></html>\n"
    )


def _words(explanation: Explanation) -> str:
    mean = explanation.word_attention.mean(0)
    spans = (
        f'<span style="background: rgb(178 34 34 / {weight:.2f}); color: {"#fff" if weight > 0.55 else "inherit"}">'
        f"{escape(word)}</span>"
        for word, weight in zip(explanation.words, mean, strict=True)
    )
    figure = words_figure(explanation, explanation.word_attention)
    return (
        "<h2>Which words decide</h2><p>How much the patches of the object look at each word where they first meet the "
        "words (Eq. 3), over all frames and frame by frame. Each column sums to 1.</p>"
        f'<p class="sentence">{" ".join(spans)}</p>'
        f'<div class="wide">{_image(figure, "words over time", side=None)}</div>\n'
    )


def _removed(explanation: Explanation) -> str:
    if not explanation.removed:
        return ""
    order = sorted(explanation.removed, key=lambda each: each.mean_overlap)
    rows = "".join(
        f"<tr><td>{escape(each.word)}</td><td>{escape(each.sentence)}</td>"
        f'<td class="number">{each.mean_overlap:.2f}</td>'
        f'<td class="number">{explanation.word_attention[:, each.place].mean():.2f}</td></tr>'
        for each in order
    )
    return (
        "<h2>Each content word removed</h2><p>The sentence without the word, and the IoU of its masks with the whole "
        "sentence's: 1 where the word makes no difference. The frame shown is the one that changes most.</p>"
        f'<div class="wide"><table><tr><th>word</th><th>without it</th><th>IoU</th><th>attention</th></tr>{rows}'
        f'</table></div><div class="row">{"".join(_without(explanation, each) for each in order)}</div>\n'
    )


def _without(explanation: Explanation, removed: RemovedWord) -> str:
    place = int(np.argmin(removed.overlaps))
    frame = explanation.frames[place]
    caption = (
        f"without <b>{escape(removed.word)}</b>, {clock_text(frame.timestamp)}: IoU {removed.overlaps[place]:.2f}, "
        f"over all frames {removed.mean_overlap:.2f}"
    )
    return _figure(marked(frame.pixels, removed.masks[place]), caption)


def _memory(explanation: Explanation, memory: MemoryTrace | None, first: int, title: str, what: str) -> str:
    if memory is None:
        return ""
    readers = [place for place in chosen_frames(explanation, _READERS + first) if place >= first]
    parts = "".join(_read_by(explanation, memory, place, first) for place in readers)
    return (
        f"<h2>{title}</h2><p>{what} Its {memory.cells.shape[-1]} cells are read by every frame (Eq. 7). For some "
        "frames: the mask, and in red where the cells were written from that the object looks at. Of the frames that "
        f"were written, those that gave most come first.</p>{parts}\n"
    )


def _read_by(explanation: Explanation, memory: MemoryTrace, place: int, first: int) -> str:
    reader, origins = explanation.frames[place], memory.origins[place - first].double().cpu().numpy()
    shares, used = memory.frame_shares[place - first].tolist(), float(memory.cells_in_use[place - first])
    order = [source for source in np.argsort(shares)[::-1].tolist() if shares[source] > 0][:_ORIGINS]
    figures = [
        _figure(
            marked(reader.pixels, explanation.masks[place]),
            f"<b>{clock_text(reader.timestamp)}</b> reads; the object looks at about {used:.0f} cells",
        )
    ]
    for source in order:
        frame = explanation.frames[source]
        # Not the very strongest: often a single patch fills a cell alone, and all others would look empty.
        picture = heated(frame.pixels, origins[source], float(np.quantile(origins[order], 0.98)))
        figures.append(_figure(picture, f"{shares[source]:.0%} from {clock_text(frame.timestamp)}"))
    return f'<div class="row">{"".join(figures)}</div>'


def _figure(picture: Image.Image, caption: str) -> str:
    """A picture above its caption, which is HTML."""
    return f"<figure>{_image(picture, '', side=_SIDE)}<figcaption>{caption}</figcaption></figure>"


def _image(picture: Image.Image, alt: str, side: int | None) -> str:
    """The picture as a part of the page, no larger than `side`."""
    small = picture.copy()
    if side is not None:
        small.thumbnail((side, side))
    file = io.BytesIO()
    small.save(file, "JPEG", quality=88) if side is not None else small.save(file, "PNG", optimize=True)
    kind = "jpeg" if side is not None else "png"
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="{escape(alt)}" src="data:image/{kind};base64,{data}">'
