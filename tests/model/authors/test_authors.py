"""The authors' network against their released code as it reads: cells that grow, loops over heads, no factorising."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from locater.config import preset
from locater.errors import LocaterError
from locater.explain.explanation import explain
from locater.export import onnx_files as exporting
from locater.inference.segmenter import Segmenter
from locater.model.authors.network import AuthorsLocater
from locater.model.build import build
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.records import Tokens
from locater.training.command import train_preset
from locater.video.reader import open_source
from tools.authors import convert, fill, translated

WIDTH, SIDE, PATCH, HEADS = 16, 32, 8, 8
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "##s", "left", "on"]
SMALL: dict[str, Any] = {
    "image_size": SIDE,
    "width": WIDTH,
    "visual": {"patch_size": PATCH, "width": WIDTH, "depth": 2, "heads": 2},
    "text": {"embedding_width": 6, "embeddings": 9, "layers": 2, "max_words": 5, "vocabulary": PIECES},
    "fusion": {"modules": 2, "heads": 2},
    "memory": {"interval": 2},
}
Named = dict[str, Tensor]


def small() -> AuthorsLocater:
    model = build(preset("authors", SMALL), seed=0)
    assert isinstance(model, AuthorsLocater)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))  # no vector is left at one or zero
    return model.eval()


# ---- As their code reads ---------------------------------------------------------------------------------------------


def theirs(model: AuthorsLocater) -> Named:
    """The network's tensors under the names of their files, found by turning the converter's own names around."""
    ours = model.state_dict()
    names: Named = {}
    for name in their_names():
        given = torch.zeros(1, 2, WIDTH) if name.endswith("modal_embed") else torch.zeros(1, 1, 1, 1)
        found = list(translated({name: given}))
        values = [ours[each] for each in found]
        if name.endswith("modal_embed"):
            names[name] = torch.stack(values)[None]
        else:
            is_point = name.startswith("aux_decoders") and values[0].ndim == 2
            names[name] = values[0][:, :, None, None] if is_point else values[0]
    return names


def their_names() -> list[str]:
    """Every tensor of their VLFTrans, written down from its definition, for two fusion modules and two layers."""
    both = ("weight", "bias")
    block = [
        f"{part}.{leaf}" for part in ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2") for leaf in both
    ]
    mlp = [f"{part}.{leaf}" for part in ("fc1", "fc2") for leaf in both]
    names = ["vision_encoder.cls_token", "vision_encoder.pos_embed"]
    names += [
        f"vision_encoder.{part}.{leaf}" for part in ("patch_embed.proj", "norm", "pre_logits.fc") for leaf in both
    ]
    names += [f"vision_encoder.blocks.{place}.{each}" for place in range(2) for each in block]
    names += ["lang_encoder.emb.weight", *(f"lang_encoder.norm.{leaf}" for leaf in both)]
    for layer in range(2):
        for way in ("", "_reverse"):
            names += [f"lang_encoder.lang_model.{kind}_{of}_l{layer}{way}" for kind in both for of in ("ih", "hh")]
    for module in range(2):
        at = f"trans_fusion.{module}"
        names += [f"{at}.modal_embed", *(f"{at}.norm.{leaf}" for leaf in both)]
        names += [
            f"{at}.{kind}.{place}.{each}" for kind in ("blocks", "pos_blocks") for place in range(2) for each in block
        ]
        names += [f"aux_decoders.{module}.{part}.{leaf}" for part in (0, 1, 3) for leaf in both]
        names += [f"aux_decoders.{module}.1.{leaf}" for leaf in ("running_mean", "running_var", "num_batches_tracked")]
    for writer in ("globalmem_writer", "localmem_writer"):
        names += [f"{writer}.c_func.0.{each}" for each in mlp]
        names += [f"{writer}.{part}.{each}" for part in ("m_func", "post_func") for each in mlp]
        names += [f"{writer}.{part}.{leaf}" for part in ("o_func.0.q", "o_func.0.k", "norm1", "norm2") for leaf in both]
    names += [f"localmem_writer.{part}.{leaf}" for part in ("c_func.1", "mask_enc") for leaf in both]
    names += [f"mem_reader.{part}.{leaf}" for part in ("0.q", "0.k", "0.v", "0.proj", "1") for leaf in both]
    names += [f"query_generator.{part}.{each}" for part in ("vis_proj", "lin_proj", "value_proj") for each in mlp]
    names += [f"query_generator.norm.{leaf}" for leaf in both]
    names += [f"main_dec_net.{part}.{leaf}" for part in ("q", "k") for leaf in both]
    return names + [f"main_dec_net.mask_head.{2 * place}.{leaf}" for place in range(4) for leaf in both]


class Released:
    """Their forward pass, one frame and one memory after another."""

    def __init__(self, tensors: Named) -> None:
        self.tensors = tensors
        self.global_cells: Tensor | None = None
        self.local_cells: Tensor | None = None

    def linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.tensors[f"{name}.weight"].T + self.tensors[f"{name}.bias"]

    def norm(self, x: Tensor, name: str, eps: float = 1e-5) -> Tensor:
        return F.layer_norm(x, x.shape[-1:], self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"], eps)

    def mlp(self, x: Tensor, name: str) -> Tensor:
        return self.linear(F.gelu(self.linear(x, f"{name}.fc1")), f"{name}.fc2")

    def block(self, x: Tensor, name: str, heads: int, eps: float) -> Tensor:
        q, k, v = self.linear(self.norm(x, f"{name}.norm1", eps), f"{name}.attn.qkv").chunk(3, dim=-1)
        x = x + self.linear(by_heads(q, k, v, heads), f"{name}.attn.proj")
        return x + self.mlp(self.norm(x, f"{name}.norm2", eps), f"{name}.mlp")

    def see(self, frames: Tensor) -> Tensor:
        """(B, 1 + P, D) of frames (B, 3, S, S) in [0, 1]."""
        tensors = self.tensors
        proj = "vision_encoder.patch_embed.proj"
        cells = F.conv2d(2 * frames - 1, tensors[f"{proj}.weight"], tensors[f"{proj}.bias"], stride=PATCH)
        first = tensors["vision_encoder.cls_token"].expand(len(frames), -1, -1)
        x = torch.cat([first, cells.flatten(2).transpose(1, 2)], dim=1) + tensors["vision_encoder.pos_embed"]
        for place in range(2):
            x = self.block(x, f"vision_encoder.blocks.{place}", 2, 1e-6)
        return torch.tanh(self.linear(self.norm(x, "vision_encoder.norm", 1e-6), "vision_encoder.pre_logits.fc"))

    def fused(self, frames: Tensor, words: Tensor) -> Tensor:
        x = self.see(frames)
        for module in range(2):
            at = f"trans_fusion.{module}"
            types = self.tensors[f"{at}.modal_embed"][0]
            tokens = torch.cat([x + types[0], words + types[1]], dim=1)
            for place in range(2):
                tokens = self.block(tokens, f"{at}.blocks.{place}", 2, 1e-5)
            x = self.norm(tokens, f"{at}.norm")[:, : x.shape[1]]
            for place in range(2):
                x = self.block(x, f"{at}.pos_blocks.{place}", 2, 1e-5)
            x = self.norm(x, f"{at}.norm")
        return x[:, 1:]

    def written(self, cells: Tensor | None, frame: Tensor, name: str, size: int) -> Tensor:
        """The cells after a frame: laid down whole while there is room, filled up with their mean, then updated."""
        frame = self.norm(frame, f"{name}.norm1")
        count = 0 if cells is None else cells.shape[1]
        if count + frame.shape[1] <= size:
            return frame if cells is None else torch.cat([cells, frame], dim=1)
        assert cells is not None
        cells = torch.cat([cells, cells.mean(1, keepdim=True).expand(-1, size - count, -1)], dim=1)
        candidate = self.mlp(
            torch.cat([frame, cells.mean(1, keepdim=True).expand_as(frame)], dim=-1), f"{name}.c_func.0"
        )
        if f"{name}.c_func.1.weight" in self.tensors:
            candidate = self.norm(candidate, f"{name}.c_func.1")
        asked, offered = self.linear(candidate, f"{name}.o_func.0.q"), self.linear(cells, f"{name}.o_func.0.k")
        held = self.mlp(cells, f"{name}.m_func")
        width = WIDTH // HEADS
        given, left = torch.zeros_like(cells), torch.zeros_like(cells)
        for head in range(HEADS):
            own = slice(head * width, (head + 1) * width)
            gate = (asked[..., own] @ offered[..., own].transpose(1, 2) / math.sqrt(width)).sigmoid()  # (B, P, N)
            given[..., own] = gate.transpose(1, 2) @ candidate[..., own]
            every = (1 - gate).unsqueeze(-1) * held[:, None, :, own]  # (B, P, N, d), the tensor that they build
            left[..., own] = every.mean(1)
        return self.norm(self.mlp(given, f"{name}.post_func") + left, f"{name}.norm2")

    def step(self, frame: Tensor, words: Tensor, sizes: tuple[int, int]) -> Tensor:
        values = self.fused(frame, words)
        local = values if self.local_cells is None else self.local_cells
        assert self.global_cells is not None
        means = torch.cat([values.mean(1), local.mean(1), self.global_cells.mean(1)], dim=-1)
        width = WIDTH // HEADS
        looking = self.mlp(means, "query_generator.vis_proj")
        keys, kept = self.mlp(words, "query_generator.lin_proj"), self.mlp(words, "query_generator.value_proj")
        queries = []
        for head in range(HEADS):
            own = slice(head * width, (head + 1) * width)
            weights = ((keys[..., own] @ looking[:, own, None])[..., 0] / math.sqrt(width)).softmax(-1)
            queries.append(torch.einsum("bw,bwd->bd", weights, kept))
        query = self.norm(torch.stack(queries, dim=1), "query_generator.norm")
        both = torch.cat([local, self.global_cells], dim=1)
        q, k, v = (self.linear(x, f"mem_reader.0.{n}") for x, n in ((values, "q"), (both, "k"), (both, "v")))
        found = by_heads(q, k, v, HEADS)
        context = self.norm(self.linear(found, "mem_reader.0.proj"), "mem_reader.1")
        logits = self.decoded(context, query)
        hard = (torch.sigmoid(logits) > 0.5).float()
        enc = "localmem_writer.mask_enc"
        seen = F.conv2d(hard[:, None], self.tensors[f"{enc}.weight"], self.tensors[f"{enc}.bias"], padding=1)
        seen = F.interpolate(seen, SIDE // PATCH, mode="bilinear", align_corners=False).flatten(2).transpose(1, 2)
        self.local_cells = self.written(self.local_cells, values + seen, "localmem_writer", sizes[1])
        return logits

    def decoded(self, context: Tensor, query: Tensor) -> Tensor:
        width, side = WIDTH // HEADS, SIDE // PATCH
        patches, asked = self.linear(context, "main_dec_net.q"), self.linear(query, "main_dec_net.k")
        maps = [
            (patches[..., h * width : (h + 1) * width] @ asked[:, m, h * width : (h + 1) * width, None])[..., 0]
            / math.sqrt(width)
            for h in range(HEADS)
            for m in range(HEADS)
        ]
        x = torch.cat([context.transpose(1, 2), torch.stack(maps, dim=1)], dim=1).view(len(context), -1, side, side)
        for place in range(4):
            name = f"main_dec_net.mask_head.{2 * place}"
            x = F.conv2d(x, self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"], padding=1)
            x = x if place == 3 else F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return x[:, 0]


def by_heads(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    width = q.shape[-1] // heads
    parts = [slice(h * width, (h + 1) * width) for h in range(heads)]
    return torch.cat(
        [(q[..., p] @ k[..., p].transpose(1, 2) / math.sqrt(width)).softmax(-1) @ v[..., p] for p in parts], -1
    )


@torch.no_grad()
def test_it_is_their_released_code() -> None:
    """Memories that grow, are filled up and then updated: five frames, three of them in the global memory."""
    model = small()
    released = Released(theirs(model))
    frames, sampled = torch.rand(2, 5, 3, SIDE, SIDE), torch.rand(2, 3, 3, SIDE, SIDE)
    tokens = model.text.tokenize(["the dogs on the left", "dog"])
    words = model.text(tokens)

    tensors = released.tensors
    lstm = torch.nn.LSTM(6, WIDTH // 2, num_layers=2, bidirectional=True)
    lstm.load_state_dict(
        {n.removeprefix("lang_encoder.lang_model."): v for n, v in tensors.items() if "lang_model" in n}
    )
    read = lstm(tensors["lang_encoder.emb.weight"][tokens.numbers].transpose(0, 1))[0].transpose(0, 1)
    read = released.norm(read, "lang_encoder.norm")
    torch.testing.assert_close(words.features, read, atol=1e-5, rtol=1e-5)

    state = model.initial_state(words)
    state = model.write_global(model.fuse(model.visual(sampled), torch.zeros(2, 3, 2), words).positioned, state)
    sizes = (model.config.global_cells, model.config.local_cells)
    for t in range(3):
        released.global_cells = released.written(
            released.global_cells, released.fused(sampled[:, t], read), "globalmem_writer", sizes[0]
        )
    assert released.global_cells is not None and released.global_cells.shape[1] == sizes[0] == 24
    torch.testing.assert_close(state.global_cells[..., :-1], released.global_cells, atol=1e-4, rtol=1e-4)

    found, states = model.decode_clip(model.fuse(model.visual(frames), torch.zeros(2, 5, 2), words), words, state)
    shares = []
    for t, (prediction, after) in enumerate(zip(found, states, strict=True)):
        expected = released.step(frames[:, t], read, sizes)
        torch.testing.assert_close(prediction.logits, expected, atol=1e-4, rtol=1e-4)
        assert released.local_cells is not None
        filled = int(after.local_cells[0, :, -1].sum())
        assert filled == released.local_cells.shape[1] == min(16 * (t + 1), 32)
        torch.testing.assert_close(after.local_cells[:, :filled, :-1], released.local_cells, atol=1e-4, rtol=1e-4)
        shares.append(float((expected > 0).float().mean()))
    assert any(0 < share < 1 for share in shares)  # a hard mask that tells nothing would hide a wrong embedding


@torch.no_grad()
def test_one_sampled_frame_leaves_cells_empty_that_nobody_reads() -> None:
    model = small()
    released = Released(theirs(model))
    frame, read = torch.rand(1, 3, SIDE, SIDE), model.text(model.text.tokenize(["dog"]))
    state = model.write_global(
        model.fuse(model.visual(frame[None]), torch.zeros(1, 1, 2), read).positioned, model.initial_state(read)
    )
    released.global_cells = released.written(None, released.fused(frame, read.features), "globalmem_writer", 24)
    assert released.global_cells.shape[1] == 16
    (found,), _ = model.decode_clip(model.fuse(model.visual(frame[None]), torch.zeros(1, 1, 2), read), read, state)
    expected = released.step(frame, read.features, (24, 32))
    torch.testing.assert_close(found.logits, expected, atol=1e-4, rtol=1e-4)


# ---- Their files, and ours around it ---------------------------------------------------------------------------------


def test_their_files_become_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small()
    saved = {f"module.{name}": value for name, value in theirs(model).items()}
    torch.save(saved | {"module.vision_encoder.head.weight": torch.ones(2, 2)}, tmp_path / "their.pth")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    monkeypatch.setattr(
        "tools.authors.preset",
        lambda name, changes: preset(name, {**SMALL, "text": {**SMALL["text"], **changes["text"]}}),
    )
    convert(tmp_path / "their.pth", tmp_path / "vocab.txt", tmp_path / "checkpoint")
    loaded = from_pretrained(tmp_path / "checkpoint")
    assert isinstance(loaded, AuthorsLocater)
    ours = model.state_dict()
    assert all(torch.equal(value, ours[name]) for name, value in loaded.state_dict().items())


def test_what_does_not_fit_is_named_and_nothing_is_loaded() -> None:
    model, other = small(), build(preset("authors", SMALL), seed=3)
    tensors = theirs(model)
    del tensors["mem_reader.1.bias"]
    tensors["stray.weight"] = torch.ones(1)
    tensors["main_dec_net.q.weight"] = torch.ones(3, 3)
    before = {name: value.clone() for name, value in other.state_dict().items()}
    with pytest.raises(LocaterError) as refused:
        fill(other, tensors, "their.pth")
    for told in (
        "missing 1 (memory.norm.bias)",
        "unexpected 1 (stray.weight)",
        "decoder.of_patch.weight (3, 3) instead of",
    ):
        assert told in str(refused.value)
    assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())


def test_it_streams_saves_resumes_and_trains(tmp_path: Path) -> None:
    save_pretrained(small(), tmp_path / "checkpoint")
    segmenter = Segmenter.from_pretrained(tmp_path / "checkpoint", "cpu")
    video = np.random.default_rng(0).integers(0, 256, (7, 40, 56, 3), dtype=np.uint8)
    runs = [list(segmenter.segment(video, "the dogs", soft=True, chunk_frames=n)) for n in (1, 3)]
    for one, other in zip(*runs, strict=True):
        assert one.soft_masks is not None and other.soft_masks is not None
        np.testing.assert_allclose(one.soft_masks, other.soft_masks, atol=1e-5)
    assert len({result.state.nbytes for result in runs[0]}) == 1
    rest = list(segmenter.segment(video, "the dogs", soft=True, chunk_frames=3, state=runs[1][4].state))
    for one, other in zip(runs[1][5:], rest, strict=True):
        assert np.array_equal(one.soft_masks, other.soft_masks)  # type: ignore[arg-type]
    with pytest.raises(LocaterError, match="not exported"):
        exporting.export(segmenter.model, tmp_path / "exported")
    with pytest.raises(LocaterError, match="cannot be explained"):
        explain(segmenter, open_source(video), "the dogs", 3, anyway=False)

    settings = ["image_size=32", "width=16", "visual.width=16", "visual.depth=1", "visual.heads=2", "fusion.heads=2"]
    settings += ["text.embeddings=9", "text.embedding_width=6", "training.steps=1", "training.batch_size=2"]
    settings += ["training.clip_frames=2", "training.global_frames=1", "training.validation_videos=0"]
    train_preset("authors", "shapes", tmp_path / "run", [*settings, f"text.vocabulary={PIECES}"])
    assert '"auxiliary"' in (tmp_path / "run" / "metrics.jsonl").read_text()


def test_pieces_without_a_vector_are_unknown_words() -> None:
    model = small()
    tokens: Tokens = model.text.tokenize(["the dogs on the left"])
    assert tokens.numbers.tolist() == [[2, 5, 6, 7, 1, 5, 3]]  # "on" is the tenth of nine rows; five pieces fit
    assert any("not understood" in notice and "on" in notice for notice in tokens.notices)
