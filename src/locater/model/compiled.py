"""Fewer launches by fusing what is element-wise; held against the plain way before it is timed."""

import copy

from torch import nn

from locater.model.decoder import FineUpsampler
from locater.model.locater import Locater
from locater.model.memory import MaskEmbedding, ReadMLP, WriteController
from locater.model.transformer import EncoderBlock
from locater.model.visual.early_stem import EarlyStem

# The parts whose time goes to element-wise work between products or convolutions: norms and GELUs. EarlyStem's run over
# the largest maps of a ViT, at half of the frame's size (an EfficientNet has maps of its own); those of ReadMLP run
# anew for every frame of the recurrence.
COMPILED_PARTS = (EncoderBlock, EarlyStem, FineUpsampler, WriteController, MaskEmbedding, ReadMLP)


def compile_parts(model: nn.Module) -> None:
    """Fuses the element-wise work of a network's parts in place (torch.compile), for tensors of one shape.

    Each part is compiled on its own: a clip, unrolled, would take ages.
    """
    for part in model.modules():
        if isinstance(part, COMPILED_PARTS):
            part.compile(dynamic=False)


def compiled_twin(model: Locater) -> Locater:
    """The same network with the same weights in the same memory, its parts compiled; `model` stays as it is.

    PyTorch keeps what its compiler made in a folder of the user's, so that only the first run of a network waits long.
    """
    shared = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    twin = copy.deepcopy(model, shared)
    compile_parts(twin)
    return twin
