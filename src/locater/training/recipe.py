"""A recipe: the stages that train and the averages between them, and which weights each begins with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from locater.config import TrainingConfig, parse_settings, parse_training, stage_values
from locater.encoder_settings import Settings
from locater.errors import LocaterError
from locater.model.checkpoint import find_checkpoint, shipped_checkpoints

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
GIVEN = "start"  # the checkpoint that the run was given


class AverageConfig(Settings):
    """A weighted mean of checkpoints of one network, tensor by tensor."""

    of: tuple[str, ...] = Field(min_length=2)  # stage1, ..., start, or shipped names
    weights: tuple[Weight, ...]  # normalised to a sum of 1
    parts: dict[str, tuple[Weight, ...]] = Field(
        default_factory=dict
    )  # parts by name, as in `rates`, with weights of their own

    @model_validator(mode="after")
    def _weights_fit(self) -> Self:
        for name, weights in {"weights": self.weights, **self.parts}.items():
            if len(weights) != len(self.of) or not sum(weights):
                raise ValueError(f"{name} has to be {len(self.of)} numbers, not all of them 0")
        return self


Stage = TrainingConfig | AverageConfig


def parse_recipe(name: str, changes: dict[str, Any]) -> list[Stage]:
    """The stages and averages of a preset or of a file, in their order, with `changes` on top of all that train."""
    found: list[Stage] = []
    for number, values in enumerate(stage_values(name, changes), start=1):
        origin = f"preset {name}"
        if "average" not in values:
            found.append(parse_training(values, origin))
            continue
        if len(values) > 1 or not isinstance(values["average"], dict):
            raise LocaterError(
                f"{origin}: stage{number} is an average and nothing else, as {{average: {{of: [stage1, stage2], "
                "weights: [0.7, 0.3]}}}."
            )
        found.append(parse_settings(AverageConfig, values["average"], f"{origin}, stage{number}"))
    return found


@dataclass(frozen=True)
class Run:
    """Where a recipe's stages have their folders, and what their names for weights stand for."""

    folder: Path
    stages: Sequence[Stage]
    given: Path | None  # a checkpoint to start from

    def place(self, number: int) -> Path:
        """The folder of the `number`-th stage, counted from 1; the last has the run's own."""
        return self.folder if number == len(self.stages) else self.folder / f"stage{number}"

    def begins_with(self, number: int) -> Path | None:
        """The checkpoint whose weights a stage that trains begins with; None: it begins afresh."""
        stage = self.stages[number - 1]
        assert isinstance(stage, TrainingConfig)
        if stage.start is not None:
            return self.checkpoint(stage.start, number)
        return self.given if number == 1 else self.place(number - 1) / "checkpoint"

    def checkpoint(self, name: str, number: int) -> Path:
        """The checkpoint folder that the `number`-th stage calls so."""
        if name == GIVEN:
            if self.given is None:
                raise LocaterError(f"stage{number} begins with `start`, so the run needs one: give --start CHECKPOINT.")
            return self.given
        earlier = {f"stage{each}": self.place(each) / "checkpoint" for each in range(1, number)}
        if name in earlier:
            return earlier[name]
        if name in shipped_checkpoints():
            return find_checkpoint(name)
        known = ", ".join([*earlier, GIVEN, *shipped_checkpoints()])
        raise LocaterError(f"stage{number} takes weights from '{name}', which is none of {known}.")

    def first_seed(self, seed: int) -> int:
        """The seed of the first stage that trains, by which words that `start` lacks begin; else `seed`."""
        first = next((stage.seed for stage in self.stages if isinstance(stage, TrainingConfig)), None)
        return seed if first is None else first

    def check(self) -> None:
        """Nothing, when every name stands for weights that will be there; hours before they are needed."""
        for number, stage in enumerate(self.stages, start=1):
            if isinstance(stage, TrainingConfig) and stage.rehearsed and self.given is None:
                raise LocaterError(
                    "training.rehearsed needs a checkpoint that answers; name the one to begin with by --start."
                )
            if isinstance(stage, TrainingConfig) and stage.recognition_weight and self.given is None:
                raise LocaterError(
                    "training.recognition_weight needs a checkpoint whose classes are kept; name the one to begin with "
                    "by --start."
                )
            names = stage.of if isinstance(stage, AverageConfig) else [stage.start] if stage.start is not None else []
            for name in names:
                self.checkpoint(name, number)
