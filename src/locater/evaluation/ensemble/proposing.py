"""An image-level model's masks for every question of a dataset, as a folder that any of our readers takes."""

from collections.abc import Callable
from pathlib import Path

from locater.evaluation.ensemble.files import write_masks
from locater.evaluation.run.runner import chosen
from locater.inference.ensemble.image_model import ImageModel, followed
from locater.inference.segmenter import Segmenter
from locater.io.results_folder import check_results_folder, results_folder
from locater.records import Dataset


def propose(
    model: ImageModel,
    dataset: Dataset,
    out: Path,
    *,
    segmenter: Segmenter | None = None,
    key_frames: int = 1,
    limit: int | None = None,
    force: bool = False,
    listen: Callable[[int, int], None] = lambda _, __: None,
) -> int:
    """Write `<question>/<frame>.png` of each frame, and say of how many questions.

    With a `segmenter` the surest masks of each video are followed by it; else each frame's own are written.
    """
    check_results_folder(out, force=force)
    infos = chosen(dataset, limit)
    with results_folder(out, "locater ensemble propose", force=force) as partial:
        for number, info in enumerate(infos, start=1):
            sample = dataset.load(info)
            found = [(mask, sure) for _, mask, sure in model.masks(sample.frames, info.expression)]
            masks, sureness = [mask for mask, _ in found], [sure for _, sure in found]
            if segmenter is not None:
                masks = followed(sample.frames, masks, sureness, segmenter, key_frames)
            write_masks(partial / info.key, dict(enumerate(masks)), sample)
            listen(number, len(infos))
    return len(infos)
