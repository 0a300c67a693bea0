"""Settings of encoders beside those that the paper's text describes, and what all groups of settings share."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1, le=64)]


class Settings(BaseModel):
    """A group of settings that cannot change once made."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class TinyViTConfig(Settings):
    """MobileSAM's TinyViT-5M; `deep` adds its last stage."""

    kind: Literal["tiny_vit"]
    deep: bool = False
    drop_path: float = Field(0.0, ge=0, lt=1)
    pretrained: str | None = None

    @property
    def patch_size(self) -> int:
        """Pixels per side of one output cell."""
        return 16


class VideoSwinConfig(Settings):
    """Video-Swin up to its stride-16 stage, over windows of 16 frames; the defaults are Video-Swin-T's."""

    kind: Literal["video_swin"]
    width: int = Field(96, ge=1, le=1024)  # of its first stage; each further one has twice the channels
    depths: tuple[Count, Count, Count] = (2, 2, 6)
    heads: tuple[Count, Count, Count] = (3, 6, 12)
    pretrained: str | None = None

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        for stage, heads in enumerate(self.heads):
            if self.width * 2**stage % heads:
                raise ValueError(f"width {self.width * 2**stage} of stage {stage + 1} is not a multiple of its heads")
        return self

    @property
    def patch_size(self) -> int:
        """Pixels per side of one output cell."""
        return 16


class I3DConfig(Settings):
    """I3D, the inflated Inception-v1, up to its stride-16 stage, over windows of 16 frames."""

    kind: Literal["i3d"]
    scale: float = Field(1.0, gt=0, le=1)  # of every layer's channels
    pretrained: str | None = None

    @property
    def patch_size(self) -> int:
        """Pixels per side of one output cell."""
        return 16


class WordPiecesConfig(Settings):
    """The text encoder of the authors' code: BERT's word pieces, vectors of its own, a bi-LSTM of several layers."""

    kind: Literal["word_pieces"]
    max_words: int = Field(20, ge=1, le=512)  # pieces, without the two special ones
    embedding_width: int = Field(300, ge=1, le=4096)
    embeddings: int = Field(30_000, ge=5, le=1_000_000)  # rows of the table; pieces past it are unknown
    layers: int = Field(3, ge=1, le=16)
    vocabulary: tuple[str, ...] = Field((), max_length=10**6)  # vocab.txt's lines; it travels with the checkpoint
