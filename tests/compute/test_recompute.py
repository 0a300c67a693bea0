"""Gradient checkpointing as a wrapper around blocks."""

import copy

import torch

from locater.compute.recompute import recompute_blocks
from locater.model.transformer import EncoderBlock


def gradients(block: EncoderBlock, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    out = block(x, None)
    out.square().sum().backward()
    weight = block.attention.qkv.weight.grad
    assert weight is not None
    return out.detach(), weight


def test_a_block_computes_again_what_it_forgot() -> None:
    torch.manual_seed(0)
    plain, x = EncoderBlock(16, 2), torch.randn(2, 5, 16)
    forgetful = copy.deepcopy(plain)
    recompute_blocks([forgetful])
    runs = 0

    def count(*_: object) -> None:
        nonlocal runs
        runs += 1

    forgetful.attention.register_forward_hook(count)
    for ours, theirs in zip(gradients(forgetful, x), gradients(plain, x), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert runs == 2
    with torch.no_grad():
        forgetful(x, None)
    assert runs == 3
    assert forgetful.state_dict().keys() == plain.state_dict().keys()


def test_a_copy_computes_with_its_own_weights() -> None:
    torch.manual_seed(0)
    block, x = EncoderBlock(16, 2), torch.randn(2, 5, 16)
    recompute_blocks([block])
    copied = copy.deepcopy(block)
    before = copied(x)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.zero_()
    assert torch.equal(copied(x), before) and not torch.equal(block(x), before)
