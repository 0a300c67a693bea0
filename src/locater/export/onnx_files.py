"""A network written as ONNX graphs, checked against the original before anybody sees the files."""

import importlib.util
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.export import Dim

from locater.config import WIDEST
from locater.errors import LocaterError
from locater.export.graphs import PATCHWISE, Graph, early_names, graphs_of
from locater.export.runtime import FIRST_CELLS, SETTINGS, ExportedModel
from locater.export.same_convolution import SAME_CONVOLUTION, same_convolutions
from locater.inference import judging, redrawing, seen_colours
from locater.inference.async_results import THRESHOLD
from locater.inference.chunk_length import CHUNK_FRAMES
from locater.inference.effort import DEFAULT_CELLS
from locater.io.results_folder import results_folder
from locater.model.locater import Locater
from locater.model.second_look import LEAD, RARE_GIVEN, RARE_LEAD, TAKEN_LEAD, WELL_KNOWN, SecondLook
from locater.model.text import HuggingFaceEncoder, LSTMEncoder
from locater.model.visual.refiner import PATCH
from locater.records import Tokens
from locater.text import colour_names
from locater.text.words import ForgivingVocabulary, Vocabulary

FORMATS = ("onnx",)
OPSET = 20  # the first with a GELU of its own; onnxruntime 1.17 and later run it
TOLERANCE = 1e-3  # of logits: a soft mask then moves by less than 0.0003
TOKENIZER = "tokenizer"
SECOND_LOOK = "second_look.npz"
SECOND_LOOK_RULES: dict[str, Any] = {
    "side": judging.SIDE,
    "every": judging.EVERY,
    "every_doubted": judging.EVERY_DOUBTED,
    "longest_mean": judging.LONGEST_MEAN,
    "least_pixels": judging.LEAST_PIXELS,
    "well_known": WELL_KNOWN,
    "lead": LEAD,
    "rare_lead": RARE_LEAD,
    "taken_lead": TAKEN_LEAD,
    "rare_given": RARE_GIVEN,
    "doubted": judging.DOUBTED,
    "doubted_if_strange": judging.DOUBTED_IF_STRANGE,
    "carrier_doubted": judging.CARRIER_DOUBTED,
    "clear": judging.CLEAR,
    "most_pixels": seen_colours.MOST_PIXELS,
    "least_share": seen_colours.LEAST_SHARE,
    "least_worn": seen_colours.LEAST_WORN,
    "colour_counts": seen_colours.COUNTS.tolist(),
    "colour_softness": colour_names.SOFTNESS,
    # In CIELAB; a word may have several places.
    "colour_places": [
        [colour_names.COLOUR_WORDS.index(word), *place]
        for (word, _), place in zip(colour_names.PROTOTYPES, colour_names.PLACES, strict=True)
    ],
}
SHAPES = (9, 16), (4, 3)  # heights and widths of the frames that files are checked with, where they keep theirs
_PACKAGES = ("onnx", "onnxscript", "onnxruntime")


@dataclass(frozen=True)
class ExportReport:
    """What was measured of an export, on one thread of this machine's CPU."""

    largest_difference: float  # of any logit, between the files and the network
    file_bytes: dict[str, int]
    torch_frames_per_second: float  # plain float32, eager
    exported_frames_per_second: float


def export(
    model: Locater, folder: Path, to: str = "onnx", *, force: bool = False, second_look: SecondLook | None = None
) -> ExportReport:
    """What was measured; the files are in `folder`, whole, or nothing is if they and the network disagree.

    `force` replaces an earlier export.
    """
    if to not in FORMATS:
        raise LocaterError(f"There is no export to '{to}'; choose {', '.join(FORMATS)}.")
    if model.config.design == "authors":
        raise LocaterError("The authors' network is not exported; it runs with PyTorch alone.")
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise LocaterError(f"Exporting needs {', '.join(missing)}; run: pip install 'locater[export]'.")
    model = model.cpu().float().eval()
    with results_folder(folder, "locater export", force=force) as partial, torch.no_grad(), _one_thread():
        _write(model, second_look, partial)
        exported = ExportedModel(partial)
        difference = largest_difference(model, exported)
        if not difference <= TOLERANCE:  # also when it is not a number
            raise LocaterError(
                f"The exported files differ from the network by {difference:.2g} in a logit, more than {TOLERANCE:g}; "
                "nothing was written."
            )
        return ExportReport(
            largest_difference=difference,
            file_bytes={path.name: path.stat().st_size for path in sorted(partial.iterdir()) if path.is_file()},
            torch_frames_per_second=_frames_per_second(model, lambda case: _torch_logits(model, case)),
            exported_frames_per_second=_frames_per_second(model, lambda case: _exported_logits(exported, case)),
        )


