# mypy: disable-error-code="import-not-found,import-untyped,untyped-decorator,no-untyped-def,no-untyped-call"
"""The Triton kernels of one write (Eq. 5); `fused_write` launches them, and alone imports this module.

A candidate is c_p + c_a, its key k_p + k_a, where c_a and k_a come from the cells' mean and are the same for all
patches. So they need not be added to every patch:

    m_n . (k_p + k_a)  =  m_n . k_p + m_n . k_a           sum_p o_np (c_p + c_a)  =  (o @ c)_n + (sum_p o_np) c_a

and what takes longest, m_n . k_p, does not wait for the mean. Sums are in float32. Shapes: B batch, N cells, P patches,
D channels in h heads of d; `keyed` is (B, P, 2 D), candidates left and keys right, and `added` (B, 2 D) alike.
"""

import triton
import triton.language as tl


@triton.jit
def store_sums(
    cells,
    sums,
    first_cell,
    first_channel,
    cell_count,
    head_width,
    cell_stride,
    sum_n: tl.constexpr,
    sum_d: tl.constexpr,
):
    """Into `sums` (d,) those of `sum_n` cells over `sum_d` channels, both pointers being one head's."""
    rows = first_cell + tl.arange(0, sum_n)
    channel = first_channel + tl.arange(0, sum_d)
    is_cell = (rows < cell_count)[:, None] & (channel < head_width)[None, :]
    some = tl.load(cells + rows[:, None] * cell_stride + channel[None, :], mask=is_cell, other=0.0)
    tl.store(sums + channel, tl.sum(some.to(tl.float32), 0), mask=channel < head_width)


@triton.jit
def logits_kernel(
    cells,
    keyed,
    logits,
    sums,
    cell_count,
    patch_count,
    head_width,
    heads,
    cell_batch_stride,
    cell_stride,
    keyed_batch_stride,
    keyed_stride,
    scale,
    block_n: tl.constexpr,
    block_p: tl.constexpr,
    block_d: tl.constexpr,
    sum_n: tl.constexpr,
    sum_d: tl.constexpr,
):
    """`logits` (B, h, N, P) of the patches alone, scaled, and `sums` (B, N / sum_n, D) over `sum_n` cells each.

    They need nothing of each other, so the last programs do the sums while the others are at the logits.
    """
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = tl.program_id(1) % heads
    width = heads * head_width
    own = cells + batch * cell_batch_stride + head * head_width
    n_blocks = tl.cdiv(cell_count, block_n)
    products = n_blocks * tl.cdiv(patch_count, block_p)
    if tl.program_id(0) < products:
        n = tl.program_id(0) % n_blocks * block_n + tl.arange(0, block_n)
        p = tl.program_id(0) // n_blocks * block_p + tl.arange(0, block_p)
        d = tl.arange(0, block_d)
        cell = own + n[:, None] * cell_stride + d[None, :]
        key = keyed + batch * keyed_batch_stride + width + head * head_width + p[None, :] * keyed_stride + d[:, None]
        found = tl.zeros((block_n, block_p), dtype=tl.float32)
        for start in range(0, head_width, block_d):
            is_channel = start + d < head_width
            m = tl.load(cell + start, mask=(n < cell_count)[:, None] & is_channel[None, :], other=0.0)
            k = tl.load(key + start, mask=(p < patch_count)[None, :] & is_channel[:, None], other=0.0)
            found = tl.dot(m, k, found, input_precision="ieee")
        into = logits + (batch * heads + head) * cell_count * patch_count + n[:, None] * patch_count + p[None, :]
        is_in = (n < cell_count)[:, None] & (p < patch_count)[None, :]
        tl.store(into, (found * scale).to(logits.dtype.element_ty), mask=is_in)
    else:
        part = (tl.program_id(0) - products) // tl.cdiv(head_width, sum_d)
        first = (tl.program_id(0) - products) % tl.cdiv(head_width, sum_d) * sum_d
        into_sums = sums + (batch * tl.cdiv(cell_count, sum_n) + part) * width + head * head_width
        store_sums(own, into_sums, part * sum_n, first, cell_count, head_width, cell_stride, sum_n, sum_d)


