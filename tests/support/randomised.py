"""Networks whose every vector matters."""

import torch
from torch import nn


def randomise(module: nn.Module) -> None:
    """Every vector and statistic random, variances positive."""
    torch.manual_seed(0)
    with torch.no_grad():
        for name, value in sorted(module.state_dict().items()):
            if name.endswith("running_var"):
                value.uniform_(0.5, 1.5)
            elif value.is_floating_point() and (value.ndim < 2 or name.endswith("biases")):
                value.normal_(std=0.3)
                if name.endswith("weight"):
                    value.add_(1)
