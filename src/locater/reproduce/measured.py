"""What is measured or counted rather than scored: speed, the memory's cost, the sets' sizes, semantic roles."""

import torch

from locater.bench.harness.request import BenchRequest
from locater.bench.suites import fps, memory
from locater.compute.device import find_device
from locater.compute.precision import find_precision
from locater.contrast.plan import plan
from locater.contrast.statistics import Counts, count_joined, count_several, count_source
from locater.datasets.drawn_worlds import Drawing
from locater.presets import preset_names
from locater.published.tables import printed_table
from locater.report.tables import Table
from locater.reproduce.beside import with_ours
from locater.reproduce.setup import Setup
from locater.reproduce.systems import A2D
from locater.text.roles import open_labeler

EXAMPLE = "A boy is skiing on the snow and suddenly falling to the ground."  # the paper's
_TIMED = {"LOCATER, ViT-B": "paper", "LOCATER, Video-Swin-T": "paper_swin"}
_MOST_SECONDS_ON_A_CPU = 8.0  # for one run of the Transformer block


def speeds() -> dict[tuple[str, str], str]:
    """Frames/s of each network by the paper's protocol; nothing where there is no GPU to measure it on."""
    if not torch.cuda.is_available():
        return {}
    found = {}
    for row, preset in _TIMED.items():
        if preset in preset_names():
            asked = _request(preset)
            rows = [each for each in fps.run(asked).rows if each["size"] == 512 and each["way"] == fps.OWN_WAY]
            found[row, fps.SPEED] = f"{rows[0]['frames/s']:.1f}"
    return found


def efficiency(_: Setup) -> Table:
    """Milliseconds per frame of the memory and of a Transformer block, by the length of the video."""
    printed = printed_table("ablation_efficiency")
    lengths = tuple(int(column.split()[0]) for column in printed.columns)
    asked = _request("paper")
    report = memory.run(asked, lengths, memory.BLOCK_LIMIT if asked.is_cuda else _MOST_SECONDS_ON_A_CPU)
    shown: dict[tuple[str, str], str] = {}
    for each in report.rows:
        row = {"memory, eager": "LOCATER's memory", "block": "Transformer block"}.get(each["what"])
        if row is not None and "median_ms" in each:
            shown[row, f"{each['frames']} frames"] = f"{each['median_ms']:.2f}"
    what = f"{asked.precision} on {'a GPU' if asked.is_cuda else 'a CPU'}; - is too slow to be run there"
    return with_ours(printed, "ms per frame, memory and Transformer block", shown, f"Ours: {what}.")


def statistic(setup: Setup) -> Table:
    """Videos, queries and objects of A2D-S and of M, S and T as we build them; needs the sentences alone."""
    scored = setup.scored_set(A2D)
    planned = plan(scored.source.open(scored.split, Drawing(scored.amount.count)), open_labeler(""), seed=0)
    joined = count_joined(planned.pairs)
    columns = {"A2D-S test": count_source(planned), "M": count_several(planned.several), "S": joined, "T": joined}
    shown = {key: cell for column, counts in columns.items() for key, cell in _counted(column, counts).items()}
    return with_ours(
        printed_table("statistic"), "sizes of A2D-S and A2D-S+", shown, f"Ours: of {planned.dataset_name}."
    )


def roles(_: Setup) -> Table:
    """The paper's example of semantic roles, and our labeler's."""
    (labelled,) = open_labeler("").label([EXAMPLE])
    ours = [f"{phrase.role}: {phrase.phrase}" for phrase in labelled.phrases]
    rows = []
    printed = printed_table("srl").rows
    for place in range(max(len(printed), len(ours))):
        row = printed[place] if place < len(printed) else None
        said = ["-"] * 3 if row is None else [row.method, row.cells["phrase"], row.cells["lemmas"]]
        rows.append([*said, ours[place] if place < len(ours) else "-"])
    return Table(f"roles of “{EXAMPLE}”", ["role", "phrase", "lemmas", "**ours**"], rows)


def _request(preset: str) -> BenchRequest:
    device = find_device(None)
    return BenchRequest(device, find_precision(None, device), preset, repeats=3, is_compiled=False)


def _counted(column: str, counts: Counts) -> dict[tuple[str, str], str]:
    objects = counts.objects_per_video
    return {
        ("videos", column): str(counts.videos),
        ("queries", column): str(counts.queries),
        ("objects per video", column): "-" if objects is None else f"{objects:.2f}",
    }
