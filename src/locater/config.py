"""Every setting of a network, frozen and strict; a misspelt key fails and lists the known ones."""

import json
import math
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from locater.encoder_settings import I3DConfig, Settings, TinyViTConfig, VideoSwinConfig, WordPiecesConfig
from locater.errors import LocaterError
from locater.presets import merged, preset_values

_SettingsT = TypeVar("_SettingsT", bound=Settings)
# Far above any network there is: a config from anywhere must not make the builder run for hours.
WIDEST_LAYER, DEEPEST = 16384, 128
MOST_NUMBERS = 2**28  # of a table that a network has for each patch or memory cell
_Channels = Annotated[int, Field(ge=1, le=512)]
DataWeight = Annotated[float, Field(gt=0, le=1e6)]
WIDEST = 2.5  # a wider or higher frame is squashed to this: its cells would be few across


class ViTConfig(Settings):
    """The first `depth` blocks of a Vision Transformer; `dinov2` adds layer scales and its own pixel statistics."""

    kind: Literal["vit", "dinov2"] = "vit"
    patch_size: int = Field(16, ge=1, le=256)  # O
    width: int = Field(768, ge=1, le=WIDEST_LAYER)
    depth: int = Field(6, ge=1, le=DEEPEST)
    heads: int = Field(12, ge=1, le=1024)
    # Of the early stem, which the fine readout adds: channels at strides 2, 4 and 8, and convolutions per map.
    stem_channels: tuple[_Channels, _Channels, _Channels] = (16, 24, 32)
    stem_depth: int = Field(1, ge=1, le=DEEPEST)
    pretrained: str | None = None  # a .safetensors file, or a hub name such as timm/vit_base_patch16_224.augreg_in21k

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self


class EfficientNetConfig(Settings):
    """EfficientNet-lite up to its stride-16 stage, or to its stride-32 stage, brought back to stride 16 (`deep`)."""

    kind: Literal["efficientnet_lite"]
    variant: Literal["lite0", "lite1", "lite2"] = "lite0"
    deep: bool = False
    recognises: bool = False  # keeps ImageNet's classifier and compares its classes' names with the sentence's words
    drop_path: float = Field(0.0, ge=0, lt=1)  # in training, the chance that the last block is left out for a frame
    pretrained: str | None = None

    @property
    def patch_size(self) -> int:
        """Pixels per side of one output cell."""
        return 16


SingleEncoder = Annotated[ViTConfig | EfficientNetConfig | TinyViTConfig, Field(discriminator="kind")]


class JoinedConfig(Settings):
    """Two encoders side by side, their patches summed; the early maps are those of `where`."""

    kind: Literal["joined"]
    what: SingleEncoder
    where: SingleEncoder

    @model_validator(mode="after")
    def _patches_fit(self) -> Self:
        if self.what.patch_size != self.where.patch_size:
            raise ValueError(
                f"patches of {self.what.patch_size} and of {self.where.patch_size} pixels cannot be joined"
            )
        return self

    @property
    def patch_size(self) -> int:
        """Pixels per side of one output cell."""
        return self.what.patch_size

    @property
    def pretrained(self) -> str | None:
        """A file that weights come from, if any do."""
        return self.what.pretrained or self.where.pretrained


VisualConfig = ViTConfig | EfficientNetConfig | TinyViTConfig | VideoSwinConfig | I3DConfig | JoinedConfig


class LSTMConfig(Settings):
    """A bi-LSTM whose vocabulary is built from the training text and travels here, inside the checkpoint."""

    kind: Literal["lstm"] = "lstm"
    max_words: int = Field(20, ge=1, le=1024)  # N_w
    embedding_width: int = Field(300, ge=1, le=WIDEST_LAYER)
    vocabulary: tuple[Annotated[str, Field(max_length=1000)], ...] = Field((), max_length=10**6)


