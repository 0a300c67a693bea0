"""From a checkpoint and data to a grounding module: what `locater ensemble train` calls."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from locater.compute.device import find_device
from locater.config import GroundingConfig, TrainingConfig
from locater.errors import LocaterError
from locater.model.checkpoint import from_pretrained
from locater.model.grounding.files import save_grounding
from locater.training.data.sources import open_data
from locater.training.grounding.fit import Choices, choose, drawn, fit

USUAL = GroundingConfig()
SENTENCES = 3  # of each clip of a world: the objects of the other two are candidates


@dataclass(frozen=True)
class GroundingRequest:
    """What is asked for."""

    backbone: str  # the checkpoint that it sees with
    data: str  # NAME[:ROOT]
    out: Path
    weak: tuple[str, ...] = ()  # checkpoints whose masks are candidates
    settings: GroundingConfig = USUAL
    steps: int = 2000
    batch_size: int = 16  # clips
    held_out: int = 16  # batches to tell how well it chooses
    kinds: tuple[str, ...] = ()  # of a world's sentences; none: all
    seed: int = 0
    device: str | None = None


def train_grounding(
    request: GroundingRequest, listen: Callable[[int, float], None] = lambda _, __: None
) -> Choices | None:
    """Train a module, write it, and say how it chooses for held-out sentences; None where the data has none."""
    if request.steps < 1 or request.batch_size < 1:
        raise LocaterError("A grounding module needs at least one step and one clip a step; change --steps or --batch.")
    device = find_device(request.device)
    backbone = from_pretrained(request.backbone).to(device)
    weak = [from_pretrained(each).to(device) for each in request.weak]
    config = TrainingConfig(
        batch_size=request.batch_size,
        sentences=SENTENCES,
        clip_frames=request.settings.frames,
        clip_strides=(0,),
        global_frames=0,
    )
    data = open_data(request.data, backbone.config.image_size, config, 1)
    unknown = sorted(set(request.kinds) - set(data.kinds))
    if unknown:
        raise LocaterError(f"There is no kind '{unknown[0]}' in {request.data}; it has {', '.join(data.kinds)}.")
    if request.kinds:
        weights = {kind: float(kind in request.kinds) for kind in data.kinds}
        config = config.model_copy(update={"kind_weights": weights})
        data = open_data(request.data, backbone.config.image_size, config, 1)
    batches = drawn(data, config, device, request.seed)
    module = fit(backbone, request.settings, batches, weak, request.steps, request.seed, listen)
    save_grounding(module, backbone, request.out)
    if not data.kinds:
        return None
    held_out = drawn(data, config, device, request.seed, is_held_out=True)
    return choose(backbone, module, held_out, weak, request.held_out)
