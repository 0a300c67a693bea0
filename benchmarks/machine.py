"""Says where a benchmark's numbers come from."""

import platform
import subprocess
from pathlib import Path

import torch

import locater


def machine() -> str:
    """Where these numbers come from."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return (
        f"{platform.system()} {platform.machine()}, {_processor()}, {torch.get_num_threads()} threads; {gpu}; "
        f"Python {platform.python_version()}, torch {torch.__version__}, "
        f"locater {locater.__version__} at {commit or 'no commit'}"
    )


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
