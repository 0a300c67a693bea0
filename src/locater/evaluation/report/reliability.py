"""The part of a page that says how far the scores beside the masks can be trusted."""

from collections.abc import Sequence

from locater.evaluation.metrics.calibration import BINS, calibration
from locater.evaluation.metrics.sample_score import SampleScore
from locater.report.charts import Lines
from locater.report.page import Section, Text

RIGHT = 0.5  # IoU from which on a mask is right


def reliability_section(samples: Sequence[SampleScore]) -> Section:
    """Of masks that are said to be right in 80 % of cases, how many are; empty where nothing was marked."""
    marked = [frame for sample in samples for frame in sample.frames if frame.counts.predicted_area]
    found = calibration([frame.confidence for frame in marked], [frame.counts.iou >= RIGHT for frame in marked])
    if not found.bins:
        return Section("Calibration", [])
    curves = {
        "as it is": [(100 * each.confidence, 100 * each.right) for each in found.bins],
        "as it should be": [(0.0, 0.0), (100.0, 100.0)],
    }
    chart = Lines(
        f"Masks with an IoU of {RIGHT} or more, in per cent", "score, in per cent", curves, (0.0, 100.0), is_dotted=True
    )
    said = Text(
        f"{found.count} masks that mark something, in {BINS} bins by their score. Expected calibration error: "
        f"{found.error:.3f}. A score is calibrated where the checkpoint has a second look."
    )
    return Section("Calibration", [chart, said])
