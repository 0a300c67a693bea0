"""What the scores of one frame are made of: whole numbers, so that sums over frames are exact in any order."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class FrameCounts:
    """Pixels of a predicted and a true mask, of their overlap and of their boundaries."""

    predicted_area: int
    truth_area: int
    intersection: int
    predicted_boundary: int
    truth_boundary: int
    predicted_matched: int  # of the predicted boundary, within the tolerance of the true one
    truth_matched: int

    @property
    def union(self) -> int:
        """Pixels in either mask."""
        return self.predicted_area + self.truth_area - self.intersection

    @property
    def iou(self) -> float:
        """J: intersection over union; two empty masks agree wholly."""
        return self.intersection / self.union if self.union else 1.0

    @property
    def boundary_f(self) -> float:
        """F = 2PR / (P + R); 1 when neither mask has a boundary, 0 when one has none or nothing matches."""
        if self.predicted_boundary == 0 or self.truth_boundary == 0:
            return 1.0 if self.predicted_boundary == self.truth_boundary else 0.0
        precision = self.predicted_matched / self.predicted_boundary
        recall = self.truth_matched / self.truth_boundary
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def agrees_on_presence(self) -> bool:
        """Whether both masks are empty, or neither is."""
        return (self.predicted_area == 0) == (self.truth_area == 0)

    def numbers(self) -> list[int]:
        """The seven numbers, for a file; `FrameCounts(*numbers)` is the way back."""
        return list(astuple(self))
