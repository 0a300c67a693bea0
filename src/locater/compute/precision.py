"""Which precision computes: its names for users, its types for PyTorch."""

from typing import Final, Literal, get_args

import torch

from locater.errors import LocaterError

Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
AUTO: Final = "auto"  # what the device computes soonest at the same masks
# As accelerate and `training.precision` call them.
MIXED_PRECISIONS = {"no": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def find_precision(name: str | None, device: torch.device) -> Precision:
    """The precision of that name; without one bfloat16 on a GPU and float32 elsewhere.

    `auto` is bfloat16 on a CPU too, where that has instructions for it: elsewhere it would be slower than float32.
    """
    is_low = device.type == "cuda" or (name == AUTO and device.type == "cpu" and has_bfloat16_products())
    chosen = name if name not in (None, AUTO) else "bfloat16" if is_low else "float32"
    for known in PRECISIONS:
        if known == chosen:
            if known == "float16" and device.type == "cpu":  # torch's CPU has no LSTM in it
                raise LocaterError("float16 needs a GPU; on the CPU choose bfloat16 or float32.")
            return known
    raise LocaterError(f"There is no precision '{chosen}'; choose one of {', '.join((AUTO, *PRECISIONS))}.")


def has_bfloat16_products() -> bool:
    """Whether this machine's CPU multiplies bfloat16 by itself: AVX512-BF16 (AMD since Zen 4, Intel's servers), AMX."""
    told = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return bool(told.get("avx512_bf16") or told.get("amx_bf16"))


def dtype_of(precision: Precision) -> torch.dtype:
    """The precision as PyTorch names it."""
    dtype: torch.dtype = getattr(torch, precision)
    return dtype


def mixed(precision: str, device: torch.device) -> torch.autocast:
    """The context in which a network computes in one of `MIXED_PRECISIONS`."""
    return torch.autocast(device.type, MIXED_PRECISIONS[precision], enabled=precision != "no")
