"""What every worker of a job is told, and what of it decides the results."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from locater.batch.manifest import Named
from locater.io.digests import digest_of, text_digest
from locater.model.checkpoint import CARD, find_checkpoint

_HASH = 32  # letters of a hash that are kept: 128 bits


class Settings(BaseModel):
    """The settings of a job."""

    model_config = ConfigDict(frozen=True, strict=True)

    checkpoint: str
    weights: str  # the checkpoint's hash
    precision: str
    threshold: float | None
    formats: tuple[str, ...]
    anyway: bool
    save_every: float = 10.0  # seconds of work on one video that a lost worker may cost
    most_tries: int = 3  # deaths of workers at one place of a video until it is given up
    replaces: bool = False  # results of other sentences, settings or content

    def asked(self, row: Named) -> str:
        """A hash of all that decides a row's results, but for the video's content."""
        decide = self.model_dump_json(include={"weights", "precision", "threshold", "formats", "anyway"})
        return text_digest(decide, *row.sentences)[:_HASH]


def key_of(asked: str, content: str) -> str:
    """What a finished result is known by: the content, the sentences, the checkpoint and the settings."""
    return text_digest(asked, content)[:_HASH]


def checkpoint_digest(checkpoint: str) -> str:
    """The hash of a checkpoint's files; its card is for people, and may change."""
    return digest_of(find_checkpoint(checkpoint), leaving_out=[CARD])[:_HASH]


def shared_name(checkpoint: str) -> str:
    """How every machine calls a checkpoint: a folder by its whole path, a shipped or hub name as it is."""
    return str(Path(checkpoint).resolve()) if Path(checkpoint).is_dir() else checkpoint
