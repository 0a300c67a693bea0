"""What a training goes on with."""

from pathlib import Path

import torch
from torch import nn

from locater.training.resume import keep_newest, load_state, save_state


def trained_once(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    network = nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.1)
    network(torch.randn(4, 3)).square().mean().backward()
    optimizer.step()
    return network, optimizer


def test_all_comes_back_and_the_next_random_numbers_are_those_that_would_have_come(tmp_path: Path) -> None:
    network, optimizer = trained_once(seed=0)
    save_state(tmp_path, 7, {"model": network}, optimizer, {"scale": 2.0})
    drawn = torch.rand(5)
    other, other_optimizer = trained_once(seed=1)
    assert load_state(tmp_path, {"model": other}, other_optimizer) == (7, {"scale": 2.0})
    assert torch.equal(torch.rand(5), drawn)
    for name, tensor in network.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)
    ours, theirs = (each.state_dict()["state"] for each in (other_optimizer, optimizer))
    for place, values in theirs.items():
        assert all(torch.equal(ours[place][name], value) for name, value in values.items())


def test_only_the_newest_whole_state_is_kept(tmp_path: Path) -> None:
    network, optimizer = trained_once(seed=0)
    assert load_state(tmp_path, {"model": network}, optimizer) == (0, {})
    for step in (1, 2, 10):
        save_state(tmp_path, step, {"model": network}, optimizer, {})
    (tmp_path / "state-00000002" / "progress.json").unlink()  # as a kill leaves one that is being removed
    keep_newest(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["state-00000010"]
