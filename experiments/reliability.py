"""A reliability diagram: of the masks that an evaluation scored .8, how many were right?

    python -m experiments.reliability RUN [RUN ...] --out reliability.png

RUN is a folder of `locater evaluate`. Every annotated frame that something is marked in counts. A mask is right from an
IoU of .5 on, and never where a wrong sentence was asked. What is drawn is printed, with the expected calibration error.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from locater.evaluation.metrics.calibration import Calibration, calibration
from locater.evaluation.metrics.words_decide import answerable
from locater.evaluation.run.journal import JournalReader

RIGHT = 0.5


def calibration_of(run: Path) -> Calibration:
    """The calibration of a run's answers, a frame each."""
    journal = JournalReader(run)
    journal.refresh()
    answers = list(journal.answers.values())
    meant = {answer.info.key for answer in answerable(answers)}
    marked = [(answer.info.key, each) for answer in answers for each in answer.frames if each.counts.predicted_area]
    return calibration(
        [each.confidence for _, each in marked], [key in meant and each.counts.iou >= RIGHT for key, each in marked]
    )


def draw(found: dict[str, Calibration], path: Path) -> None:
    """A plot of what was said against what was true, a line per run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.6", linestyle=":")
    for name, each in found.items():
        confidences = [some.confidence for some in each.bins]
        axes.plot(confidences, [some.right for some in each.bins], marker="o", label=f"{name}: ECE {each.error:.3f}")
    axes.set(xlabel="score", ylabel="share of masks with IoU above .5", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the bins of each run, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="Folders of `locater evaluate`.")
    parser.add_argument("--out", type=Path, required=True, help="The picture.")
    given = parser.parse_args(arguments)
    found = {run.name: calibration_of(run) for run in given.runs}
    for name, each in found.items():
        print(f"{name}: expected calibration error {each.error:.3f} on {each.count} masks")
        for some in each.bins:
            print(f"  score {some.confidence:.2f}  right {some.right:.2f}  of {some.count}")
    draw(found, given.out)


if __name__ == "__main__":
    main()
