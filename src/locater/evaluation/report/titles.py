"""What each score is called in a report."""

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "oiou": "oIoU",
    "miou": "mIoU",
    "map_of_precisions": "mAP (mean of P@K)",
    "coco_ap": "mAP (COCO AP)",
    "p@0.5": "P@0.5",
    "p@0.6": "P@0.6",
    "p@0.7": "P@0.7",
    "p@0.8": "P@0.8",
    "p@0.9": "P@0.9",
    "j": "J",
    "f": "F",
    "j&f": "J&F",
    "presence_accuracy": "presence",
    "stability": "stability",
    "truth_stability": "stability of the truth",
    "flicker": "flicker (lower is better)",
    "flicker_of_overlap": "flicker of the overlap",
    "flicker_of_area": "flicker of the area",
}
