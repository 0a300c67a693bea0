"""What a checkpoint or a video is, as pairs of name and value for a person."""

from locater.model.checkpoint import find_checkpoint, from_pretrained
from locater.video.reader import open_source


def checkpoint_facts(target: str) -> list[tuple[str, str]]:
    """A checkpoint's size and settings."""
    folder = find_checkpoint(target)
    model = from_pretrained(folder)
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    state = model.initial_state(model.text(model.read(["a"])))
    shape = ", or as many in the frame's own shape" if config.keep_aspect else ""
    return [
        ("checkpoint", str(folder)),
        ("parameters", f"{parameters / 1e6:.2f} million"),
        ("frames", f"{config.image_size} x {config.image_size} in {config.grid} x {config.grid} patches{shape}"),
        ("visual encoder", config.visual.kind),
        ("text encoder", f"{config.text.kind}, {config.text.max_words} words"),
        ("fusion", f"{config.fusion.kind}, {config.fusion.modules} modules, width {config.width}"),
        (
            "memory",
            f"{config.global_cells} global and {config.local_cells} local cells, write '{config.memory.write}', "
            f"one frame in {config.memory.interval} for the global ones",
        ),
        ("decoder", f"{config.decoder.query} query, {config.decoder.readout}, {config.decoder.upsampling}"),
        ("state of a video", f"{state.nbytes / 1e6:.2f} MB per expression, whatever its length"),
    ]


def video_facts(target: str) -> list[tuple[str, str]]:
    """A video's size, length and clock, as far as known."""
    facts = open_source(target).info

    def known(value: object, unit: str = "") -> str:
        return (
            "unknown" if value is None else f"{value:.6g} {unit}".rstrip() if isinstance(value, float) else str(value)
        )

    return [
        ("video", facts.name),
        ("size", f"{known(facts.width)} x {known(facts.height)}"),
        ("frames", known(facts.frame_count)),
        ("frames per second", known(facts.frames_per_second)),
        ("duration", known(facts.duration, "seconds")),
    ]