@triton.jit
def summary_kernel(
    sums,
    from_summary,
    added,
    cell_count,
    width,
    parts,
    block_rows: tl.constexpr,
    block_parts: tl.constexpr,
    block_d: tl.constexpr,
):
    """`added` (B, 2 D): the keyed map (2 D, D) of the cells' mean, which is in `sums` (B, parts, D)."""
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    batch = tl.program_id(1).to(tl.int64)
    part = tl.arange(0, block_parts)
    d = tl.arange(0, block_d)
    found = tl.zeros((block_rows,), dtype=tl.float32)
    for start in range(0, width, block_d):
        is_channel = start + d < width
        is_weight = (row < 2 * width)[:, None] & is_channel[None, :]
        weight = tl.load(from_summary + row[:, None] * width + start + d[None, :], mask=is_weight, other=0.0)
        total = tl.zeros((block_d,), dtype=tl.float32)
        for first in range(0, parts, block_parts):
            each = sums + (batch * parts + first + part[:, None]) * width + start + d[None, :]
            is_part = (first + part < parts)[:, None] & is_channel[None, :]
            total += tl.sum(tl.load(each, mask=is_part, other=0.0), 0)
        found += tl.sum(weight.to(tl.float32) * total[None, :], 1)
    tl.store(added + batch * 2 * width + row, found / cell_count, mask=row < 2 * width)


@triton.jit
def summary_logit(cell, key, is_cell, head_width, block_n: tl.constexpr, block_d: tl.constexpr):
    """m_n . k_a (block_n,) of the cells at the pointers `cell` (block_n,), with k_a at the pointer `key`."""
    d = tl.arange(0, block_d)
    found = tl.zeros((block_n,), dtype=tl.float32)
    # Loads run ahead of the sums only in loops that ask for it, or feed a product.
    for start in tl.range(0, head_width, block_d, num_stages=3):
        is_channel = start + d < head_width
        m = tl.load(cell[:, None] + start + d[None, :], mask=is_cell[:, None] & is_channel[None, :], other=0.0)
        k = tl.load(key + start + d, mask=is_channel, other=0.0)
        found += tl.sum(m.to(tl.float32) * k[None, :], 1)
    return found


@triton.jit
def normaliser_kernel(
    cells,
    added,
    logits,
    normalisers,
    cell_count,
    patch_count,
    head_width,
    heads,
    cell_batch_stride,
    cell_stride,
    scale,
    block_n: tl.constexpr,
    block_p: tl.constexpr,
    block_d: tl.constexpr,
):
    """`normalisers` (B, h, P): the logarithm of what a patch's competition over the cells is divided by."""
    p = tl.program_id(0) * block_p + tl.arange(0, block_p)
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = tl.program_id(1) % heads
    width = heads * head_width
    own = cells + batch * cell_batch_stride + head * head_width
    key = added + batch * 2 * width + width + head * head_width
    plane = logits + (batch * heads + head) * cell_count * patch_count
    largest = tl.full((block_p,), float("-inf"), dtype=tl.float32)
    total = tl.zeros((block_p,), dtype=tl.float32)
    for start in range(0, cell_count, block_n):
        n = start + tl.arange(0, block_n)
        is_in = (n < cell_count)[:, None] & (p < patch_count)[None, :]
        logit = tl.load(plane + n[:, None] * patch_count + p[None, :], mask=is_in, other=0.0).to(tl.float32)
        shift = summary_logit(own + n * cell_stride, key, n < cell_count, head_width, block_n, block_d)
        logit = tl.where((n < cell_count)[:, None], logit + scale * shift[:, None], float("-inf"))
        larger = tl.maximum(largest, tl.max(logit, 0))
        total = total * tl.exp(largest - larger) + tl.sum(tl.exp(logit - larger[None, :]), 0)
        largest = larger
    into = normalisers + (batch * heads + head) * patch_count + p
    tl.store(into, largest + tl.log(total), mask=p < patch_count)


