"""Exact large reductions on CPUs: XLA does not give them to its experimental library of kernels (YNNPACK).

Internals: the XLA flag `xla_cpu_experimental_ynn_fusion_type`, in the environment variable `XLA_FLAGS`, which XLA
reads when the first program is compiled.
Gain: correct numbers. In JAX 0.8 to 0.10, XLA's CPU compiler replaces reductions of 4,096 elements and more by calls of
that library, and some of these give wrong numbers in a loop. 4,096 fisheries of `fishing/walleye-v0` in one batch then
differ from the same fisheries in batches of 512, up to NaN (`tests/core/xla/test_library_fusions.py`).
Rollouts of full-1x1, full-3x4 and walleye are 4 to 33 % faster as well.
Without it: such batches are wrong, so `HARVESTGYM_XLA=off` does not apply. The flag has no effect once a program was
compiled: import `harvestgym` first.

XLA stops at a flag that it does not know, so the flag is not set for a newer jaxlib than those tried. One warning is
logged instead. When the tests of this module pass with a version, raise `AFFECTED` above it.

This module does not import JAX: it runs when `harvestgym` is imported.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import PackageNotFoundError, version

FLAG = "xla_cpu_experimental_ynn_fusion_type"

AFFECTED = ((0, 8), (0, 11))
"""First version of jaxlib with the flag, and the first one that was not tried: XLA stops at a flag it does not know."""


def disable_library_fusions() -> None:
    """Add the flag to `XLA_FLAGS`, unless the user has set it; log a warning for a jaxlib that was not tried."""
    flags, found = os.environ.get("XLA_FLAGS", ""), _find_jaxlib()
    if FLAG in flags or found < AFFECTED[0]:
        return
    if found < AFFECTED[1]:
        os.environ["XLA_FLAGS"] = f"{flags} --{FLAG}=".strip()
        return
    first, untried = (".".join(map(str, each)) for each in AFFECTED)
    text = (
        "core.xla.library_fusions: expected a jaxlib before %s, got %s, with which large batches on CPUs may be wrong; "
        "try jaxlib<%s, or XLA_FLAGS=--%s= if this version knows that flag (%s and later had it)"
    )
    logging.getLogger("harvestgym").warning(text, untried, ".".join(map(str, found)), untried, FLAG, first)


def takes_reductions() -> bool:
    """Return whether XLA gives large reductions to its library: newer versions do, unless the flag disables it."""
    disabled = f"--{FLAG}=" in os.environ.get("XLA_FLAGS", "").split()
    return not disabled and _find_jaxlib() >= AFFECTED[0]


def _find_jaxlib() -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version("jaxlib").split(".")[:2])
    except (PackageNotFoundError, ValueError):
        return (0, 0)