class VectorsConfig(LSTMConfig):
    """The same bi-LSTM over pretrained word vectors, so that it also knows words it was not trained on."""

    kind: Literal["vectors"]  # type: ignore[assignment]
    table: str | None = None  # a file (docs/words.md), read when a network is built; a checkpoint has its own copy
    forget: float = Field(0.3, ge=0, le=1)  # in training, the chance that a word is read by its pretrained vector alone
    words: int = Field(
        0, ge=0, le=10**7
    )  # of the table, as are the next two; who builds a network from a table sets them
    vector_width: int = Field(96, ge=1, le=WIDEST_LAYER)
    letters: int = Field(0, ge=0, le=10**9)  # bytes of all its words, one per line


class HuggingFaceConfig(Settings):
    """Any Hugging Face encoder: BERT, MiniLM, ..."""

    kind: Literal["huggingface"]
    pretrained: str  # a hub name or a local folder
    max_words: int = Field(20, ge=1, le=1024)
    max_tokens: int = Field(40, ge=1, le=4096)  # sub-words; words past it are cut with a warning


class FusionConfig(Settings):
    """The cross-modality encoder (Eq. 3, 4); `concat` is the paper's baseline without one."""

    kind: Literal["transformer", "concat"] = "transformer"
    modules: int = Field(3, ge=1, le=DEEPEST)  # K
    heads: int = Field(12, ge=1, le=1024)
    norm: Literal["pre", "post"] = "pre"  # Eq. 2 prints post; every pretrained ViT is pre
    centre: bool = True  # with `pre`: V's channels have mean 0 over all data, not over each patch's own channels
    auxiliary: bool = True  # deep supervision, Eq. 12


class MemoryConfig(Settings):
    """The local-global memory (Eq. 5 to 8)."""

    write: Literal["paper", "sum", "compete"] = "compete"
    global_ratio: float = Field(1.5, ge=0, le=64)  # N_g / N_v; 0 is none
    local_ratio: float = Field(2.0, ge=0, le=64)  # N_l / N_v; 0 is none
    heads: int = Field(1, ge=1, le=1024)
    time_embedding: bool = True
    place_embedding: bool = True
    read_mlp: bool = False  # a projection of what was read and an MLP over it; the paper adds what was read as it is
    refine_blocks: int = Field(0, ge=0, le=DEEPEST)  # Transformer blocks over what a frame read; the paper has none
    interval: int = Field(10, ge=1, le=10**6)  # every n-th frame is written to the global memory
    motion_targets: int = Field(
        0, ge=0, le=4096
    )  # numbers that a head tells of what the object at a patch does; worlds know 20


class DecoderConfig(Settings):
    """The referring decoder (Eq. 9 to 11)."""

    query: Literal["visual", "text"] = "visual"
    readout: Literal["product", "cosine", "encoder_only"] = "product"
    upsampling: Literal["bilinear", "fine"] = "bilinear"
    fine_width: int = Field(32, ge=1, le=512)
    presence: bool = False  # an answer of its own to whether what is said is there at all; the paper has none


class RefinerConfig(Settings):
    """MobileSAM, which redraws each mask along the edges of the frame."""

    enlarged: float = Field(1.5, gt=0, le=8)  # it sees a frame this many times as large as the network does
    pretrained: str | None = None