@triton.jit
def gather(
    logits,
    normalisers,
    candidates,
    shift,
    is_cell,
    is_channel,
    patch_count,
    keyed_stride,
    is_compete: tl.constexpr,
    block_p: tl.constexpr,
):
    """(o @ c)_n (block_n, block_c) and sum_p o_np (block_n,), from pointers at the first patch of one head's planes."""
    found = tl.zeros((is_cell.shape[0], is_channel.shape[0]), dtype=tl.float32)
    total = tl.zeros((is_cell.shape[0],), dtype=tl.float32)
    for start in range(0, patch_count, block_p):
        p = start + tl.arange(0, block_p)
        is_patch = p < patch_count
        is_in = is_cell[:, None] & is_patch[None, :]
        logit = tl.load(logits + p[None, :], mask=is_in, other=0.0).to(tl.float32) + shift[:, None]
        if is_compete:
            weight = tl.exp(logit - tl.load(normalisers + p, mask=is_patch, other=0.0)[None, :])
        else:
            weight = tl.sigmoid(logit)  # o_np, Eq. 5 line 2
        weight = tl.where(is_patch[None, :], weight, 0.0)
        is_candidate = is_patch[:, None] & is_channel[None, :]
        c = tl.load(candidates + p[:, None] * keyed_stride, mask=is_candidate, other=0.0)
        found = tl.dot(weight.to(c.dtype), c, found, input_precision="ieee")
        total += tl.sum(weight, 1)
    return found, total


@triton.jit
def update_kernel(
    cells,
    keyed,
    added,
    logits,
    normalisers,
    written,
    cell_count,
    patch_count,
    head_width,
    heads,
    cell_batch_stride,
    cell_stride,
    keyed_batch_stride,
    keyed_stride,
    scale,
    is_compete: tl.constexpr,
    block_n: tl.constexpr,
    block_c: tl.constexpr,
    block_p: tl.constexpr,
    block_d: tl.constexpr,
):
    """`written` (B, N, D): Eq. 5 line 3, factorised; with `is_compete` the cells and their shares, not normalised."""
    n = tl.program_id(0) * block_n + tl.arange(0, block_n)
    blocks = tl.cdiv(head_width, block_c)  # of one head's channels
    head = tl.program_id(1) // blocks
    batch = tl.program_id(2).to(tl.int64)
    width = heads * head_width
    channel = tl.program_id(1) % blocks * block_c + tl.arange(0, block_c)
    is_cell = n < cell_count
    is_channel = channel < head_width
    own = cells + batch * cell_batch_stride + n * cell_stride + head * head_width
    added_here = added + batch * 2 * width + head * head_width
    plane = logits + (batch * heads + head) * cell_count * patch_count
    shift = scale * summary_logit(own, added_here + width, is_cell, head_width, block_n, block_d)
    rows = plane + n[:, None] * patch_count
    normaliser = normalisers + (batch * heads + head) * patch_count
    candidates = keyed + batch * keyed_batch_stride + head * head_width + channel[None, :]
    found, total = gather(
        rows, normaliser, candidates, shift, is_cell, is_channel, patch_count, keyed_stride, is_compete, block_p
    )
    is_in = is_cell[:, None] & is_channel[None, :]
    m = tl.load(own[:, None] + channel[None, :], mask=is_in, other=0.0).to(tl.float32)
    found += total[:, None] * tl.load(added_here + channel, mask=is_channel, other=0.0)[None, :]
    kept = (1 - total / patch_count)[:, None]
    after = m + found if is_compete else found / patch_count + kept * m
    into = written + batch * cell_count * width + n[:, None] * width + head * head_width + channel[None, :]
    tl.store(into, after.to(written.dtype.element_ty), mask=is_in)
