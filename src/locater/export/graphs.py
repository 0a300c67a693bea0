"""The network as pure functions of named tensors, one graph each: what a program without PyTorch has to run.

A video's loop stays outside: it is a few lines in any language, and the step is the same whether frames come from a
file or a camera. Nothing is computed here that the network does not compute itself. What belongs to patches travels as
maps of rows and columns (r, c), so that every graph knows the frame's shape from what it is given.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from locater.compute.rows import expand_to_expressions
from locater.model.fusion import CrossModalityEncoder
from locater.model.locater import ClipFeatures, Locater
from locater.model.visual.efficientnet import EfficientNetLite
from locater.records import Tokens, VideoState, VisualFeatures, Words

PATCHWISE = ("values", "positioned", "projected", "patch_attention")  # what `fuse` gives of every frame
NO_STRINGS: tuple[str, ...] = ()  # a graph holds tensors alone


class Graph(nn.Module):
    """A part of the network with a name for each tensor that goes in and out; `forward` takes them in that order."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __init__(self, model: Locater) -> None:
        super().__init__()
        self.model = model


class TextGraph(Graph):
    """Token numbers to word features; `owner` says which word a feature belongs to, as `word_of_token` does."""

    name = "text"
    inputs = ("numbers", "word_of_token")

    def __init__(self, model: Locater) -> None:
        super().__init__(model)
        self.outputs = ("words", "is_padding", "owner", *(("word_meanings",) if model.recognition else ()))

    def forward(self, numbers: Tensor, word_of_token: Tensor) -> tuple[Tensor, ...]:
        """(B, W, D), (B, W), (B, W) and, where patches are recognised, (B, W, E), from (B, W') twice."""
        encoded: Words = self.model.text(Tokens(numbers, word_of_token, NO_STRINGS, (), NO_STRINGS))
        meanings = () if self.model.recognition is None or encoded.meanings is None else (encoded.meanings,)
        return encoded.features, encoded.is_padding, encoded.word_of_token.clone(), *meanings


class VisualGraph(Graph):
    """A chunk of frames to patches, for the fine readout early maps, and what patches are taken for where that is told.

    It runs once for all expressions.
    """

    name = "visual"
    inputs = ("frames",)

    def __init__(self, model: Locater) -> None:
        super().__init__(model)
        looked = ("seen", "taken_for") if is_looked_at_again(model) else ()
        self.outputs = ("patches", *early_names(model), *(("patch_meanings",) if model.recognition else ()), *looked)

    def forward(self, frames: Tensor) -> tuple[Tensor, ...]:
        """(T, r, c, D), (T, C, h, w) each, and (T, r, c, E), from (T, 3, S, S') in [0, 1].

        Where crops can be looked at again, also what each frame as a whole shows, (T, C') and (T, E').
        """
        visual = self.model.visual
        looked: tuple[Tensor, ...] = ()
        if isinstance(visual, EfficientNetLite) and is_looked_at_again(self.model):
            features, *found = visual.with_look(frames.unsqueeze(0))
            looked = tuple(found)
        else:
            features = visual(frames.unsqueeze(0))
        early = features.early[: len(early_names(self.model))]
        meanings = () if self.model.recognition is None else (features.meanings,)
        of_patches = [as_map(each, features.grid) for each in (features.patches, *meanings) if each is not None]
        return *(maps.squeeze(0) for maps in (of_patches[0], *early, *of_patches[1:])), *looked


class FuseGraph(Graph):
    """A chunk's patches with each expression's words fused in: all of a frame that needs no memory."""

    name = "fuse"

    def __init__(self, model: Locater) -> None:
        super().__init__(model)
        meanings = ("patch_meanings", "word_meanings") if model.recognition else ()
        self.inputs = ("patches", "times", "words", "is_padding", *meanings)
        self.outputs = (
            *("values", "positioned", "projected")[: 3 if model.config.local_cells else 2],
            *patch_attention_names(model),
        )

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """(B, T, r, c, D) each, and (B, T, r, c, W) of the words that patches look at.

        From (T, r, c, D), (T, 2), (B, W, D), (B, W), and of meanings (T, r, c, E) and (B, W, E).
        """
        patches, times, words, is_padding, *meanings = tensors
        grid = patches.shape[1], patches.shape[2]
        seen = (each.flatten(1, 2).unsqueeze(0) for each in (patches, *meanings[:1]))
        visual = VisualFeatures(next(seen), (), grid, *seen)
        encoded = Words(words, is_padding, is_padding, NO_STRINGS, (), True, *meanings[1:])
        fused = self.model.fuse(visual, times.unsqueeze(0), encoded, with_word_attention=True)
        found = {
            "values": fused.values,
            "positioned": fused.positioned,
            "projected": fused.projected,
            "patch_attention": fused.word_attention,
        }
        return tuple(as_map(each, grid) for name in self.outputs if (each := found[name]) is not None)


