"""The memory against the paper's equations, written out literally."""

import math
import shutil

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from locater.model.fusion import ChannelNorm
from locater.model.memory import (
    LocalGlobalMemory,
    MaskEmbedding,
    TimeEmbedding,
    WriteController,
    WriteRule,
    summary,
)

sizes = st.integers(1, 7)
RULES: tuple[WriteRule, ...] = ("paper", "sum", "compete")


def literal_write(controller: WriteController, values: Tensor, cells: Tensor) -> Tensor:
    """Eq. 5 with its (B, N, P, D) tensor: every cell, every patch, then the pooling over patches."""
    patches, count = values.shape[1], cells.shape[1]
    w_c = torch.cat([controller.from_values.weight, controller.from_summary.weight], dim=1)  # D x 2D
    pooled = cells.mean(1, keepdim=True).expand(-1, patches, -1)
    c = torch.cat([values, pooled], dim=-1) @ w_c.T  # (B, P, D)
    w_o = controller.gate.weight.T
    blocks = []
    for c_h, key_h, m_h in zip(*(x.chunk(controller.heads, -1) for x in (c, c @ w_o, cells)), strict=True):
        logit = torch.einsum("bpd,bnd->bnp", key_h, m_h)
        if controller.rule != "paper":
            logit = logit / math.sqrt(m_h.shape[-1])
        c_np = c_h[:, None].expand(-1, count, -1, -1)
        m_np = m_h[:, :, None].expand(-1, -1, patches, -1)
        if controller.rule == "compete":
            o = logit.softmax(dim=1)[..., None]  # every patch shares itself out over the cells
            blocks.append(m_h + (o * c_np).sum(2))
        else:
            o = logit.sigmoid()[..., None]
            mixed = o * c_np + (1 - o) * m_np
            blocks.append(mixed.mean(2) if controller.rule == "paper" else mixed.sum(2))
    written = torch.cat(blocks, dim=-1)
    if controller.rule == "paper":
        return written
    norm = controller.norm
    assert isinstance(norm, torch.nn.LayerNorm)
    return F.layer_norm(written, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def written(controller: WriteController, values: torch.Tensor, cells: torch.Tensor) -> torch.Tensor:
    """The cells after one frame's values (B, P, D)."""
    keyed = controller.keyed(controller.from_values(values))
    after: torch.Tensor = controller(keyed, controller.keyed_map(controller.from_summary.weight), cells)
    return after


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(batch=sizes, patches=sizes, count=sizes, width=sizes, heads=st.integers(1, 3), seed=st.integers(0, 2**31))
def test_factorised_write_and_gradient_equal_the_literal_equation(
    rule: WriteRule, batch: int, patches: int, count: int, width: int, heads: int, seed: int
) -> None:
    torch.manual_seed(seed)
    controller = WriteController(width * heads, rule, heads).double()
    torch.nn.init.normal_(controller.gate.weight)
    values = torch.randn(batch, patches, width * heads, dtype=torch.float64, requires_grad=True)
    cells = torch.randn(batch, count, width * heads, dtype=torch.float64, requires_grad=True)
    fast = written(controller, values, cells)
    literal = literal_write(controller, values, cells)
    torch.testing.assert_close(fast, literal, rtol=1e-10, atol=1e-10)

    direction = torch.randn_like(fast)
    inputs = [values, cells, controller.from_values.weight, controller.from_summary.weight, controller.gate.weight]
    fast_gradients = torch.autograd.grad((fast * direction).sum(), inputs)
    literal_gradients = torch.autograd.grad((literal * direction).sum(), inputs)
    # A LayerNorm over one channel divides by sqrt(eps) alone, which magnifies rounding.
    tolerance = 1e-6 if width * heads == 1 else 1e-8
    for ours, theirs in zip(fast_gradients, literal_gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("rule", RULES)
def test_a_compiled_write_is_the_plain_one(rule: WriteRule) -> None:
    """For a batch of one, Inductor's attention patterns turned the competition over cells into one over patches."""
    torch.manual_seed(0)
    controller = WriteController(64, rule, heads=2)
    given = torch.randn(1, 24, 128), torch.randn(128, 64), torch.randn(1, 40, 64)
    with torch.no_grad():
        plain = controller(*given)
        compiled = torch.compile(controller, dynamic=False)(*given)
    torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)


def test_local_write_is_eq_6_with_one_matrix_over_frame_mask_and_memory() -> None:
    torch.manual_seed(0)
    memory = LocalGlobalMemory(8, 0, 5, "paper", heads=1, time_embedding=False, place_embedding=False).double()
    assert memory.local_write and memory.from_mask and memory.mask_embedding
    values = torch.randn(2, 4, 8, dtype=torch.float64)
    soft_mask = torch.rand(2, 2, 2, dtype=torch.float64)
    cells = memory.initial_state(2)[1]
    embedded = memory.mask_embedding(soft_mask, (2, 2), *last_layer(memory.mask_embedding))
    w_c = torch.cat(
        [memory.local_write.from_values.weight, memory.from_mask.weight, memory.local_write.from_summary.weight], dim=1
    )
    assert w_c.shape == (8, 24)  # D x 3D
    c = torch.cat([values, embedded, cells.mean(1, keepdim=True).expand(-1, 4, -1)], dim=-1) @ w_c.T
    o = torch.einsum("bpd,de,bne->bnp", c, memory.local_write.gate.weight.T, cells).sigmoid()[..., None]
    literal = (o * c[:, None] + (1 - o) * cells[:, :, None]).mean(2)
    writes = memory.prepare_local(memory.project_local(values[:, None]))
    assert writes
    fast = memory.write_local(writes, 0, soft_mask, (2, 2), cells)
    torch.testing.assert_close(fast, literal, rtol=1e-12, atol=1e-12)


def last_layer(embedding: MaskEmbedding) -> tuple[torch.Tensor, torch.Tensor]:
    """Its own last convolution, nothing after it."""
    last = embedding.layers[2]
    assert isinstance(last, torch.nn.Conv2d) and last.bias is not None
    return last.weight, last.bias


def read(
    memory: LocalGlobalMemory, values: torch.Tensor, global_cells: torch.Tensor, local_cells: torch.Tensor
) -> torch.Tensor:
    """G_t of one frame (B, P, D)."""
    remembered = memory.read_global(values[:, None], values[:, None], global_cells)[:, 0]
    return memory.read(remembered, values, local_cells)


def test_read_is_eq_7_and_8() -> None:
    torch.manual_seed(0)
    memory = LocalGlobalMemory(8, 6, 5, "paper", heads=1, time_embedding=False, place_embedding=False)
    values, global_cells, local_cells = torch.randn(2, 4, 8), torch.randn(2, 6, 8), torch.randn(2, 5, 8)
    expected = values
    for cells in (global_cells, local_cells):
        expected = expected + (values @ cells.mT / math.sqrt(8)).softmax(-1) @ cells
    torch.testing.assert_close(read(memory, values, global_cells, local_cells), expected, rtol=1e-5, atol=1e-5)


def test_a_digest_sees_both_reads_and_is_there_without_memory_too() -> None:
    torch.manual_seed(0)
    memory = LocalGlobalMemory(8, 6, 5, "compete", 1, time_embedding=False, place_embedding=False, read_mlp=True)
    values, global_cells, local_cells = torch.randn(2, 4, 8), torch.randn(2, 6, 8), torch.randn(2, 5, 8)
    context = read(memory, values, global_cells, local_cells)
    for changed in (
        read(memory, values, torch.randn(2, 6, 8), local_cells),
        read(memory, values, global_cells, torch.randn(2, 5, 8)),
    ):
        assert (changed - context).abs().max() > 1e-3
    none = LocalGlobalMemory(8, 0, 0, "compete", 1, time_embedding=False, place_embedding=False, read_mlp=True)
    alone = read(none, values, *none.initial_state(2))
    torch.testing.assert_close(alone.mean(-1), torch.zeros(2, 4), atol=1e-5, rtol=0)  # a last LayerNorm: it was there
    assert not torch.allclose(alone, values)


def test_an_absent_memory_reads_nothing_and_sums_up_to_zeros() -> None:
    memory = LocalGlobalMemory(8, 0, 0, "compete", heads=2, time_embedding=True, place_embedding=False)
    global_cells, local_cells = memory.initial_state(3)
    assert global_cells.shape == local_cells.shape == (3, 0, 8)
    values = torch.randn(3, 4, 8)
    assert torch.equal(read(memory, values, global_cells, local_cells), values)
    assert memory.prepare_local(values[:, None]) is None
    assert torch.equal(memory.write_global(values[:, None], global_cells), global_cells)
    assert torch.equal(summary(global_cells), torch.zeros(3, 8))
    assert {name for name, _ in memory.named_parameters()} == {"global_start", "local_start"}


def test_mask_embedding_pools_a_fine_mask_to_the_patch_grid() -> None:
    torch.manual_seed(0)
    memory = LocalGlobalMemory(8, 0, 5, "compete", heads=1, time_embedding=False, place_embedding=False)
    assert memory.mask_embedding
    coarse = torch.rand(2, 3, 4)
    # Within a patch the pixels differ: what counts is their mean.
    fine = coarse.repeat_interleave(4, 1).repeat_interleave(4, 2) + 0.2 * torch.tensor([1.0, -1.0]).repeat(8)
    last = last_layer(memory.mask_embedding)
    torch.testing.assert_close(memory.mask_embedding(fine, (3, 4), *last), memory.mask_embedding(coarse, (3, 4), *last))


def test_mask_embedding_is_two_convolutions_over_the_soft_mask() -> None:
    torch.manual_seed(0)
    embedding = MaskEmbedding(8)
    first, second = embedding.layers[0], embedding.layers[2]
    soft_mask = torch.rand(2, 3, 4)
    hidden = F.gelu(F.conv2d(soft_mask[:, None], first.weight, first.bias, padding=1))  # type: ignore[arg-type]
    expected = F.conv2d(hidden, second.weight, second.bias, padding=1)  # type: ignore[arg-type]
    found = embedding(soft_mask, (3, 4), *last_layer(embedding))
    torch.testing.assert_close(found[1, 5], expected[1, :, 1, 1], rtol=1e-5, atol=1e-6)
    linear = torch.randn(5, 8)
    found = embedding(soft_mask, (3, 4), *embedding.followed_by(linear))
    torch.testing.assert_close(found[1, 5], linear @ expected[1, :, 1, 1], rtol=1e-5, atol=1e-5)


def test_time_embedding_tells_times_apart_and_ignores_an_unknown_fraction() -> None:
    torch.manual_seed(0)
    embedding = TimeEmbedding(16)
    known = embedding(torch.tensor([[[1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]]))[0]
    assert (known[0] - known[1]).abs().max() > 1e-2
    assert (known[0] - known[2]).abs().max() > 1e-2
    unknown = embedding(torch.tensor([[[1.0, -1.0], [1.0, -0.5]]]))[0]
    assert torch.equal(unknown[0], unknown[1])


def test_competing_patches_are_neither_lost_nor_diluted() -> None:
    """A lone odd patch moves a competing cell about as far among 400 patches as among 4; the printed mean cannot."""
    torch.manual_seed(0)
    moved: dict[tuple[WriteRule, int], float] = {}
    for rule in ("paper", "compete"):
        controller = WriteController(32, rule, heads=1)
        cells = torch.randn(1, 16, 32)
        for patches in (4, 400):
            values = torch.zeros(1, patches, 32)
            odd = values.clone()
            odd[:, 0] = 5 * torch.randn(32)
            change = written(controller, odd, cells) - written(controller, values, cells)
            moved[rule, patches] = change.norm().item()
    assert moved["paper", 400] < 0.05 * moved["paper", 4]
    assert moved["compete", 400] > 0.2 * moved["compete", 4]


@pytest.mark.parametrize("shared", [0.0, 10.0])
def test_stamped_patches_find_cells_of_their_own_whatever_they_share(shared: float) -> None:
    """Look-alike patches, even if V was nearly one vector for all, are written to cells near their places."""
    torch.manual_seed(0)
    memory = LocalGlobalMemory(32, 48, 0, "compete", heads=1, time_embedding=False, place_embedding=True)
    assert memory.global_write
    values = ChannelNorm(32)(0.1 * torch.randn(1, 1, 36, 32) + shared * torch.randn(32))
    positioned = memory.add_positions(values, torch.zeros(1, 1, 2), (6, 6))
    projected = memory.global_write.from_values(positioned)[0, 0]
    chosen = (memory.initial_state(1)[0][0] @ memory.global_write.gate(projected).T).argmax(0)
    assert len(chosen.unique()) > 18  # of 36 patches; with random cells and no places they share a few


@pytest.mark.parametrize("rule", RULES)
@torch.no_grad()
def test_a_cells_sources_are_what_it_is_made_of(rule: WriteRule) -> None:
    """With one head a cell is its sources' candidates and its old self, by the shares told, up to the norm."""
    torch.manual_seed(0)
    controller = WriteController(8, rule, heads=1)
    values, cells = torch.randn(2, 5, 8), torch.randn(2, 3, 8)
    from_summary = controller.keyed_map(controller.from_summary.weight)
    keyed = controller.keyed(controller.from_values(values))
    taken, stayed = controller.sources(keyed, from_summary, cells)
    assert taken.shape == (2, 3, 5) and stayed.shape == (2, 3)
    candidate = controller.from_values(values) + controller.from_summary(cells.mean(1, keepdim=True))
    made = taken @ candidate + stayed[..., None] * cells
    after = controller(keyed, from_summary, cells)
    if rule == "paper":
        torch.testing.assert_close(made, after)
    else:  # the norm also takes each cell's mean away, and measures its size without Bessel's correction
        torch.testing.assert_close(F.layer_norm(made, (8,)), after, rtol=1e-4, atol=1e-4)
