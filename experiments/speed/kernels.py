"""Count the kernels, fusions, loops and reductions in one environment's compiled day, and time it.

    python -m experiments.speed.kernels [ID ...] > experiments/results/kernels.json

Each kernel is launched separately, which costs about half a microsecond on a CPU; fusions inside a kernel are free.
Reductions matter too, because each makes several allocations per call. `us a call` is the time of the compiled step
called from Python with packed buffers. `us a day` subtracts the time of an empty call with the same buffers, which
leaves the arithmetic.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from typing import Any

import jax

import harvestgym
from experiments.speed.interfaces import CompiledStep
from harvestgym.core.xla.setup import CACHE_VARIABLE

WITHIN = ("fusion", "while", "conditional", "call", "reduce", "reduce-window", "scatter", "sort", "dot", "copy")
FREE = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast")
OPERATION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*? ([a-z][\w\-]*)\(")


def operations(text: str) -> Counter[str]:
    """Return how often each operation occurs in a piece of HLO."""
    return Counter(found[1] for line in text.splitlines() if (found := OPERATION.match(line)))


def counts(text: str) -> dict[str, int]:
    """Count the separately launched kernels, and the operations of the whole program."""
    launched = operations(text[text.index("\nENTRY ") :])
    inside = operations(text)
    return {"launched": sum(n for name, n in launched.items() if name not in FREE)} | {n: inside[n] for n in WITHIN}


def measure(id: str) -> dict[str, Any]:
    """Return counts and times for one environment's day, with an action that does nothing."""
    start = time.perf_counter()
    step = CompiledStep(harvestgym.make(id))
    compiling = time.perf_counter() - start
    call, empty = step.measure()
    times = {"us a call": round(1e6 * call, 1), "us a day": round(1e6 * (call - empty), 2)}
    return counts(step.text()) | {"compile s": round(compiling, 2)} | times


def main() -> None:
    """Print the figures as JSON."""
    os.environ[CACHE_VARIABLE] = "off"  # a cached program has no text
    ids = sys.argv[1:] or ["farm/bean-1x1-v0", "farm/full-1x1-v0", "farm/full-3x4-v0", "farm/full-10x10-v0"]
    json.dump(
        {"jax": jax.__version__, "device": str(jax.devices()[0])} | {i: measure(i) for i in ids}, sys.stdout, indent=2
    )
    print()


if __name__ == "__main__":
    main()