# ---- Writing ---------------------------------------------------------------------------------------------------------


def _write(model: Locater, second_look: SecondLook | None, folder: Path) -> None:
    graphs = graphs_of(model)
    examples = _examples(model)
    for graph in graphs:
        write_graph(graph, examples, folder / f"{graph.name}.onnx")
    cells = {"global_cells": model.memory.global_start, "local_cells": model.memory.local_start}
    present = {name: value.numpy() for name, value in cells.items() if len(value)}
    if model.presence is not None:
        present["evidence"] = model.presence.no_evidence(1)[0].numpy()
    np.savez(folder / FIRST_CELLS, allow_pickle=False, **present)
    if second_look is not None:
        np.savez(
            folder / SECOND_LOOK, allow_pickle=False, **{k: v.numpy() for k, v in second_look.state_dict().items()}
        )
    if isinstance(model.text, HuggingFaceEncoder):
        model.text.tokenizer.save_pretrained(folder / TOKENIZER)
    settings = {
        "format": "locater-onnx-3",
        "opset": OPSET,
        "image_size": model.config.image_size,
        "patch_size": model.visual.patch_size,
        "widest": WIDEST if model.config.keep_aspect else 1.0,
        "enlarged": None if model.refiner is None else model.refiner.enlarged,
        "refined_cells": DEFAULT_CELLS,
        "own_enlarged": redrawing.ENLARGED,
        "large": redrawing.LARGE,
        "alike": redrawing.ALIKE,
        "interval": model.config.memory.interval,
        "window": model.visual.window,
        "threshold": THRESHOLD,
        "second_look": None if second_look is None else SECOND_LOOK_RULES,
        "first_cells": FIRST_CELLS,
        "text": _text_settings(model),
        "graphs": {
            graph.name: {"file": f"{graph.name}.onnx", "inputs": graph.inputs, "outputs": graph.outputs}
            for graph in graphs
        },
    }
    text = json.dumps(settings, indent=2, ensure_ascii=False)
    (folder / SETTINGS).write_text(text + "\n", encoding="utf-8")


def write_graph(graph: Graph, examples: dict[str, Tensor], path: Path) -> None:
    """Write one graph, whose numbers of expressions (B) and of frames (T) stay free; a window of frames is whole."""
    graph.eval()
    shapes: tuple[Any, ...] = tuple(_free_axes(graph, name) for name in graph.inputs)
    is_variadic = graph.name in ("fuse", "step")
    try:
        with _quiet(), same_convolutions():
            program = torch.export.export(
                graph,
                tuple(examples[name] for name in graph.inputs),
                dynamic_shapes=(shapes,) if is_variadic else shapes,
                # Encoders ask for len(tensor), which only the strict tracer, a slower one, keeps free.
                strict=graph.name == "visual" and graph.model.visual.window == 1,
            )
            written = torch.onnx.export(
                program,
                (),
                input_names=list(graph.inputs),
                output_names=list(graph.outputs),
                opset_version=OPSET,
                custom_translation_table={torch.ops.aten.sort.stable: _stable_sort, **SAME_CONVOLUTION},
                verbose=False,
            )
    except RuntimeError as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise LocaterError(f"The network's part '{graph.name}' cannot be exported: {reason}.") from error
    if written is None:  # only the older exporter's answer
        raise RuntimeError("torch.onnx gave back no program")
    for node in written.model.graph.all_nodes():
        node.metadata_props.clear()  # where in whose source tree each was traced: nobody else's business
    written.save(path, external_data=False)


