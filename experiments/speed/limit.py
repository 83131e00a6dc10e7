"""The limit set by the machine: the arithmetic of one plot's day as a scalar loop in numba, without an engine.

    python -m experiments.speed.limit > experiments/results/limit.json

It matches a step of `farm/full-1x1-v0` in cost, not in meaning: per day, it has as many exponentials, uniforms and
binomials as that step has in its jaxpr, and reads and writes as many numbers as the farm's state has. The time that a
compiled rollout takes beyond this is the cost of the engine. Both run in turns, and the time is that of the CPU in all
threads, which depends less on other programs than the time of the clock.
Binomials are drawn by inversion from 0, the fastest method for few trials.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import numba
import numpy as np

from experiments.speed.interfaces import PREPARE, ROLLOUT
from harvestgym import registry
from harvestgym.farm.engine.field_day import draw_day

ID, FARMS, ROUNDS = "farm/full-1x1-v0", 4096, 40
EXPONENTIALS = ("exp", "exp2", "expm1", "log", "log1p", "pow", "sin", "cos", "tan", "tanh", "atanh", "logistic")
"""The operations of JAX that count as an exponential."""
BINOMIAL = "binomial"
"""The name of the jitted function that draws binomials; its inside is not counted."""
TRIALS, CHANCE = 20, 0.1
GOLDEN = 0x9E3779B97F4A7C15


def count_step(id: str) -> dict[str, int]:
    """Count the random numbers and exponentials of one step of a farm, and the numbers of its state."""
    env: Any = registry.make(id)
    key = jax.random.key(0)
    state, _ = jax.eval_shape(env.reset, key, env.params)
    computed = _count(jax.make_jaxpr(env.step)(key, state, np.int32(0), env.params).jaxpr)
    return {
        "exponentials": sum(computed[name] for name in EXPONENTIALS),
        "uniforms": _size(jax.eval_shape(draw_day, key, env.fields)),
        "binomials": computed[BINOMIAL],
        "numbers": _size(state),
    }


def _count(jaxpr: Any) -> Counter[str]:
    """Count the numbers that each operation computes; only the longest branch of a condition counts."""
    counts: Counter[str] = Counter()
    for equation in jaxpr.eqns:
        parts = (getattr(part, "jaxpr", part) for part in jax.tree.leaves(equation.params))
        inside = [part for part in parts if hasattr(part, "eqns")]
        name = BINOMIAL if equation.params.get("name") == BINOMIAL else equation.primitive.name
        if not inside or name == BINOMIAL:
            counts[name] += sum(out.aval.size for out in equation.outvars)
        else:
            longest = max(map(_count, inside), key=Counter.total)
            counts.update({name: n * equation.params.get("length", 1) for name, n in longest.items()})
    return counts


def _size(tree: Any) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


@numba.njit(inline="always")
def uniform(word):
    """Return the next word of SplitMix64 (Steele, Lea and Flood 2014) and its uniform in [0, 1)."""
    word += np.uint64(GOLDEN)
    z = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word, np.float32((z ^ (z >> np.uint64(31))) >> np.uint64(40)) * np.float32(2.0**-24)


@numba.njit(inline="always")
def binomial(u, n, p):
    """Return the number of successes in `n` trials, by inversion from 0."""
    mass, odds, count = (1 - p) ** n, p / (1 - p), 0
    while u > mass and count < n:
        u -= mass
        mass *= (n - count) * odds / (count + 1)
        count += 1
    return count


def make_days(exponentials: int, uniforms: int, binomials: int, numbers: int) -> Callable[..., None]:
    """Return a function that simulates days with so many operations on farms with so many numbers."""

    @numba.njit(parallel=True, fastmath=True)
    def live(states, words, days):
        for farm in numba.prange(states.shape[0]):
            state, word = states[farm], words[farm]
            for _ in range(days):
                total = np.float32(0)
                for _ in range(uniforms):
                    word, u = uniform(word)
                    total += u
                for i in range(exponentials):
                    state[i] = math.exp(-abs(state[i]) - np.float32(0.01) * total)
                for i in range(binomials):
                    word, u = uniform(word)
                    state[i] += binomial(u, TRIALS, np.float32(CHANCE))
                for i in range(exponentials, numbers):
                    state[i] = np.float32(0.9) * state[i] + total
            words[farm] = word

    return live


def main() -> None:
    """Print the figures as JSON."""
    day = count_step(ID)
    live, (roll, steps) = make_days(**day), PREPARE[ROLLOUT](ID, FARMS)
    states, words = np.ones((FARMS, day["numbers"]), np.float32), np.arange(FARMS, dtype=np.uint64)
    calls, best = {"limit": lambda: live(states, words, steps // FARMS), "rollout": roll.run}, {}
    for _ in range(1 + ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best.get(name, math.inf), time.process_time() - start)
    times = {f"CPU us a step of the {name}": round(1e6 * seconds / steps, 3) for name, seconds in best.items()}
    ratio = round(best["limit"] / best["rollout"], 3)
    figures = {"a step": day, "farms": FARMS, "threads": numba.get_num_threads(), **times, "ratio": ratio}
    json.dump(figures, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
