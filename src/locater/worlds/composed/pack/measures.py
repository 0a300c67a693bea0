"""From a saliency map to a mask of the one thing in a photograph, with figures that say how far to trust it."""

from dataclasses import asdict, dataclass
from typing import Any

from locater.records import Mask
from locater.worlds.composed.pack.cutouts import on_border, pieces
from locater.worlds.composed.pack.saliency import Saliency

MOST_SIDE = 512  # of a mask: the network saw less than that
_SMALL_PIECE = 0.02  # of a mask's area: smaller ones are crumbs
_BORDER_RUN = 0.04  # of a side: a mask touches the side where it covers more of it


@dataclass(frozen=True)
class Measures:
    """How a mask lies in its picture, and how sure the network was of it."""

    area: float  # share of the picture
    inside: float  # mean saliency of the mask's pixels
    agreement: float  # of map and mask: the mask's intersection over union, were the map's values chances
    edge: float  # width of the band between clearly in and clearly out, in hundredths of the picture's side
    sides: int  # of the picture that it touches
    border: float  # share of its outline on the picture's border
    pieces: int  # larger than crumbs
    piece: float  # share of its area in the largest piece

    def rounded(self) -> dict[str, Any]:
        """For a file: three decimals tell as much."""
        return {key: round(value, 3) for key, value in asdict(self).items()}


def measure(saliency: Saliency) -> tuple[Mask, Measures]:
    """The mask of the map's largest piece, and the figures of the whole map."""
    full = saliency > 0.5
    area = float(full.mean())
    outline = max(int((full[1:] != full[:-1]).sum() + (full[:, 1:] != full[:, :-1]).sum()), 1)
    band = int(((saliency > 0.1) & (saliency < 0.9)).sum())
    found = pieces(full)
    sizes = sorted((len(cells) for cells in found.cells), reverse=True)
    total = max(sum(sizes), 1)
    measures = Measures(
        area=area,
        inside=float(saliency[full].mean()) if full.any() else 0.0,
        agreement=float(saliency[full].sum() / (full.sum() + saliency[~full].sum())) if full.any() else 0.0,
        edge=100 * band / outline / len(saliency),
        sides=sum(float(side.mean()) > _BORDER_RUN for side in (full[0], full[-1], full[:, 0], full[:, -1])),
        border=on_border(full),
        pieces=sum(size > _SMALL_PIECE * total for size in sizes),
        piece=sizes[0] / total if sizes else 0.0,
    )
    return full & found.largest(full.shape), measures
