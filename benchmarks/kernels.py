"""Count the kernels, fusions, loops and reductions of the compiled day of one environment, and their cost.

    python benchmarks/kernels.py [ID ...] > benchmarks/results/kernels.json

A kernel is launched by itself, which costs about half a microsecond on a CPU; fusions inside one kernel are free.
Reductions count too: each makes several allocations a call. `us a call` is the compiled step from Python, its
buffers packed; `us a day` is a day inside a compiled loop, without what a call costs: the arithmetic.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import harvestgym
from harvestgym.core.packing import layout_of
from harvestgym.core.xla.compilation import CACHE_VARIABLE
from harvestgym.gym.driver import compile_functions

DAYS = 200
WITHIN = ("fusion", "while", "conditional", "call", "reduce", "reduce-window", "scatter", "sort", "dot", "copy")
FREE = ("parameter", "constant", "tuple", "get-tuple-element", "bitcast")
OPERATION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = .*? ([a-z][\w\-]*)\(")


def operations(text: str) -> Counter[str]:
    """Return how often each operation stands in a piece of HLO."""
    return Counter(found[1] for line in text.splitlines() if (found := OPERATION.match(line)))


def counts(text: str) -> dict[str, int]:
    """Kernels that are launched one by one, and operations of the whole program."""
    launched = operations(text[text.index("\nENTRY ") :])
    inside = operations(text)
    return {"launched": sum(n for name, n in launched.items() if name not in FREE)} | {n: inside[n] for n in WITHIN}


def fastest(function: Callable[[], Any], seconds: float = 2.0) -> float:
    """Seconds of the fastest of many calls, which another program on the machine disturbs least."""
    function()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - start)
    return min(times)


def measure(id: str) -> dict[str, Any]:
    """Counts and times of the day of one environment, with action 0."""
    env = harvestgym.make(id)
    layout = layout_of(env.params)
    given, functions = layout.put(env.params), compile_functions(env, layout, ())
    run, _ = functions.start(functions.run.zeros(), given, np.uint32(0), np.bool_(True), np.bool_(True))
    action = np.zeros(env.action_space.shape or (), np.int32)[()]
    start = time.perf_counter()
    step = functions.step
    step.compile(run, given, action)
    compiling = time.perf_counter() - start

    @jax.jit
    def season(run: Any, given: Any, action: Any) -> Any:
        return jax.lax.fori_loop(0, DAYS, lambda _, now: step(now, given, action)[0], run)

    return counts(step.text(run, given, action)) | {
        "compile s": round(compiling, 2),
        "us a call": round(1e6 * fastest(lambda: step(run, given, action)), 1),
        "us a day": round(1e6 * fastest(lambda: season(run, given, action)) / DAYS, 2),
    }


def main() -> None:
    """Print the figures as JSON."""
    os.environ[CACHE_VARIABLE] = "off"  # what comes from a cache has no text
    ids = sys.argv[1:] or ["farm/bean-clay-1x1-v0", "farm/full-1x1-v0", "farm/full-3x4-v0", "farm/full-10x10-v0"]
    json.dump(
        {"jax": jax.__version__, "device": str(jax.devices()[0])} | {i: measure(i) for i in ids}, sys.stdout, indent=2
    )
    print()


if __name__ == "__main__":
    main()