class ModelConfig(Settings):
    """One network, whole: `build(config)` needs nothing else but pretrained files it names."""

    # authors: the network of their released code (docs/deviations.md), which reads sizes, `visual` and `text` alone.
    design: Literal["paper", "authors"] = "paper"
    image_size: int = Field(320, ge=1, le=8192)  # S
    keep_aspect: bool = False  # frames keep their shape, at about S x S pixels; else they are squashed to squares
    width: int = Field(768, ge=1, le=WIDEST_LAYER)  # D
    visual: Annotated[VisualConfig, Field(discriminator="kind")] = ViTConfig()
    text: Annotated[LSTMConfig | VectorsConfig | HuggingFaceConfig | WordPiecesConfig, Field(discriminator="kind")] = (
        LSTMConfig()
    )
    fusion: FusionConfig = FusionConfig()
    memory: MemoryConfig = MemoryConfig()
    decoder: DecoderConfig = DecoderConfig()
    refiner: RefinerConfig | None = None  # the paper has none

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.image_size % self.visual.patch_size:
            raise ValueError(
                f"image_size {self.image_size} is not a multiple of the patch size {self.visual.patch_size}"
            )
        if self.design == "authors" and not (
            isinstance(self.visual, ViTConfig) and isinstance(self.text, WordPiecesConfig)
        ):
            raise ValueError("design authors needs visual.kind vit and text.kind word_pieces")
        if self.design == "paper" and isinstance(self.text, WordPiecesConfig):
            raise ValueError("text.kind word_pieces has no padding mask, which only design authors can do without")
        what = self._what
        if isinstance(what, EfficientNetConfig) and what.recognises:
            if not what.deep:
                raise ValueError("visual.recognises needs visual.deep: classes are told from the deepest features")
            if not isinstance(self.text, VectorsConfig):
                raise ValueError("visual.recognises needs text.kind vectors: names are compared with words there")
        largest = max(self.patches, self.global_cells, self.local_cells)
        if largest * self.width > MOST_NUMBERS:
            raise ValueError(f"{largest} patches or memory cells of width {self.width} are more than any network has")
        for part, heads in (("fusion", self.fusion.heads), ("memory", self.memory.heads)):
            if self.width % heads:
                raise ValueError(f"width {self.width} is not a multiple of {part}.heads {heads}")
        return self

    def input_size(self, height: int, width: int, scale: float = 1.0) -> tuple[int, int]:
        """Rows and columns of pixels in which the network sees a frame of that size, `scale` times as many as usual."""
        patch = self.visual.patch_size
        stretch = math.sqrt(min(max(width / height, 1 / WIDEST), WIDEST)) if self.keep_aspect else 1.0
        side = scale * self.image_size
        rows, columns = (max(1, round(length / patch)) for length in (side / stretch, side * stretch))
        return rows * patch, columns * patch

    @property
    def meaning_width(self) -> int | None:
        """E: how many numbers a word's meaning has, where the visual encoder tells meanings too."""
        is_told = isinstance(self._what, EfficientNetConfig) and self._what.recognises
        return self.text.vector_width if is_told and isinstance(self.text, VectorsConfig) else None

    @property
    def _what(self) -> VisualConfig:
        """The encoder that knows what things are: of two joined ones the first."""
        return self.visual.what if isinstance(self.visual, JoinedConfig) else self.visual

    @property
    def grid(self) -> int:
        """Patches along one side of a frame at the preset's own size."""
        return self.image_size // self.visual.patch_size

    @property
    def patches(self) -> int:
        """P, the paper's N_v."""
        return self.grid**2

    @property
    def global_cells(self) -> int:
        """G, the paper's N_g: fixed here, never resized with the input."""
        return round(self.memory.global_ratio * self.patches)

    @property
    def local_cells(self) -> int:
        """L, the paper's N_l."""
        return round(self.memory.local_ratio * self.patches)


LARGEST_SEED = 2**31 - 1  # numbers of batches are made of it, in 64 bits
_Weight = Annotated[float, Field(ge=0, le=1e6)]


class GroundingConfig(Settings):
    """The module that scores candidate masks (section 5.6); the paper gives its blocks, the rest is ours."""

    width: int = Field(128, ge=1, le=WIDEST_LAYER)
    heads: int = Field(4, ge=1, le=DEEPEST)
    blocks: int = Field(4, ge=1, le=DEEPEST)
    frames: int = Field(8, ge=1, le=4096)  # of a video, evenly spread, that it looks at


