"""From settings to a network: the one place that reads a `ModelConfig`."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from locater.config import (
    EfficientNetConfig,
    HuggingFaceConfig,
    JoinedConfig,
    LSTMConfig,
    ModelConfig,
    VectorsConfig,
    VisualConfig,
    ViTConfig,
)
from locater.encoder_settings import I3DConfig, TinyViTConfig, VideoSwinConfig, WordPiecesConfig
from locater.errors import LocaterError
from locater.model.authors.memory import AuthorsMemory
from locater.model.authors.network import AuthorsDecoder, AuthorsFusion, AuthorsHeads, AuthorsLocater, AuthorsViT
from locater.model.authors.text import WordPieceLSTM
from locater.model.decoder import FineUpsampler, PatchReadout, QueryEmbedding, ReferringDecoder
from locater.model.fusion import AuxiliaryHeads, Concatenation, CrossModalityEncoder
from locater.model.locater import Locater
from locater.model.memory import LocalGlobalMemory
from locater.model.presence import PresenceHead
from locater.model.recognition import Recognition
from locater.model.text import HuggingFaceEncoder, LSTMEncoder, TextEncoder
from locater.model.transformer import EncoderBlock
from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.visual.encoder import HALF_STATISTICS, IMAGENET_STATISTICS, VisualEncoder
from locater.model.visual.joined import JoinedEncoder
from locater.model.visual.pretrained import load_pretrained
from locater.model.visual.recogniser import class_names
from locater.model.visual.refiner import Refiner
from locater.model.visual.tiny_vit import TinyViT
from locater.model.visual.video.i3d import I3D
from locater.model.visual.video.swin import VideoSwin
from locater.model.visual.vit import VisionTransformer
from locater.model.word_embedding import LearnedEmbedding, PretrainedEmbedding
from locater.text.table import WordTable, pack_words
from locater.text.words import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


_MOST_NUMBERS = 2 * 10**10
_OF_A_BLOCK = 12  # times its width squared: attention has 4, the MLP 8


def build(config: ModelConfig, seed: int | None = None) -> Locater:
    """A new network, its encoders pretrained where the config names weights, the rest at random (from `seed`)."""
    if least_numbers(config) > _MOST_NUMBERS:
        raise LocaterError(
            f"The network would have more than {least_numbers(config) / 1e9:.0f} billion weights; make width or depth "
            "smaller."
        )
    if seed is not None:
        torch.manual_seed(seed)
    text_model = None
    if isinstance(config.text, HuggingFaceConfig):
        text_model = pretrained_text(config.text.pretrained)
    table = None
    if isinstance(config.text, VectorsConfig) and config.text.table is not None:
        table = WordTable.load(config.text.table)
        config = _sized_for(config, table)
    model = assemble(config, text_model)
    if table is not None:
        _word_vectors(model).fill(table)
    _load_visual(model.visual, config.visual)
    _name_classes(model)
    if model.refiner is not None and config.refiner is not None and config.refiner.pretrained is not None:
        load_pretrained(model.refiner, config.refiner.pretrained)
    return model


def assemble(config: ModelConfig, text_model: "tuple[PreTrainedModel, PreTrainedTokenizerBase] | None") -> Locater:
    """The network of `config` with random weights, around a given Hugging Face encoder where it has one."""
    if config.design == "authors":
        return _authors(config)
    visual = _visual(config.visual, config)
    modules = config.fusion.modules
    is_fused = config.fusion.kind == "transformer"
    return Locater(
        config=config,
        visual=visual,
        text=_text(config, text_model),
        recognition=Recognition(config.meaning_width, config.width) if config.meaning_width is not None else None,
        fusion=CrossModalityEncoder(
            config.width, modules, config.fusion.heads, config.fusion.norm, config.fusion.centre
        )
        if is_fused
        else Concatenation(config.width),
        auxiliary=AuxiliaryHeads(config.width, modules) if is_fused and config.fusion.auxiliary else None,
        memory=LocalGlobalMemory(
            width=config.width,
            global_cells=config.global_cells,
            local_cells=config.local_cells,
            rule=config.memory.write,
            heads=config.memory.heads,
            time_embedding=config.memory.time_embedding,
            place_embedding=config.memory.place_embedding,
            read_mlp=config.memory.read_mlp,
            refine=[
                EncoderBlock(config.width, config.fusion.heads, config.fusion.norm)
                for _ in range(config.memory.refine_blocks)
            ],
        ),
        decoder=ReferringDecoder(
            query=QueryEmbedding(config.width, config.decoder.query),
            readout=PatchReadout(config.width, config.decoder.readout),
            upsampler=FineUpsampler(config.width, config.decoder.fine_width, visual.early_channels)
            if config.decoder.upsampling == "fine"
            else None,
        ),
        motion_targets=nn.Linear(config.width, config.memory.motion_targets) if config.memory.motion_targets else None,
        refiner=Refiner(config.refiner.enlarged) if config.refiner is not None else None,
        presence=PresenceHead(config.width) if config.decoder.presence else None,
    )


def _authors(config: ModelConfig) -> AuthorsLocater:
    """The network of the authors' released code."""
    assert isinstance(config.visual, ViTConfig) and isinstance(config.text, WordPiecesConfig)
    visual, text, width = config.visual, config.text, config.width
    return AuthorsLocater(
        config=config,
        visual=AuthorsViT(
            image_size=config.image_size,
            patch_size=visual.patch_size,
            depth=visual.depth,
            heads=visual.heads,
            width=width,
        ),
        text=WordPieceLSTM(text.vocabulary, text.embeddings, text.embedding_width, text.layers, width, text.max_words),
        fusion=AuthorsFusion(width, config.fusion.modules, config.fusion.heads),
        auxiliary=AuthorsHeads(width, config.fusion.modules),
        memory=AuthorsMemory(width, config.global_cells, config.local_cells),
        decoder=AuthorsDecoder(width, visual.patch_size),
    )


