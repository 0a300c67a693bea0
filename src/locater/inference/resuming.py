"""What an interrupted video goes on from: whether a saved state fits, and who hears of states on the way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from locater.config import ModelConfig
from locater.errors import LocaterError
from locater.records import Correction, VideoState, Views


@dataclass(frozen=True)
class PassOne:
    """Who hears how far the first pass over a video is."""

    on_frame: Callable[[int], None] | None
    on_state: Callable[[VideoState], None] | None

    def reached(self, index: int, state: VideoState | None = None) -> None:
        """Tell that a frame is reached, and the state to resume the pass from, where it is not over."""
        if self.on_frame is not None:
            self.on_frame(index)
        if self.on_state is not None and state is not None:
            self.on_state(state)


def check_state(
    state: VideoState,
    expressions: tuple[str, ...],
    views: Views,
    corrections: Sequence[Correction],
    config: ModelConfig,
) -> None:
    """Nothing, where a video of these expressions, views and corrections, and a network of this config, can go on."""
    if state.expressions != expressions:
        raise LocaterError(f"The saved state belongs to {list(state.expressions)}, not to {list(expressions)}.")
    if state.views != views:
        raise LocaterError(f"The saved state belongs to the scales {state.views}; go on with these.")
    if state.global_index is not None and corrections:
        raise LocaterError("The saved state is of a video without corrections; begin anew to correct it.")
    here = (config.global_cells, config.width), (config.local_cells, config.width)
    is_fit = (tuple(state.global_cells.shape[1:]), tuple(state.local_cells.shape[1:])) == here
    if config.design == "paper" and not is_fit:  # the authors' network has cells of its own
        raise LocaterError("The saved state belongs to another checkpoint; go on with the one that made it.")