class TrainingConfig(Settings):
    """How a preset is trained; the defaults are the paper's where it says (section 3.3)."""

    steps: int | None = Field(None, ge=0, le=10**9)  # of the optimiser; without it `epochs` decides, where data ends
    epochs: float = Field(30, gt=0, le=10**6)
    batch_size: int = Field(32, ge=1, le=10**6)  # clips per step, over all processes
    accumulate: int = Field(1, ge=1, le=10**6)  # micro-batches per step
    sentences: int = Field(1, ge=1, le=1024)  # of a world: questions to each clip, which share the visual encoder
    image_size: int | None = Field(None, ge=1, le=8192)  # S in training, where that is another than in use
    clip_frames: int = Field(8, ge=1, le=10**4)
    clip_strides: tuple[Annotated[int, Field(ge=0, le=10**6)], ...] = Field(
        (1,), min_length=1, max_length=1024
    )  # one is drawn per clip; 0 spreads the clip over the whole video
    global_frames: int = Field(
        4, ge=0, le=10**4
    )  # of the whole video; 0: the clip's own frames are the global memory's too
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: float = Field(4e-5, ge=0, le=100)
    encoder_rate: float = Field(1.0, ge=0, le=1000)  # pretrained encoders learn at this fraction of the rate ...
    layer_decay: float = Field(1.0, gt=0, le=1)  # ... and each block this much slower than the one above it
    rates: dict[str, _Weight] = {}  # parts by name, as visual or fusion.steps, learn at this fraction; 0 is not at all
    weight_decay: float = Field(1e-4, ge=0, le=100)
    warmup_steps: int = Field(0, ge=0, le=10**9)
    power: float = Field(0.9, ge=0, le=100)  # of the polynomial decay
    max_gradient_norm: float | None = Field(None, gt=0)
    auxiliary_weight: _Weight = 0.4  # lambda of Eq. 12
    dice_weight: _Weight = 0.0
    motion_target_weight: _Weight = 1.0  # where the network has a head for them and the data knows them
    presence_weight: _Weight = 1.0  # where the network tells whether what is said is there
    recognition_weight: _Weight = 0.0  # of ImageNet's classes being told at every place as the start tells them
    is_fine: bool = True  # False: a stage that learns from the patch grid's masks alone, in half the time
    is_refined: bool = True  # False: a stage that learns from the masks before a refiner, where there is one
    ema_decay: float = Field(0.0, ge=0, lt=1)  # 0 is none
    cached_clips: int = Field(
        0, ge=0, le=10**9
    )  # V of so many clips is computed once, and steps draw from it; 0: clips afresh
    flip: float = Field(0.5, ge=0, le=1)  # chance of mirroring a clip and the left and right of its sentence
    curriculum: dict[str, _Weight] = {}  # a sentence kind enters at this fraction of training; 0 where not named
    kin_share: float = Field(0.0, ge=0, le=1)  # of sentences on what is not there, those that name near kin
    rehearsed: int = Field(0, ge=0, le=16)  # more sentences to each clip, on what is hardly shown; the start answers
    kind_weights: dict[str, _Weight] = {}  # how often a kind is drawn; 1 where not named
    precision: Literal["no", "bf16", "fp16"] = "no"
    gradient_checkpointing: bool = False
    cuda_graph: bool = False  # on one CUDA device; elsewhere the same step runs op by op
    compile: bool = False  # fuse the element-wise work of blocks and fine maps (torch.compile): a minute, then faster
    save_every: int = Field(500, ge=1, le=10**9)  # steps between resumable states
    validate_every: int = Field(1000, ge=1, le=10**9)
    validation_videos: int = Field(16, ge=0, le=10**6)  # of each sentence kind; 0: no validation
    keep_best: bool = False  # also keep, in `best`, the checkpoint that validation likes best; the start counts too
    start: str | None = None  # weights other than those of the stage before: stage2, start (of the run), a shipped name
    seed: int | None = Field(None, ge=0, le=LARGEST_SEED)  # another than the run's
    # Other than the run's: what --data says, or several with their weights, as {refcoco:ROOT: 3, shapes: 1}.
    data: str | dict[str, DataWeight] | None = None

    @model_validator(mode="after")
    def _cache_suffices(self) -> Self:
        if self.cached_clips and (self.is_fine or self.global_frames or self.curriculum):
            raise ValueError(
                "training.cached_clips keeps V of each clip alone, with no order and no early maps: it needs "
                "is_fine: false, global_frames: 0 and no curriculum"
            )
        return self


