"""Exported graphs, run by locater-lite, give the Segmenter's masks."""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from locater.cli import app as cli
from locater.config import preset
from locater.errors import LocaterError
from locater.export import onnx_files as exporting
from locater.export.graphs import graphs_of
from locater.export.runtime import ExportedModel
from locater.inference.segmenter import Segmenter
from locater.io.results_folder import MARKER
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.model.locater import Locater
from locater.model.text import HuggingFaceEncoder
from locater.records import Tokens
from locater.text.table import WordTable
from locater.video.reader import open_source
from locater.video.transforms import frame_times, frames_to_tensor, resize_soft
from locater_lite import Lite

SENTENCES = ["the dog on the left", "A big dog, unheard-of"]
SMALL = {  # fewer and smaller layers trace in seconds; every kind of part stays
    "image_size": 32,
    "width": 16,
    "text": {"vocabulary": ["a", "dog", "left", "on", "the"], "max_words": 5, "embedding_width": 8},
    "visual": {"depth": 1, "width": 16},
    "fusion": {"modules": 1},
    "memory": {"interval": 2},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "paper, bilinear, no local memory": {
        "memory": {"write": "paper", "local_ratio": 0.0, "time_embedding": False},
        "decoder": {"upsampling": "bilinear"},
    },
    "sum, no global memory": {
        "memory": {"write": "sum", "global_ratio": 0.0},
        "fusion": {"kind": "concat"},
        "decoder": {"readout": "cosine"},
    },
    "refined": {"decoder": {"upsampling": "fine"}, "refiner": {"enlarged": 1.5}},
    "no memory": {"memory": {"global_ratio": 0.0, "local_ratio": 0.0}, "fusion": {"kind": "concat"}},
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning"),
    pytest.mark.filterwarnings("ignore:.*not understood:UserWarning"),
]


