"""Can a write rule hold what only time tells? The memory alone, on token videos, with no vision to learn.

    python -m experiments.memory_alone [--steps 1200] [--seeds 1] [--only compete]

A token video has 25 patches and 5 frames and shows two twins. *motion*: one goes right, the other left, and the word
says which is meant in the last frame. *late event*: both stand still, one changes in the last frame, and the word asks
for it in the first. Every frame is written to the global memory (Eq. 5 or its variants), the asked frame reads it
(Eq. 7, 8), and a linear layer marks patches. Printed is how often the right twin is marked higher; chance is .50.
"""

import argparse
import statistics
import sys
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.machine import machine
from locater.model.memory import LocalGlobalMemory, WriteRule
from locater.model.transformer import EncoderBlock

SIDE, FRAMES, WIDTH, BATCH = 5, 5, 48, 64
PATCHES = SIDE**2
TASKS = ("motion", "late event")


class TokenReader(nn.Module):
    """Tokens embedded, written, read and marked."""

    def __init__(self, variant: "Variant") -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(4, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.position = nn.Parameter(torch.randn(PATCHES, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        refine = [EncoderBlock(WIDTH, 4) for _ in range(variant.refine_blocks)]
        cells = 3 * PATCHES // 2
        self.memory = LocalGlobalMemory(
            WIDTH, cells, 0, variant.rule, variant.heads, variant.time_embedding, False, refine=refine
        )
        write = self.memory.global_write
        if variant.is_random and write is not None:
            write.from_values.reset_parameters()
            nn.init.normal_(write.gate.weight, std=WIDTH**-0.5)
        self.mark = nn.Linear(WIDTH, 1)

    def forward(self, tokens: Tensor, asked: int) -> Tensor:
        """Logits (B, P) of the asked frame of tokens (B, T, P, 4)."""
        values = self.norm(self.embed(tokens) + self.position)  # (B, T, P, D)
        seconds = torch.arange(FRAMES) / 2
        times = torch.stack([seconds, torch.arange(FRAMES) / FRAMES], dim=-1).expand(len(tokens), -1, -1)
        positioned = self.memory.add_positions(values, times, (SIDE, SIDE))
        global_cells, local_cells = self.memory.initial_state(len(tokens))
        global_cells = self.memory.write_global(positioned, global_cells)
        remembered = self.memory.read_global(values, positioned, global_cells)
        context = self.memory.read(remembered[:, asked], positioned[:, asked], local_cells)
        return self.mark(context).squeeze(-1)  # type: ignore[no-any-return]


def token_videos(task: str, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, int]:
    """Tokens (B, T, P, 4): object, changed, and the word twice; the right and wrong twin's patch; the asked frame."""
    rows = torch.stack([torch.randperm(SIDE, generator=generator)[:2] for _ in range(BATCH)])  # a row each
    word = torch.randint(2, (BATCH,), generator=generator)
    tokens = torch.zeros(BATCH, FRAMES, PATCHES, 4)
    tokens[..., 2] = word[:, None, None].float()
    tokens[..., 3] = 1 - tokens[..., 2]
    batch = torch.arange(BATCH)
    if task == "motion":
        # Both end at a column of their own choice, so that the last frame alone says nothing.
        ends = torch.randint(SIDE, (BATCH, 2), generator=generator)
        for twin, step in ((0, 1), (1, -1)):
            for t in range(FRAMES):
                column = (ends[:, twin] - step * (FRAMES - 1 - t)) % SIDE
                tokens[batch, t, rows[:, twin] * SIDE + column, 0] = 1
        places = rows * SIDE + ends
        right = places.gather(1, word[:, None])[:, 0]
        return tokens, right, places.gather(1, 1 - word[:, None])[:, 0], FRAMES - 1
    places = rows * SIDE + torch.randint(SIDE, (BATCH, 2), generator=generator)
    for twin in (0, 1):
        tokens[batch, :, places[:, twin], 0] = 1
    tokens[batch, FRAMES - 1, places[:, 0], 1] = 1
    # The word is 1: the twin that changes is meant; 0: the other.
    right = places.gather(1, 1 - word[:, None])[:, 0]
    return tokens, right, places.gather(1, word[:, None])[:, 0], 0


def learned(task: str, model: TokenReader, steps: int, seed: int) -> float:
    """How often the trained model marks the right twin higher, on new videos."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        tokens, right, _, asked = token_videos(task, generator)
        loss = F.cross_entropy(model(tokens, asked), right)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    wins = []
    with torch.no_grad():
        for _ in range(20):
            tokens, right, wrong, asked = token_videos(task, generator)
            logits = model(tokens, asked)
            wins.append((logits.gather(1, right[:, None]) > logits.gather(1, wrong[:, None])).float().mean().item())
    return statistics.fmean(wins)


@dataclass(frozen=True)
class Variant:
    """What is compared."""

    rule: WriteRule
    heads: int = 1
    time_embedding: bool = True
    refine_blocks: int = 0
    is_random: bool = False  # W_v and W_o start at random, not as identities


VARIANTS = {
    "paper, as printed": Variant("paper", time_embedding=False),
    "paper, time": Variant("paper"),
    "sum, time": Variant("sum"),
    "compete, time, random start": Variant("compete", is_random=True),
    "compete, time, 4 heads, random start": Variant("compete", heads=4, is_random=True),
    "compete": Variant("compete", time_embedding=False),
    "compete, time": Variant("compete"),
    "compete, time, 4 heads": Variant("compete", heads=4),
    "compete, time, 4 heads, refined": Variant("compete", heads=4, refine_blocks=1),
}


def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="variants whose name holds this")
    arguments = parser.parse_args()
    print(machine())
    print(f"{arguments.steps} steps of {BATCH} videos, {arguments.seeds} seeds; the right twin is marked higher:")
    print(f"{'write':<38}" + "".join(f"{task:>14}" for task in TASKS))
    for name, variant in VARIANTS.items():
        if arguments.only not in name:
            continue
        cells = []
        for task in TASKS:
            scores = []
            for seed in range(arguments.seeds):
                torch.manual_seed(seed)
                scores.append(learned(task, TokenReader(variant), arguments.steps, seed))
            cells.append(f"{statistics.fmean(scores):.2f}")
        print(f"{name:<38}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