def parse_config(values: dict[str, Any], origin: str) -> ModelConfig:
    """The validated settings of a network, or one sentence that says what is wrong in `origin`."""
    return parse_settings(ModelConfig, values, origin)


def parse_training(values: dict[str, Any], origin: str) -> TrainingConfig:
    """The validated settings of a training, likewise."""
    return parse_settings(TrainingConfig, values, origin)


def parse_settings(group: type[_SettingsT], values: dict[str, Any], origin: str) -> _SettingsT:
    """The validated settings of any group, likewise."""
    try:
        # Through JSON, where strict mode takes a list for a tuple and nothing else is bent.
        return group.model_validate_json(json.dumps(values))
    except (RecursionError, ValueError) as error:
        if not isinstance(error, ValidationError):
            raise LocaterError(f"{origin}: the settings cannot be read; they are nested too deeply.") from None
        raise LocaterError(f"{origin}: {_first_problem(error, group)}") from None


def preset(name: str, changes: dict[str, Any] | None = None) -> ModelConfig:
    """The network of a preset, with `changes` (nested, differences only) on top."""
    values = merged(preset_values(name), changes or {})
    values.pop("training", None)
    return parse_config(values, f"preset {name}")


def stage_values(name: str, changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The settings of a preset's stages as plain values: its own, each stage's, `changes` on top; averages as given."""
    changed: dict[str, Any] = dict((changes or {}).get("training", {}))
    common: dict[str, Any] = dict(preset_values(name).get("training", {}))
    own = common.pop("stages", [{}])
    stages = changed.pop("stages", own)
    if not isinstance(stages, list) or not stages or not all(isinstance(stage, dict) for stage in stages):
        raise LocaterError(f"preset {name}: training.stages is a list of settings, as [{{steps: 100}}, {{steps: 50}}].")
    return [stage if "average" in stage else {**common, **stage, **changed} for stage in stages]


def training_stages(name: str, changes: dict[str, Any] | None = None) -> list[TrainingConfig]:
    """How a preset is trained, stage after stage; the averages between them (training/recipe.py) are left out."""
    stages = stage_values(name, changes)
    return [parse_training(stage, f"preset {name}") for stage in stages if "average" not in stage]


def _first_problem(error: ValidationError, group: type[Settings]) -> str:
    """The first validation failure as one sentence; a misspelt key lists the known ones."""
    problem = error.errors()[0]
    path = [str(step) for step in problem["loc"]]
    where = ".".join(path)
    if problem["type"] != "extra_forbidden":
        return f"{where or 'settings'}: {problem['msg']}."
    return f"'{where}' is no known setting; known here are {', '.join(sorted(_known_keys(group, path[:-1])))}."


def _known_keys(group: type[Settings], path: list[str]) -> list[str]:
    """The setting names of the group that a validation path leads to."""
    groups: dict[str, type[Settings]] = {
        "vit": ViTConfig,
        "dinov2": ViTConfig,
        "efficientnet_lite": EfficientNetConfig,
        "tiny_vit": TinyViTConfig,
        "video_swin": VideoSwinConfig,
        "i3d": I3DConfig,
        "joined": JoinedConfig,
        "lstm": LSTMConfig,
        "vectors": VectorsConfig,
        "huggingface": HuggingFaceConfig,
        "word_pieces": WordPiecesConfig,
        "fusion": FusionConfig,
        "memory": MemoryConfig,
        "decoder": DecoderConfig,
        "refiner": RefinerConfig,
    }
    return list(groups.get(path[-1] if path else "", group).model_fields)
