"""Exact large reductions on CPUs: XLA does not give them to its experimental library of kernels (YNNPACK).

Internals: the XLA flag `xla_cpu_experimental_ynn_fusion_type`, in the environment variable `XLA_FLAGS`, which XLA
reads when the first program is compiled.
Gain: correct numbers. In JAX 0.8 to 0.10, XLA's CPU compiler replaces reductions of 4,096 elements and more by calls of
that library, and some of these give wrong numbers in a loop. 4,096 fisheries of `fishing/walleye-v0` in one batch then
differ from the same fisheries in batches of 512, up to NaN (`tests/core/xla/test_library_fusions.py`).
Rollouts of full-1x1, full-3x4 and walleye are 4 to 33 % faster as well.
Without it: such batches are wrong. The flag has no effect once a program was compiled: import `harvestgym` first.

This module does not import JAX: it runs when `harvestgym` is imported.
"""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, version

from .fallback import is_enabled

FLAG = "xla_cpu_experimental_ynn_fusion_type"

AFFECTED = ((0, 8), (0, 11))
"""First version of jaxlib with the flag, and the first one that was not tried: XLA stops at a flag it does not know."""


def disable_library_fusions() -> None:
    """Add the flag to `XLA_FLAGS`, unless the user has set it."""
    flags = os.environ.get("XLA_FLAGS", "")
    if is_enabled() and FLAG not in flags and AFFECTED[0] <= _find_jaxlib() < AFFECTED[1]:
        os.environ["XLA_FLAGS"] = f"{flags} --{FLAG}=".strip()


def takes_reductions() -> bool:
    """Return whether XLA gives large reductions to its library: newer versions do, unless the flag disables it."""
    disabled = f"--{FLAG}=" in os.environ.get("XLA_FLAGS", "").split()
    return not disabled and _find_jaxlib() >= AFFECTED[0]


def _find_jaxlib() -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version("jaxlib").split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return (0, 0)
