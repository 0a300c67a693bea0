"""The paper's tables of scores: which network of ours fills which cells."""

from locater.published.tables import printed_table
from locater.records import Views
from locater.reproduce.systems import (
    A2D,
    AVERAGE,
    CHALLENGE,
    JHMDB,
    MIOU,
    PLUS,
    PRECISIONS,
    REGIONS,
    YTVOS,
    Cell,
    ScoredTable,
    System,
    cells_of,
    object_cells,
    subset_cells,
)
from locater.training.ablation.tables import CAPACITIES, INTERVALS, TABLES, Row

_VIT, _SWIN = "LOCATER, ViT-B", "LOCATER, Video-Swin-T"
_WHOLE, _IMAGE = "LOCATER", "LOCATER without memory"
_WINNER = "leonnnop (LOCATER and ensemble)"
_VIEWS = Views((0.5, 0.75, 1.0, 1.25, 1.5, 1.75), flip=True)  # section 5.6
_MAP_NOTE = "Our mAP is the mean of P@K over ten thresholds; the printed column mixes that with COCO's AP."


def _two_backbones(
    label: str, title: str, train_on: str, data: str, paths: dict[str, tuple[str | int, ...]], note: str = ""
) -> ScoredTable:
    systems = tuple(
        System(preset, train_on, cells_of(row, data, paths)) for row, preset in ((_VIT, "paper"), (_SWIN, "paper_swin"))
    )
    return ScoredTable(f"tab:{label}", label, title, systems, note)


def _ablation(printed: str, title: str, rows: tuple[Row, ...]) -> ScoredTable:
    systems = tuple(System("paper", A2D, _both_sets(row.name), row.changes) for row in rows)
    return ScoredTable(f"tab:ablation:{printed}", f"ablation_{printed}", title, systems)


def _both_sets(row: str) -> tuple[Cell, ...]:
    return Cell(row, "A2D-S", A2D, MIOU), Cell(row, "A2D-S+", PLUS, AVERAGE)


def _challenge(label: str, title: str, data: str, rows: tuple[str, ...], note: str) -> ScoredTable:
    systems = tuple(System("paper_challenge", YTVOS, cells_of(row, data, REGIONS), views=_VIEWS) for row in rows)
    return ScoredTable(f"tab:{label}", label.replace(":", "_"), title, systems, note)


_CAPACITY_CELLS = {
    row: Cell(g, f"N_l = {c}", PLUS, AVERAGE)
    for row, (g, c) in zip(TABLES["memory_capacity"], ((g, c) for g in CAPACITIES for c in CAPACITIES), strict=True)
}

SCORED: tuple[ScoredTable, ...] = (
    _two_backbones("a2dsota", "A2D-Sentences test", A2D, A2D, PRECISIONS, _MAP_NOTE),
    _two_backbones("jhmdbsota", "J-HMDB-Sentences, trained on A2D-Sentences", A2D, JHMDB, PRECISIONS, _MAP_NOTE),
    _two_backbones("youtubesota", "Refer-YouTube-VOS valid", YTVOS, YTVOS, REGIONS),
    ScoredTable(
        "tab:subsets",
        "subsets",
        "A2D-S+: several objects, side by side, one after the other",
        (System("paper_image", A2D, subset_cells(_IMAGE)), System("paper", A2D, subset_cells(_WHOLE))),
        _MAP_NOTE,
    ),
    ScoredTable(
        "tab:num_objects",
        "num_objects",
        "mIoU by number of objects",
        tuple(
            System(preset, A2D, object_cells(row, printed_table("num_objects").columns))
            for preset, row in (("paper_image", _IMAGE), ("paper", _WHOLE))
        ),
    ),
    _challenge(
        "challenge:val",
        "the challenge's test-dev set",
        YTVOS,
        (_WHOLE,),
        "Ours is one network in six scales, mirrored too; the winner's ensemble is made by hand (docs/ensemble.md).",
    ),
    _challenge(
        "challenge",
        "the challenge's test-challenge set",
        CHALLENGE,
        (_WINNER,),
        "Ours is one network in six scales, mirrored too, without the ensemble. The set's masks were never published.",
    ),
    _ablation("keycomponent", "key components", TABLES["key_components"]),
    _ablation("cme", "modules of the cross-modality encoder", TABLES["fusion_modules"]),
    ScoredTable(
        "tab:ablation:lgmemory",
        "ablation_lgmemory",
        "cells of the local and the global memory, mIoU on A2D-S+",
        tuple(System("paper", A2D, (cell,), row.changes) for row, cell in _CAPACITY_CELLS.items()),
    ),
    ScoredTable(
        "tab:ablation:ve",
        "ablation_ve",
        "visual encoder",
        (System("paper_i3d", A2D, _both_sets("I3D")), System("paper", A2D, _both_sets("Transformer"))),
    ),
    _ablation("queryemb", "query embedding", TABLES["query"]),
    _ablation("qm", "decoding mode", TABLES["decoding"]),
    ScoredTable(
        "tab:ablation:sample_rate",
        "ablation_sample_rate",
        "interval of the frames that the global memory is written from",
        tuple(
            System(
                "paper",
                A2D,
                (Cell("A2D-S", f"every {n}", A2D, MIOU), Cell("A2D-S+", f"every {n}", PLUS, AVERAGE)),
                row.changes,
            )
            for n, row in zip(INTERVALS, TABLES["sampling_interval"], strict=True)
        ),
    ),
)
