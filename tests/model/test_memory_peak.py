"""No write ever builds the literal equation's (B, N, P, D) tensor, and its peak memory stays small."""

import pytest
import torch

from experiments import write_memory  # prints these numbers, so that both count alike
from locater.config import preset
from locater.model.build import build
from locater.model.memory import WriteRule

RULES: tuple[WriteRule, ...] = ("paper", "sum", "compete")


def test_the_counter_sees_what_lives_and_what_is_too_large() -> None:
    given = torch.zeros(1000)
    counter = write_memory.LiveTensors()
    with counter:
        first = given + 1  # 4,000 bytes
        view = first.view(10, 100)
        view.mul_(2)
        del first
        wide = view[None].expand(50, -1, -1)  # a view: no bytes
        assert (counter.live, counter.most_elements) == (4_000, 1_000)
        copied = wide * 1.0  # 200,000 bytes, as in the literal equation
        del copied
        assert counter.live == 4_000
    assert (counter.peak, counter.most_elements) == (204_000, 50_000)
    del view, wide
    assert counter.live == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_write_at_the_papers_largest_size_stays_under_100_mb(rule: WriteRule) -> None:
    config = write_memory.paper_at_512(rule)
    assert (config.patches, config.width, config.global_cells, config.local_cells) == (1024, 768, 1536, 2048)
    for name, write in write_memory.writes(config, "cpu").items():
        counter = write_memory.LiveTensors()
        with torch.no_grad(), counter:
            written = write()
        literal = write_memory.literal_elements(config, name)
        assert written.shape == (1, literal // config.patches // config.width, config.width)
        assert written.numel() < counter.most_elements < literal / 100  # it saw the (N, P) gate, and nothing like N P D
        assert 1e6 < counter.peak < 100e6, f"{name}: {counter.peak / 1e6:.1f} MB"


@pytest.mark.parametrize("rule", RULES)
def test_training_builds_no_such_tensor_either(rule: WriteRule) -> None:
    """Forward and backward."""
    config = preset("paper", {"image_size": 256, "memory": {"write": rule}})
    for name, write in write_memory.writes(config, "cpu").items():
        counter = write_memory.LiveTensors()
        with counter:
            write().square().sum().backward()  # type: ignore[no-untyped-call]
        assert 0 < counter.most_elements < write_memory.literal_elements(config, name) / 20


def test_nothing_of_that_size_anywhere_in_a_segmented_frame() -> None:
    """The whole network: two frames encoded, remembered, read and written, as the segmenter runs it."""
    config = preset("tiny", {"image_size": 128, "width": 64, "memory": {"global_ratio": 1.5, "local_ratio": 2.0}})
    model = build(config, seed=0).eval()
    pixels = torch.rand(1, 2, 3, config.image_size, config.image_size)
    times = torch.tensor([[[0.0, 0.0], [0.1, 1.0]]])
    counter = write_memory.LiveTensors()
    with torch.no_grad(), counter:
        words = model.text(model.read(["the dog"]))
        clip = model.fuse(model.visual(pixels), times, words)
        state = model.write_global(clip.positioned[:, [0]], model.initial_state(words))
        for t in range(2):
            _, state = model.step(clip.frame(t), words, state)
    assert 0 < counter.most_elements < config.global_cells * config.patches * config.width / 4
