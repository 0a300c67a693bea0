"""Says where a benchmark's numbers come from."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import torch

import locater

_PACKAGES = ("transformers", "onnxruntime", "av", "numpy", "triton")


def machine_facts() -> dict[str, str]:
    """The machine, the versions and the commit, each by its name."""
    versions = {"Python": platform.python_version(), "torch": torch.__version__, "locater": locater.__version__}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {torch.get_num_threads()} threads",
        "gpu": _gpu(),
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "commit": _commit(),
    }


def _gpu() -> str:
    if not torch.cuda.is_available():
        return "none"
    facts = torch.cuda.get_device_properties(0)
    return f"{facts.name}, {facts.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"


def _commit() -> str:
    """From git, or from the variable LOCATER_COMMIT where the code is a bare copy."""
    told = os.environ.get("LOCATER_COMMIT")
    if told:
        return told
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
    except OSError:  # no git on this machine
        found = ""
    return found or "unknown"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
