"""The paper's ablation tables: which settings each row changes, and what the paper prints beside it."""

from dataclasses import dataclass

from locater.errors import LocaterError

CAPACITIES = (0.0, 1.0, 1.5, 2.0, 3.0)
# tab:ablation:lgmemory, mIoU on A2D-S+: a row for each global capacity, a column for each local one
CAPACITY_GRID = (
    (34.8, 35.2, 35.4, 35.4, 35.5),
    (35.3, 35.5, 35.8, 36.0, 36.1),
    (35.3, 35.6, 36.1, 36.4, 36.4),
    (35.4, 35.8, 36.2, 36.4, 36.4),
    (35.4, 35.9, 36.2, 36.4, 36.4),
)
INTERVALS = {3: (59.7, 36.4), 5: (59.7, 36.4), 7: (59.7, 36.4), 10: (59.7, 36.4), 12: (59.6, 36.4), 15: (59.4, 36.1),
             20: (59.3, 35.9), 30: (59.0, 35.5)}  # fmt: skip
NO_MEMORY = ("memory.global_ratio=0.0", "memory.local_ratio=0.0")
NO_SUPERVISION = ("fusion.auxiliary=false",)


@dataclass(frozen=True)
class Row:
    """One row: what it changes, and the paper's mIoU on A2D-S and on A2D-S+ where it prints them."""

    name: str
    changes: tuple[str, ...]
    paper: tuple[float | None, float | None] = (None, None)


TABLES: dict[str, tuple[Row, ...]] = {
    "key_components": (  # tab:ablation:keycomponent
        Row("baseline: features concatenated", ("fusion.kind=concat", *NO_SUPERVISION, *NO_MEMORY), (47.3, 27.0)),
        Row("+ cross-modality encoder", (*NO_SUPERVISION, *NO_MEMORY), (54.6, 30.8)),
        Row("+ memory", NO_SUPERVISION, (57.5, 35.0)),
        Row("+ deep supervision", NO_MEMORY, (57.2, 34.8)),
        Row("all", (), (59.7, 36.4)),
    ),
    "memories": (  # the corners of tab:ablation:lgmemory, and the write as printed
        Row("none", NO_MEMORY, (None, 34.8)),
        Row("local alone", ("memory.global_ratio=0.0",), (None, 35.4)),
        Row("global alone", ("memory.local_ratio=0.0",), (None, 35.3)),
        Row("both", (), (None, 36.4)),
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
    "fusion_modules": tuple(  # tab:ablation:cme
        Row(f"K = {k}", (f"fusion.modules={k}",), paper)
        for k, paper in enumerate(((58.4, 35.2), (59.0, 35.8), (59.7, 36.4), (59.5, 36.4), (59.7, 36.4)), start=1)
    ),
    "memory_capacity": tuple(  # tab:ablation:lgmemory
        Row(f"N_g = {g} N_v, N_l = {c} N_v", (f"memory.global_ratio={g}", f"memory.local_ratio={c}"), (None, score))
        for g, scores in zip(CAPACITIES, CAPACITY_GRID, strict=True)
        for c, score in zip(CAPACITIES, scores, strict=True)
    ),
    "visual_encoder": (  # tab:ablation:ve, and of tab:a2dsota the row of Video-Swin-T
        Row("I3D", ("visual.kind=i3d",), (58.3, 35.2)),
        Row("Transformer", (), (59.7, 36.4)),
        Row("Video-Swin-T", ("visual.kind=video_swin",), (64.2, None)),
    ),
    "visual_encoder_small": (  # the same in miniature, for presets that train from nothing in minutes
        Row("I3D, a quarter as wide", ("visual.kind=i3d", "visual.scale=0.25"), (58.3, 35.2)),
        Row("Transformer", (), (59.7, 36.4)),
        Row(
            "Video-Swin, a quarter as wide",
            ("visual.kind=video_swin", "visual.width=24", "visual.depths=[1, 1, 2]"),
            (64.2, None),
        ),
    ),
    "query": (  # tab:ablation:queryemb
        Row("text alone", ("decoder.query=text",), (58.7, 35.7)),
        Row("visual-guided", ("decoder.query=visual",), (59.7, 36.4)),
    ),
    "decoding": (  # tab:ablation:qm
        Row("encoder only", ("decoder.readout=encoder_only",), (56.8, 34.1)),
        Row("cosine distance", ("decoder.readout=cosine",), (59.2, 36.3)),
        Row("product distance", ("decoder.readout=product",), (59.7, 36.4)),
    ),
    "sampling_interval": tuple(  # tab:ablation:sample_rate
        Row(f"every {n}", (f"memory.interval={n}",), paper) for n, paper in INTERVALS.items()
    ),
}


def find_table(name: str) -> tuple[Row, ...]:
    """The rows of a table."""
    if name not in TABLES:
        raise LocaterError(f"There is no ablation table '{name}'; choose from {', '.join(TABLES)}.")
    return TABLES[name]
