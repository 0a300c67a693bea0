"""The optimiser, its parameter groups and its schedule."""

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.model.fusion import ChannelNorm
from locater.model.locater import Locater

_ENCODER_BLOCK = re.compile(r"visual\.blocks\.(\d+)\.")
# Of a pretrained encoder, what was not pretrained.
_NEW_PART = re.compile(r"visual\.(what\.|where\.)?(projection|place|early_stem|early_embedding|recogniser\.meanings)\.")


def make_optimizer(model: Locater, config: TrainingConfig) -> torch.optim.Optimizer:
    """Adam or AdamW over groups of equal rate; vectors (norms, biases, memory starts' kin) are not decayed by AdamW."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad or not parameter.numel():
            continue
        is_decayed = parameter.ndim > 1 or config.optimizer == "adam"
        key = (config.learning_rate * rate_scale(name, model, config), config.weight_decay if is_decayed else 0.0)
        groups.setdefault(key, []).append(parameter)
    settings = [{"params": params, "lr": lr, "weight_decay": decay} for (lr, decay), params in groups.items()]
    is_fused = next(model.parameters()).is_cuda  # one kernel for all parameters instead of a dozen
    if config.optimizer == "adamw":
        return torch.optim.AdamW(settings, fused=is_fused)
    return torch.optim.Adam(settings, fused=is_fused)


def skip_unless_finite(optimizer: torch.optim.Optimizer, norm: Tensor) -> None:
    """Let the coming step change nothing if the gradients' norm is not finite: one bad batch must not end it all."""
    if optimizer.defaults["fused"]:
        optimizer.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]  # read by the fused kernel
    elif not norm.isfinite():
        optimizer.zero_grad(set_to_none=True)


def freeze(model: Locater, config: TrainingConfig) -> None:
    """Let the parts that `rates` sets to 0 learn nothing, V's statistics included."""
    for part in config.rates:
        if not any(name.startswith(f"{part}.") for name in model.state_dict()):  # statistics are no parameters
            known = ", ".join(name for name, _ in model.named_children())
            raise LocaterError(f"training.rates: the network has no part '{part}'; it has {known}.")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(_rate_of_part(name, config) > 0)
    for name, module in model.named_modules():
        if isinstance(module, ChannelNorm):
            module.is_fixed = _rate_of_part(f"{name}.", config) == 0
            module.train(module.training)


def _rate_of_part(name: str, config: TrainingConfig) -> float:
    parts = [part for part in config.rates if name.startswith(f"{part}.")]
    return config.rates[max(parts, key=len)] if parts else 1.0


def rate_scale(name: str, model: Locater, config: TrainingConfig) -> float:
    """How much slower than the rest a parameter learns: parts by `rates`, pretrained encoders, lower blocks more."""
    return _rate_of_part(name, config) * _encoder_rate(name, model, config)


def _encoder_rate(name: str, model: Locater, config: TrainingConfig) -> float:
    if name.startswith("text.model."):
        return config.encoder_rate
    if model.config.visual.pretrained is None or not name.startswith("visual."):
        return 1.0
    if _NEW_PART.match(name):
        return 1.0
    depth = len(getattr(model.visual, "blocks", ()))
    block = _ENCODER_BLOCK.match(name)
    is_final_norm = name.startswith("visual.norm.")
    below_top = depth - 1 - int(block[1]) if block else 0 if is_final_norm else depth
    return config.encoder_rate * float(config.layer_decay**below_top)


def polynomial(steps: int, warmup_steps: int, power: float) -> Callable[[int], float]:
    """The rate at each step as a fraction of the full one: a linear rise, then (1 - progress) ** power."""

    def scale(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / (warmup_steps + 1)
        progress = (step - warmup_steps) / max(1, steps - warmup_steps)
        return float(max(0.0, 1 - progress) ** power)

    return scale