def pretrained_text(name: str) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A Hugging Face encoder with its weights and its tokenizer, from the hub or a local folder."""
    from transformers import AutoModel, AutoTokenizer

    try:
        return AutoModel.from_pretrained(name, use_safetensors=True), AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n", maxsplit=1)[0]
        raise LocaterError(f"The text encoder '{name}' cannot be loaded ({reason}); give a local folder.") from None


def empty_text(folder: Path) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """A Hugging Face encoder as described in a checkpoint's folder, without weights."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    if not folder.is_dir():
        raise LocaterError(f"{folder} is missing; a checkpoint with a Hugging Face text encoder needs it.")
    model: PreTrainedModel = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
    return model, AutoTokenizer.from_pretrained(folder)


def _sized_for(config: ModelConfig, table: WordTable) -> ModelConfig:
    """The config with room for the table's words, and without its file: a checkpoint has a copy of its own."""
    words, vector_width = table.codes.shape
    sizes = {"words": words, "vector_width": vector_width, "letters": len(pack_words(table.words)), "table": None}
    return config.model_copy(update={"text": config.text.model_copy(update=sizes)})


def _visual(settings: VisualConfig, config: ModelConfig) -> VisualEncoder:
    needs_early = config.decoder.upsampling == "fine"
    match settings:
        case ViTConfig(kind=kind, patch_size=patch_size, width=width, depth=depth, heads=heads) as vit:
            is_dino = kind == "dinov2"
            return VisionTransformer(
                image_size=config.image_size,
                patch_size=patch_size,
                inner_width=width,
                depth=depth,
                heads=heads,
                width=config.width,
                layer_scale=is_dino,
                pixels=IMAGENET_STATISTICS if is_dino else HALF_STATISTICS,
                early_stem=EarlyStem(patch_size, vit.stem_channels, vit.stem_depth) if needs_early else None,
            )
        case EfficientNetConfig(variant=variant, deep=deep, recognises=recognises, drop_path=drop_path):
            meaning_width = config.meaning_width if recognises else None
            return EfficientNetLite(
                variant=variant, width=config.width, deep=deep, meaning_width=meaning_width, drop_path=drop_path
            )
        case TinyViTConfig(deep=deep, drop_path=drop_path):
            return TinyViT(width=config.width, deep=deep, drop_path=drop_path)
        case VideoSwinConfig(width=channels, depths=depths, heads=heads):
            return VideoSwin(width=config.width, channels=channels, depths=depths, heads=heads, has_early=needs_early)
        case I3DConfig(scale=scale):
            return I3D(width=config.width, scale=scale, has_early=needs_early)
        case JoinedConfig(what=what, where=where):
            return JoinedEncoder(_visual(what, config), _visual(where, config))