class WriteGlobalGraph(Graph):
    """One frame written into the global memory (Eq. 5)."""

    name = "write_global"
    inputs = ("positioned", "global_cells")
    outputs = ("global_cells_after",)

    def forward(self, positioned: Tensor, global_cells: Tensor) -> Tensor:
        """(B, G, D) from (B, r, c, D) and (B, G, D)."""
        return self.model.memory.write_global(positioned.flatten(1, 2).unsqueeze(1), global_cells)


class StepGraph(Graph):
    """One frame's mask, and the local memory after it; a memory that the network lacks is no input of it."""

    name = "step"

    def __init__(self, model: Locater) -> None:
        super().__init__(model)
        has_global, has_local = bool(model.config.global_cells), bool(model.config.local_cells)
        self.inputs = (
            "values",
            *(("positioned",) if has_global or has_local else ()),
            *patch_attention_names(model),
            *early_names(model),
            "words",
            "is_padding",
            *(("global_cells",) if has_global else ()),
            *(("projected", "local_cells") if has_local else ()),
            *(("evidence",) if model.presence is not None else ()),
        )
        self.outputs = (
            "logits",
            "word_attention",
            *(("local_cells_after",) if has_local else ()),
            *(("evidence_after",) if model.presence is not None else ()),
        )

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """(B, h, w), (B, W) and (B, L, D) from one frame of `fuse`, its early maps (1, C, h, w), words and cells."""
        given = dict(zip(self.inputs, tensors, strict=True))
        grid = given["values"].shape[1], given["values"].shape[2]
        given |= {name: given[name].flatten(1, 2) for name in PATCHWISE if name in given}
        values = given["values"]
        none = values[:, :0]
        frame = ClipFeatures(
            values=values.unsqueeze(1),
            positioned=given.get("positioned", values).unsqueeze(1),
            projected=given.get("projected", values).unsqueeze(1),
            early=tuple(given[name].unsqueeze(1) for name in early_names(self.model)),
            grid=grid,
            modules=(),
            word_attention=given["patch_attention"].unsqueeze(1) if "patch_attention" in given else None,
        )
        words = Words(given["words"], given["is_padding"], given["is_padding"], NO_STRINGS, ())
        cells = given.get("global_cells", none), given.get("local_cells", none)
        prediction, after = self.model.step(
            frame, words, VideoState(*cells, 0, True, NO_STRINGS, given.get("evidence"))
        )
        found = {
            "logits": self.model.answer(prediction),
            "word_attention": self.model.deciding_words(frame, [prediction])[:, 0],
            **{f"{name}_after": tensor for name, tensor in after.tensors.items()},
        }
        return tuple(found[name] for name in self.outputs)


class RefineGraph(Graph):
    """One frame's masks along its edges, after `step`; it is there where the network has a refiner.

    Whoever runs it cuts the picture, of the whole frame or of what is around a mask, in the size that is seen.
    """

    name = "refine"
    inputs = ("picture", "logits")
    outputs = ("refined",)

    def forward(self, picture: Tensor, logits: Tensor) -> Tensor:
        """(B, h, w) from (1, 3, S, S') in [0, 1], sides multiples of 16, and (B, h, w)."""
        refiner = self.model.refiner
        assert refiner is not None
        return refiner.redrawn(expand_to_expressions(refiner.features(picture), logits.shape[0]), logits)


def as_map(patches: Tensor, grid: tuple[int, int]) -> Tensor:
    """(B, T, P, D) as rows and columns, (B, T, r, c, D)."""
    return patches.view(*patches.shape[:2], *grid, patches.shape[3])


def is_looked_at_again(model: Locater) -> bool:
    """Whether the encoder can tell what a whole picture shows, as a second look asks it."""
    return isinstance(model.visual, EfficientNetLite) and model.visual.recogniser is not None


def early_names(model: Locater) -> tuple[str, ...]:
    """The early maps that the readout climbs, finest first; none for the paper's bilinear one."""
    is_fine = model.decoder.upsampler is not None
    return tuple(f"early_{place}" for place, _ in enumerate(model.visual.early_channels)) if is_fine else ()


def patch_attention_names(model: Locater) -> tuple[str, ...]:
    """What `fuse` tells `step` of the words that patches look at; nothing where they look at none."""
    return ("patch_attention",) if isinstance(model.fusion, CrossModalityEncoder) else ()


def graphs_of(model: Locater) -> Sequence[Graph]:
    """The graphs of one network, in the order in which a video runs through them."""
    write_global = (WriteGlobalGraph(model),) if model.config.global_cells else ()
    refine = (RefineGraph(model),) if model.refiner is not None else ()
    return (TextGraph(model), VisualGraph(model), FuseGraph(model), *write_global, StepGraph(model), *refine)
