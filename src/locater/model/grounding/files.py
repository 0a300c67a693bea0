"""Grounding modules on disk: a folder of grounding.json, grounding.safetensors and the network that it sees with."""

import json
from pathlib import Path

from safetensors.torch import save_file

from locater.config import GroundingConfig, parse_settings
from locater.io.results_folder import check_results_folder, results_folder
from locater.io.text_files import read_json
from locater.model.checkpoint import from_pretrained, load_strictly, save_pretrained
from locater.model.grounding.grounding import Grounding
from locater.model.locater import Locater

SETTINGS, WEIGHTS, BACKBONE = "grounding.json", "grounding.safetensors", "backbone"
_KNOWN = (SETTINGS, WEIGHTS)


def save_grounding(module: Grounding, backbone: Locater, folder: Path) -> None:
    """Write both, whole or not at all; an earlier grounding module is replaced."""
    with results_folder(folder, "locater ensemble train", force=True, known_by=_KNOWN) as partial:
        (partial / SETTINGS).write_text(json.dumps(module.config.model_dump(), indent=2) + "\n", "utf-8")
        tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
        save_file(tensors, partial / WEIGHTS, metadata={"format": "pt"})
        save_pretrained(backbone, partial / BACKBONE)


def load_grounding(folder: Path) -> tuple[Grounding, Locater]:
    """The module and the network that it sees with; what is missing, extra or misfitting is told."""
    values = read_json(folder / SETTINGS, "`locater ensemble train` makes such a folder")
    config = parse_settings(GroundingConfig, values, str(folder / SETTINGS))
    backbone = from_pretrained(folder / BACKBONE)
    module = Grounding(config, backbone.config.width)
    load_strictly(module, folder / WEIGHTS)
    return module.eval(), backbone


def check_grounding_folder(folder: Path, force: bool) -> None:
    """Nothing, where `save_grounding` may write; an earlier one needs `force`."""
    check_results_folder(folder, force=force, known_by=_KNOWN)
