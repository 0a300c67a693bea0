"""Says where a benchmark's numbers come from."""

from locater.bench.harness.machine import machine_facts


def machine() -> str:
    """Where these numbers come from, on one line."""
    return "; ".join(f"{name}: {fact}" for name, fact in machine_facts().items())