def _stable_sort(self: Any, stable: bool = True, dim: int = -1, descending: bool = False) -> Any:  # noqa: ARG001
    """PyTorch's stable sort, which its exporter lacks: of equal values, TopK puts the first one first."""
    import onnxscript

    op: Any = onnxscript.opset20  # its types ask for a type variable an operator
    size = op.Gather(op.Shape(self), op.Constant(value_ints=[dim]))
    return op.TopK(self, size, axis=dim, largest=int(descending))


def _free_axes(graph: Graph, name: str) -> dict[int, Any]:
    """The axes of an input that differ from call to call; rows and columns where frames keep their shape."""
    if graph.name == "text":
        return {}  # one sentence a call: gathering along words fixes the number of sentences when traced
    if graph.name == "refine":
        if name == "logits":
            return {0: Dim("B"), 1: Dim("height"), 2: Dim("width")}
        return {2: PATCH * Dim("rows"), 3: PATCH * Dim("columns")}
    model, rows, columns = graph.model, Dim("rows"), Dim("columns")
    patch = model.visual.patch_size
    sides: dict[int, Any] = {}
    if name.startswith("early_"):
        within = patch // model.visual.early_strides[int(name.removeprefix("early_"))]
        sides = {2: within * rows, 3: within * columns}
    elif name == "frames":
        sides = {2: patch * rows, 3: patch * columns}
    elif name in (*PATCHWISE, "patches", "patch_meanings"):
        sides = {1: rows, 2: columns}
    sides = sides if model.config.keep_aspect else {}
    if name.startswith("early_"):
        return sides  # of one frame, for all expressions
    if name == "frames" and model.visual.window > 1:
        return sides  # a ragged window would be another graph; whoever runs it repeats the last frame
    return {0: Dim("T") if name in ("frames", "patches", "patch_meanings", "times") else Dim("B"), **sides}


def _examples(model: Locater) -> dict[str, Tensor]:
    """A tensor for every name; B is 2 and T 3 or a window: a tracer takes equal sizes for the same, and 1 for fixed."""
    config, batch, window = model.config, 2, model.visual.window
    frames = 3 if window == 1 else window
    tokens = _tokens(model, 1)
    words = model.text(tokens)
    pixels = torch.rand(frames, 3, *config.input_size(*SHAPES[0]))
    visual = model.visual(pixels.unsqueeze(0))
    cells = dict(zip(("global_cells", "local_cells"), model.memory.initial_state(batch), strict=True))
    of_patches = {"patches": visual.patches[0]} | (
        {} if visual.meanings is None else {"patch_meanings": visual.meanings[0]}
    )
    return {
        "numbers": tokens.numbers,
        "word_of_token": tokens.word_of_token,
        "frames": pixels,
        **{name: maps.unflatten(1, visual.grid) for name, maps in of_patches.items()},
        "times": torch.rand(frames, 2),
        "words": words.features.repeat(batch, 1, 1),
        "is_padding": words.is_padding.repeat(batch, 1),
        **({} if words.meanings is None else {"word_meanings": words.meanings.repeat(batch, 1, 1)}),
        # A tensor of its own each: one given twice is traced as one input.
        **{name: torch.randn(batch, *visual.grid, config.width) for name in ("values", "positioned", "projected")},
        "patch_attention": torch.rand(batch, *visual.grid, words.features.shape[1]),
        **{name: value.clone() for name, value in cells.items()},
        "evidence": torch.rand(batch, config.width + 1),
        **{f"early_{place}": maps[0, :1] for place, maps in enumerate(visual.early)},
        "picture": torch.rand(1, 3, 16 * PATCH, 20 * PATCH),  # more cells than a window of the refiner holds
        "logits": torch.randn(batch, *(visual.early[0].shape[-2:] if early_names(model) else visual.grid)),
    }


