"""What a clip may be, and how many there may be at a time."""

from dataclasses import dataclass

from locater.video.guarded import limits as guarded


@dataclass(frozen=True)
class Limits:
    """Bounds on what people upload, and on how long it is kept."""

    upload_bytes: int = 512 * 2**20
    seconds: float = 600.0
    pixels: int = 9_000_000  # of a frame: 4096 x 2160 and a little
    memory_bytes: int = 2 * 2**30  # of a process that decodes one clip, beside what it starts with
    clips: int = 32  # open at a time
    clips_of_a_client: int = 4
    running: int = 4  # clips that take turns at the network; those after them wait in line
    away_seconds: float = 600.0  # that a clip is kept while no tab shows it
    leaving_seconds: float = 20.0  # likewise, when its tab said goodbye; a reloaded page is back sooner
    stall_seconds: float = 30.0  # that a clip's decoder may stand still

    @property
    def of_a_clip(self) -> guarded.Limits:
        """What one clip may be, whatever its header says of its length."""
        return guarded.Limits(
            pixels=self.pixels,
            memory_bytes=self.memory_bytes,
            stall_seconds=self.stall_seconds,
            frames=int(self.seconds * 120),
            seconds=self.seconds,
            taker="this page takes up to",
            remedy="or use the command line, which takes more.",
        )


MOST_SENTENCES = 8  # a bit of a mask picture's byte each
LONGEST_SENTENCE = 200  # characters
MOST_CLICKS = 200
