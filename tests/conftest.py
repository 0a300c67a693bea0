"""What every test shares."""

import os

# The tests run side by side, one process per core; threads that wait for each other on busy cores take far longer.
os.environ["OMP_NUM_THREADS"] = "1"  # for the commands that tests start, too

import pytest
import torch

torch.set_num_threads(1)


def pytest_configure(config: pytest.Config) -> None:
    """Real files, which some tests need, lie beside the project unless the environment says where."""
    os.environ.setdefault("LOCATER_DATA", str(config.rootpath.parent / "shared" / "data"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow ones first, and whoever is idle takes over others: none is waited for at the end (`--dist worksteal`)."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
