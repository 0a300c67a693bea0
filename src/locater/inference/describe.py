"""What a checkpoint or a video is, as pairs of name and value for a person."""

from pathlib import Path

from locater.config import LSTMConfig, ModelConfig
from locater.model.checkpoint import WEIGHTS, find_checkpoint, from_pretrained
from locater.records import VideoInfo
from locater.video.reader import open_source


def checkpoint_facts(target: str) -> list[tuple[str, str]]:
    """A checkpoint's size and settings."""
    folder = find_checkpoint(target)
    model = from_pretrained(folder)
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    state = model.initial_state(model.text(model.read(["a"])))
    shape = ", or as many pixels in the frame's own shape" if config.keep_aspect else ""
    memory = config.memory
    return [
        ("checkpoint", str(folder)),
        ("parameters", f"{parameters / 1e6:.2f} million, {(folder / WEIGHTS).stat().st_size / 1e6:.1f} MB on disk"),
        ("frames", f"seen at {config.image_size} x {config.image_size} pixels in {_patches(config)} patches{shape}"),
        ("sentences", _sentences(config)),
        ("visual encoder", config.visual.kind),
        ("text encoder", config.text.kind),
        ("fusion", f"{config.fusion.kind}, {config.fusion.modules} modules, width {config.width}"),
        ("memory", f"{config.global_cells} global and {config.local_cells} local cells, write rule '{memory.write}'"),
        ("whole video", f"one frame in {memory.interval} is looked at before the masks are made"),
        ("decoder", _decoder(config)),
        ("state of a video", f"{state.nbytes / 1e6:.2f} MB per sentence, however long the video is"),
    ]


def _decoder(config: ModelConfig) -> str:
    if config.design == "authors":
        return "that of the authors' released code, as is the memory"
    return f"{config.decoder.query} query, {config.decoder.readout}, {config.decoder.upsampling}"


def video_facts(target: str) -> list[tuple[str, str]]:
    """A video's size, length and speed, as far as known."""
    facts = open_source(target).info
    is_assumed = Path(target).is_dir()  # pictures carry no times
    size = f"{facts.width} x {facts.height} pixels" if facts.width and facts.height else "unknown"
    speed = "unknown" if facts.frames_per_second is None else f"{facts.frames_per_second:.6g} frames per second"
    return [
        ("video", facts.name),
        ("size", size),
        ("length", _length(facts)),
        ("speed", f"{speed}, assumed, as pictures carry no times" if is_assumed else speed),
    ]


def _patches(config: ModelConfig) -> str:
    return f"{config.grid} x {config.grid}"


def _sentences(config: ModelConfig) -> str:
    read = f"up to {config.text.max_words} words are read"
    known = config.text.vocabulary if isinstance(config.text, LSTMConfig) else ()
    return f"{read}; {len(known):,} words were learned" if known else read


def _length(facts: VideoInfo) -> str:
    if facts.frame_count is None:
        return "unknown"
    frames = f"{facts.frame_count:,} frame{'s' * (facts.frame_count != 1)}"
    if facts.duration is None:
        return frames
    minutes, seconds = divmod(facts.duration, 60)
    return f"{frames}, {minutes:.0f} min {seconds:.0f} s" if minutes else f"{frames}, {seconds:.4g} s"