def _text_settings(model: Locater) -> dict[str, Any]:
    text = model.text
    shared = {"kind": model.config.text.kind, "max_words": text.max_words}
    if isinstance(text, HuggingFaceEncoder):
        return {**shared, "max_tokens": text.max_tokens, "tokenizer": TOKENIZER}
    numbers = {"padding": Vocabulary.PADDING, "unknown": Vocabulary.UNKNOWN, "first": Vocabulary.UNKNOWN + 1}
    words = text.vocabulary if isinstance(text, LSTMEncoder) else Vocabulary(())
    listed = words.listed if isinstance(words, ForgivingVocabulary) else None  # the others are those of training
    return {**shared, **numbers, "listed": listed, "vocabulary": words.words}


# ---- Checking and timing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    frames: Tensor  # (T, 3, S, S')
    times: Tensor  # (T, 2)
    tokens: Tokens
    chunk: int
    sampled: tuple[int, ...]  # the frames written to the global memory


def largest_difference(model: Locater, exported: ExportedModel) -> float:
    """The largest difference of any logit, over frames in uneven chunks and over two sentences, then one."""
    further = model.visual.window - 1  # so that there is a whole window and a ragged one
    cases = (
        _case(model, 5 + further, sentences=2, chunk=3, interval=2, shape=SHAPES[0]),
        _case(model, 2, sentences=1, chunk=1, interval=2, shape=SHAPES[1]),
    )
    differences = [
        float(np.abs(ours.numpy() - theirs).max())
        for case in cases
        for ours, theirs in zip(_torch_logits(model, case), _exported_logits(exported, case), strict=True)
    ]
    return float(np.max(differences))  # unlike max(), it passes on what is not a number


def _case(
    model: Locater, frames: int, sentences: int, chunk: int, interval: int, shape: tuple[int, int] = SHAPES[0]
) -> _Case:
    size, window = model.config.input_size(*shape), model.visual.window
    generator = torch.Generator().manual_seed(0)
    return _Case(
        frames=torch.rand(frames, 3, *size, generator=generator),
        times=torch.stack([torch.arange(frames) / 10, torch.arange(frames) / frames], dim=-1),
        tokens=_tokens(model, sentences),
        chunk=-(-chunk // window) * window,
        sampled=tuple(range(0, frames, interval)),
    )


def _tokens(model: Locater, count: int) -> Tokens:
    """Sentences of different lengths, of words that the network knows where it has a list of them."""
    known = model.text.vocabulary.words if isinstance(model.text, LSTMEncoder) else ()
    words = known[:5] or ("the", "dog", "on", "the", "left")
    return model.text.tokenize([" ".join(words), " ".join(words[:2])][:count])


def _torch_logits(model: Locater, case: _Case) -> Iterator[Tensor]:
    words = model.text(case.tokens)
    state = model.initial_state(words)
    frames, times = case.frames[None], case.times[None]
    window = model.visual.window
    for t in case.sampled:
        seen = slice(t - t % window, t - t % window + window)
        clip = model.fuse(model.visual(frames[:, seen]), times[:, seen], words).frame(t % window)
        state = model.write_global(clip.positioned, state)
    for first in range(0, frames.shape[1], case.chunk):
        some = slice(first, first + case.chunk)
        clip = model.fuse(model.visual(frames[:, some]), times[:, some], words)
        predictions, states = model.decode_clip(clip, words, state)
        logits = torch.stack([model.answer(prediction) for prediction in predictions], dim=1)
        yield from model.refined(frames[:, some], logits).unbind(1)
        state = states[-1]


def _exported_logits(exported: ExportedModel, case: _Case) -> Iterator[Any]:
    words = exported.read(case.tokens.numbers.numpy(), case.tokens.word_of_token.numpy())
    return exported.logits(case.frames.numpy(), case.times.numpy(), words, case.chunk, case.sampled)


def _frames_per_second(model: Locater, logits: Callable[[_Case], Iterator[Any]]) -> float:
    """The best of three runs over one chunk, both passes, one sentence, after one that warms up."""
    case = _case(model, CHUNK_FRAMES, sentences=1, chunk=CHUNK_FRAMES, interval=model.config.memory.interval)
    seconds = []
    for _ in range(4):
        started = time.perf_counter()
        count = sum(1 for _ in logits(case))
        seconds.append(time.perf_counter() - started)
    return count / min(seconds[1:])


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's notes to its own developers."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