def _load_visual(encoder: VisualEncoder, settings: VisualConfig) -> None:
    """Fill the encoder, or both of a joined one, where the settings name weights."""
    if isinstance(settings, JoinedConfig):
        assert isinstance(encoder, JoinedEncoder)
        _load_visual(encoder.what, settings.what)
        _load_visual(encoder.where, settings.where)
    elif settings.pretrained is not None:
        load_pretrained(encoder, settings.pretrained)


def _word_vectors(model: Locater) -> PretrainedEmbedding:
    assert isinstance(model.text, LSTMEncoder) and isinstance(model.text.embedding, PretrainedEmbedding)
    return model.text.embedding


def _name_classes(model: Locater) -> None:
    """Give each class that the visual encoder recognises the meaning of its name."""
    what = model.visual.what if isinstance(model.visual, JoinedEncoder) else model.visual
    if not isinstance(what, EfficientNetLite) or what.recogniser is None:
        return
    vectors = _word_vectors(model)
    names = [vectors.meaning(name) for name in class_names()]
    with torch.no_grad():
        what.recogniser.meanings.weight.copy_(torch.stack(names, dim=1))


def _text(config: ModelConfig, text_model: "tuple[PreTrainedModel, PreTrainedTokenizerBase] | None") -> TextEncoder:
    match config.text:
        case VectorsConfig(vocabulary=vocabulary) as text:
            pretrained = PretrainedEmbedding(
                Vocabulary(vocabulary), text.words, text.vector_width, text.letters, text.embedding_width, text.forget
            )
            return LSTMEncoder(pretrained, config.width, text.max_words)
        case LSTMConfig(vocabulary=vocabulary, embedding_width=embedding_width, max_words=max_words):
            return LSTMEncoder(LearnedEmbedding(Vocabulary(vocabulary), embedding_width), config.width, max_words)
        case HuggingFaceConfig(max_words=max_words, max_tokens=max_tokens):
            assert text_model is not None
            return HuggingFaceEncoder(*text_model, config.width, max_words, max_tokens)
        case WordPiecesConfig():
            raise TypeError("word pieces are read by the authors' network alone")


# ---- Sizes, known without building anything --------------------------------------------------------------------------


def least_numbers(config: ModelConfig) -> int:
    """As many numbers as its matrices have for certain; biases, norms, stems and heads come on top."""
    squared = config.width**2
    blocks = config.memory.refine_blocks
    if config.fusion.kind == "transformer":
        blocks += 2 * config.fusion.modules  # a block for both directions (Eq. 3, 4)
    return _of_vision(config.visual) + _of_text(config) + _OF_A_BLOCK * squared * blocks


def _of_vision(visual: VisualConfig) -> int:
    if isinstance(visual, JoinedConfig):
        return _of_vision(visual.what) + _of_vision(visual.where)
    if isinstance(visual, ViTConfig):
        return _OF_A_BLOCK * visual.width**2 * visual.depth
    return 0  # of one size each


def _of_text(config: ModelConfig) -> int:
    text = config.text
    if not isinstance(text, LSTMConfig):
        return 0  # a folder beside the config describes it
    half = config.width // 2
    lstm = 2 * 4 * half * (text.embedding_width + half)
    table = text.words * text.vector_width + text.letters if isinstance(text, VectorsConfig) else 0
    return lstm + table + len(text.vocabulary) * text.embedding_width