def small(changes: dict[str, Any]) -> Locater:
    merged = {**SMALL, **{key: {**SMALL.get(key, {}), **value} for key, value in changes.items()}}  # type: ignore[dict-item]
    return build(preset("tiny", merged), seed=0)


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    """Five frames that differ from one another, not squares."""
    return np.random.default_rng(0).integers(0, 256, (5, 70, 90, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command made of a checkpoint of `small({})`."""
    folder = tmp_path_factory.mktemp("export")
    save_pretrained(small({}), folder / "checkpoint")
    answer = CliRunner().invoke(cli.app, ["export", str(folder / "checkpoint"), "--out", str(folder / "exported")])
    assert answer.exit_code == 0, answer.output
    assert "Largest difference" in answer.output and "frames/s" in answer.output
    assert all(path.name in answer.output for path in (folder / "exported").iterdir() if path.name != MARKER)
    return folder / "exported"


def bert(width: int) -> HuggingFaceEncoder:
    from transformers import BertConfig, BertModel, BertTokenizer

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "dog", "##s"]
    sizes = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    tokenizer = BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)})
    return HuggingFaceEncoder(BertModel(sizes), tokenizer, width, max_words=6, max_tokens=9).eval()


def assert_same_masks(model: Locater, folder: Path, video: npt.NDArray[np.uint8], sentences: list[str]) -> None:
    ours = list(Segmenter(model, "cpu").segment(video, sentences, soft=True, frames_per_second=10, anyway=True))
    theirs = list(Lite(folder, best=True).segment(list(video), 10, sentences, anyway=True))
    assert len(ours) == len(theirs) == len(video)
    for result, (soft, _, _) in zip(ours, theirs, strict=True):
        assert result.soft_masks is not None
        np.testing.assert_allclose(soft, result.soft_masks, atol=1e-3)
        is_clear = np.abs(soft - 0.5) > 1e-3
        assert np.array_equal((soft > 0.5)[is_clear], result.masks[is_clear])


def doubting(model: Locater) -> Locater:
    """The network with a head whose answers differ from frame to frame and bound some of the masks."""
    assert model.presence is not None
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.presence.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        last = model.presence.head[-1]
        assert isinstance(last, torch.nn.Linear)
        last.weight.mul_(0.3)
        last.bias.fill_(-1.0)
    return model


def words_that_decide(model: Locater, frames: Tensor, times: Tensor, tokens: Tokens) -> Tensor:
    """(B, T, W), as the segmenter asks for them, of a clip of which every second frame is remembered."""
    words = model.text(tokens)
    clip = model.fuse(model.visual(frames), times, words, with_word_attention=True)
    state = model.write_global(clip.positioned[:, ::2], model.initial_state(words))
    return model.deciding_words(clip, model.decode_clip(clip, words, state)[0])


def assert_graphs_are_the_network(model: Locater) -> None:
    graphs = {graph.name: graph for graph in graphs_of(model)}

    def run(name: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        found = graphs[name](*(tensors[each] for each in graphs[name].inputs))
        return dict(zip(graphs[name].outputs, found if isinstance(found, tuple) else (found,), strict=True))

    torch.manual_seed(0)
    frames, times = torch.rand(1, 4, 3, 32, 32), torch.rand(1, 4, 2)
    tokens = model.read(SENTENCES)
    words = run("text", {"numbers": tokens.numbers, "word_of_token": tokens.word_of_token})
    seen = run("visual", {"frames": frames[0]})
    fused = run("fuse", {**seen, **words, "times": times[0]})
    shots = [
        {name: values[:, t] for name, values in fused.items()}
        | {name: maps[[t]] for name, maps in seen.items() if name.startswith("early_")}
        for t in range(4)
    ]
    state = dict(zip(("global_cells", "local_cells"), model.memory.initial_state(len(SENTENCES)), strict=True))
    if model.presence is not None:
        state["evidence"] = model.presence.no_evidence(len(SENTENCES))
    for shot in shots[::2]:
        state["global_cells"] = run("write_global", {**shot, **state})["global_cells_after"]
    expected = model(frames, times, frames[:, ::2], times[:, ::2], tokens)
    looked_at = words_that_decide(model, frames, times, tokens)
    for t, shot in enumerate(shots):
        found = run("step", {**shot, **words, **state})
        state |= {name: found[f"{name}_after"] for name in state if f"{name}_after" in found}
        torch.testing.assert_close(found["logits"], expected.logits[:, t], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found["word_attention"], looked_at[:, t], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_the_graphs_one_after_another_are_the_network() -> None:
    """Before any tracing: what is exported computes the masks that training and inference compute."""
    assert_graphs_are_the_network(small({}).eval())


@pytest.mark.parametrize("memory", [{}, {"local_ratio": 0.0}], ids=str)
@torch.no_grad()
def test_the_graphs_one_after_another_are_the_network_with_a_presence_head(memory: dict[str, Any]) -> None:
    assert_graphs_are_the_network(doubting(small({"decoder": {"presence": True}, "memory": memory})).eval())


@pytest.mark.slow
def test_the_command_writes_graphs_that_lite_runs(exported: Path, video: npt.NDArray[np.uint8]) -> None:
    names = {"text.onnx", "visual.onnx", "fuse.onnx", "write_global.onnx", "step.onnx", "first_cells.npz", "model.json"}
    assert {path.name for path in exported.iterdir()} == {*names, MARKER}
    for sentences in (SENTENCES, SENTENCES[:1]):
        assert_same_masks(small({}), exported, video, sentences)


@pytest.mark.slow
def test_the_files_tell_nothing_of_where_they_were_made(exported: Path) -> None:
    source = str(Path(exporting.__file__).parent).encode()
    assert not [path.name for path in exported.iterdir() if source in path.read_bytes()]


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_kind_of_network_is_exported(tmp_path: Path, video: npt.NDArray[np.uint8], variant: str) -> None:
    model = small(VARIANTS[variant])
    report = exporting.export(model, tmp_path / "exported")
    assert report.largest_difference < 1e-4
    assert ("write_global.onnx" in report.file_bytes) == bool(model.config.global_cells)
    assert_same_masks(model, tmp_path / "exported", video, SENTENCES)


@pytest.mark.slow
def test_a_presence_head_is_exported(tmp_path: Path, video: npt.NDArray[np.uint8]) -> None:
    model = doubting(small({"decoder": {"presence": True}}))
    report = exporting.export(model, tmp_path / "exported")
    assert report.largest_difference < 1e-4
    exported = ExportedModel(tmp_path / "exported")
    assert exported.initial_state(2)["evidence"].shape == (2, 17)
    frames = list(open_source(video, 10).frames())
    times = frame_times(frames, 0.5)
    shots = frames_to_tensor([frame.pixels for frame in frames], (32, 32))
    tokens = model.read(SENTENCES)
    words = exported.read(tokens.numbers.numpy(), tokens.word_of_token.numpy())
    theirs = exported.logits(shots.numpy(), times.numpy(), words, 3, range(0, 5, 2))
    ours = Segmenter(model, "cpu").segment(video, SENTENCES, soft=True, frames_per_second=10, anyway=True)
    for result, logits in zip(ours, theirs, strict=True):
        soft = resize_soft(torch.from_numpy(logits).sigmoid(), *video.shape[1:3])
        assert result.soft_masks is not None
        np.testing.assert_allclose(soft.numpy(), result.soft_masks, atol=1e-4)
    plain = model.eval()
    plain.presence = None
    ungated = next(
        Segmenter(plain, "cpu").segment(video, SENTENCES, soft=True, frames_per_second=10, anyway=True)
    ).soft_masks
    gated = next(
        Segmenter(doubting(small({"decoder": {"presence": True}})), "cpu").segment(
            video, SENTENCES, soft=True, anyway=True
        )
    )
    assert gated.soft_masks is not None and ungated is not None
    assert np.abs(gated.soft_masks - ungated).max() > 0.01  # or the head would not matter above


@pytest.mark.slow
def test_a_network_that_recognises_is_exported(tmp_path: Path, video: npt.NDArray[np.uint8]) -> None:
    torch.manual_seed(0)
    WordTable.of_vectors(("the", "dog", "left"), torch.randn(3, 12)).save(tmp_path / "words.safetensors")
    text = {"kind": "vectors", "max_words": 5, "embedding_width": 8, "table": str(tmp_path / "words.safetensors")}
    visual = {"kind": "efficientnet_lite", "deep": True, "recognises": True}
    shape = {"image_size": 64, "keep_aspect": True}
    model = build(preset("tiny", {**SMALL, **shape, "text": text, "visual": visual}), seed=0)
    assert model.recognition is not None
    with torch.no_grad():
        for parameter in model.recognition.parameters():
            parameter.normal_()
    exporting.export(model, tmp_path / "exported")
    assert_same_masks(model, tmp_path / "exported", video, ["the dog", "the dog left"])


def test_a_hugging_face_text_encoder_is_exported(tmp_path: Path) -> None:
    model = small({})
    model.text = bert(width=16)
    tokens = model.read(["the dog", "dog the dogs"])
    graph = graphs_of(model)[0]
    examples = {"numbers": tokens.numbers[:1], "word_of_token": tokens.word_of_token[:1]}
    with torch.no_grad():
        exporting.write_graph(graph, examples, tmp_path / "text.onnx")
        ours = graph(tokens.numbers, tokens.word_of_token)
    session = onnxruntime.InferenceSession(tmp_path / "text.onnx")
    for row in range(2):
        feed = {"numbers": tokens.numbers[[row]].numpy(), "word_of_token": tokens.word_of_token[[row]].numpy()}
        for expected, found in zip(ours, session.run(list(graph.outputs), feed), strict=True):
            np.testing.assert_allclose(found, expected[[row]], atol=1e-4)


@pytest.mark.slow
def test_files_that_differ_from_the_network_are_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = small({"memory": {"write": "sum"}})  # same shapes, another network

    def write_another(_: Locater, __: None, folder: Path) -> None:
        shutil.copytree(exported, folder, dirs_exist_ok=True)

    monkeypatch.setattr(exporting, "_write", write_another)
    with pytest.raises(LocaterError, match="differ from the network"):
        exporting.export(other, tmp_path / "made" / "exported")
    assert not list(tmp_path.iterdir())


def test_a_format_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="no export to 'openvino'; choose onnx"):
        exporting.export(small({}), tmp_path / "exported", "openvino")
    assert not list(tmp_path.iterdir())


def test_missing_packages_are_named_with_their_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(LocaterError, match=r"needs onnxscript; run: pip install 'locater\[export\]'"):
        exporting.export(small({}), tmp_path / "exported")


def test_a_folder_of_something_else_is_no_exported_network(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="holds no exported network"):
        ExportedModel(tmp_path)
