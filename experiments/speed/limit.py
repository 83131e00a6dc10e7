"""The limit set by the machine: the arithmetic of one plot's day as a scalar loop in numba, without an engine.

    python -m experiments.speed.limit > experiments/results/limit.json

It matches a day of `farm/full-1x1-v0` in cost, not in meaning: per day, it has as many exponentials, uniforms and
binomials as that farm (`DAY`), and reads and writes as many numbers. The time that the farm takes beyond this is the
cost of the engine. Binomials are drawn by inversion from 0, the fastest method for few trials.
"""

from __future__ import annotations

import json
import math
import sys
import time

import numba
import numpy as np

FARMS, DAYS = 4096, 64
DAY = {"exponentials": 117, "uniforms": 54, "binomials": 12, "numbers": 174}
"""Operations per day of the full farm, counted in its jaxpr; powers, logarithms and sines count as exponentials."""
TRIALS, CHANCE = 20, 0.1
GOLDEN = 0x9E3779B97F4A7C15


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


@numba.njit(parallel=True, fastmath=True)
def live(states, words, days):
    """Simulate `days` days of every farm; `states` has shape (farms, numbers), and each farm has its own generator."""
    for farm in numba.prange(states.shape[0]):
        state, word = states[farm], words[farm]
        for _ in range(days):
            total = np.float32(0)
            for _ in range(DAY_UNIFORMS):
                word, u = uniform(word)
                total += u
            for i in range(DAY_EXPONENTIALS):
                state[i] = math.exp(-abs(state[i]) - np.float32(0.01) * total)
            for i in range(DAY_BINOMIALS):
                word, u = uniform(word)
                state[i] += binomial(u, TRIALS, np.float32(CHANCE))
            for i in range(DAY_EXPONENTIALS, state.size):
                state[i] = np.float32(0.9) * state[i] + total
        words[farm] = word


DAY_UNIFORMS, DAY_EXPONENTIALS, DAY_BINOMIALS = (DAY[name] for name in ("uniforms", "exponentials", "binomials"))


def measure(farms: int) -> float:
    """Return the days per second of the best of ten runs."""
    states, words = np.ones((farms, DAY["numbers"]), np.float32), np.arange(farms, dtype=np.uint64)
    live(states, words, 1)
    days, best = DAYS * FARMS // farms, math.inf
    for _ in range(10):
        start = time.perf_counter()
        live(states, words, days)
        best = min(best, time.perf_counter() - start)
    return farms * days / best


def main() -> None:
    """Print the figures as JSON."""
    figures = {
        "a day": DAY,
        "threads": numba.get_num_threads(),
        "days/s of one farm": round(measure(1)),
        f"days/s of {FARMS} farms": round(measure(FARMS)),
    }
    json.dump(figures, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
