"""The paper's ablation tables: which settings each row changes, and what the paper prints beside it."""

from dataclasses import dataclass

from locater.errors import LocaterError
from locater.published.tables import printed_table

CAPACITIES = {"0": 0.0, "N_v": 1.0, "1.5 N_v": 1.5, "2 N_v": 2.0, "3 N_v": 3.0}  # as printed, and their ratio
INTERVALS = (3, 5, 7, 10, 12, 15, 20, 30)
NO_MEMORY = ("memory.global_ratio=0.0", "memory.local_ratio=0.0")
NO_SUPERVISION = ("fusion.auxiliary=false",)


@dataclass(frozen=True)
class Row:
    """One row: what it changes, and the paper's mIoU on A2D-S and on A2D-S+ where it prints them."""

    name: str
    changes: tuple[str, ...]
    paper: tuple[float | None, float | None] = (None, None)


def _printed(table: str, names_and_changes: dict[str, tuple[str, ...]]) -> tuple[Row, ...]:
    """Rows with what the paper prints of each."""
    printed = printed_table(table)
    return tuple(
        Row(name, changes, (printed.value(name, "A2D-S"), printed.value(name, "A2D-S+")))
        for name, changes in names_and_changes.items()
    )


def _capacity(global_cells: str, local_cells: str) -> float | None:
    return printed_table("ablation_lgmemory").value(global_cells, f"N_l = {local_cells}")


def _encoders(i3d: tuple[str, ...], swin: tuple[str, ...]) -> tuple[Row, ...]:
    """The table of visual encoders, and of A2D-S's the row of Video-Swin-T."""
    swins = printed_table("a2dsota").value("LOCATER, Video-Swin-T", "mIoU")
    return (*_printed("ablation_ve", {"I3D": i3d, "Transformer": ()}), Row("Video-Swin-T", swin, (swins, None)))


def _at_interval(frames: int) -> tuple[float | None, float | None]:
    printed = printed_table("ablation_sample_rate")
    return printed.value("A2D-S", f"every {frames}"), printed.value("A2D-S+", f"every {frames}")


TABLES: dict[str, tuple[Row, ...]] = {
    "key_components": _printed(
        "ablation_keycomponent",
        {
            "baseline: features concatenated": ("fusion.kind=concat", *NO_SUPERVISION, *NO_MEMORY),
            "+ cross-modality encoder": (*NO_SUPERVISION, *NO_MEMORY),
            "+ memory": NO_SUPERVISION,
            "+ deep supervision": NO_MEMORY,
            "all": (),
        },
    ),
    "memories": (  # the corners of the table of capacities, and the write as printed
        Row("none", NO_MEMORY, (None, _capacity("0", "0"))),
        Row("local alone", ("memory.global_ratio=0.0",), (None, _capacity("0", "2 N_v"))),
        Row("global alone", ("memory.local_ratio=0.0",), (None, _capacity("1.5 N_v", "0"))),
        Row("both", (), (None, _capacity("1.5 N_v", "2 N_v"))),
        Row(
            "both, the paper's write",
            (
                "memory.write=paper",
                "memory.heads=1",
                "memory.time_embedding=false",
                "memory.place_embedding=false",
            ),
        ),
        Row("both, the paper's write, positioned", ("memory.write=paper", "memory.heads=1")),
    ),
    "fusion_modules": _printed("ablation_cme", {f"K = {k}": (f"fusion.modules={k}",) for k in range(1, 6)}),
    "memory_capacity": tuple(
        Row(
            f"N_g = {g}, N_l = {c}",
            (f"memory.global_ratio={of_g}", f"memory.local_ratio={of_c}"),
            (None, _capacity(g, c)),
        )
        for g, of_g in CAPACITIES.items()
        for c, of_c in CAPACITIES.items()
    ),
    "query": _printed(
        "ablation_queryemb",
        {"text alone": ("decoder.query=text",), "visual-guided": ("decoder.query=visual",)},
    ),
    "visual_encoder": _encoders(("visual.kind=i3d",), ("visual.kind=video_swin",)),
    "visual_encoder_small": _encoders(  # the same in miniature, for presets that train from nothing in minutes
        ("visual.kind=i3d", "visual.scale=0.25"),
        ("visual.kind=video_swin", "visual.width=24", "visual.depths=[1, 1, 2]"),
    ),
    "decoding": _printed(
        "ablation_qm",
        {
            "encoder only": ("decoder.readout=encoder_only",),
            "cosine distance": ("decoder.readout=cosine",),
            "product distance": ("decoder.readout=product",),
        },
    ),
    "sampling_interval": tuple(Row(f"every {n}", (f"memory.interval={n}",), _at_interval(n)) for n in INTERVALS),
}


def find_table(name: str) -> tuple[Row, ...]:
    """The rows of a table."""
    if name not in TABLES:
        raise LocaterError(f"There is no ablation table '{name}'; choose from {', '.join(TABLES)}.")
    return TABLES[name]
