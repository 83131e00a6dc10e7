"""Speed of a forager: microseconds per step on the host engine, and steps per second in batches on both engines.

    python -m experiments.speed.forager [--out FILE] [--against NAME]

Machines differ and may be shared, so the result also contains the number of cores and the time of fixed Python and
NumPy loops in the same run. Divide figures from different days by these times before comparing them. `--against` times
another installed implementation, alternating with ours, in the same world of 1000 x 1000 cells. NAME is the import name
of a package with the interface of continual-foragax (`NAME.Env` and `NAME.objects`), such as `forager`, or
`module:factory` for any other: a function of `(size, aperture)` that returns an object with `start()` and
`step(action)`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np

import harvestgym
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.family import build_forager, make
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.object_kinds import Flower, Thorns, Wall

APERTURES = ((7, 5), (15, 15), (31, 31))
SIZE = 1_000_000


class Life(Protocol):
    """An environment that can be timed."""

    def start(self) -> Any: ...

    def step(self, action: int) -> Any: ...


Factory = Callable[[int, tuple[int, int]], Life]


def best(run: Callable[[], Any], times: int = 7) -> float:
    """Return the seconds of the fastest of several runs, the one that other programs slowed down least."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def machine() -> dict[str, float]:
    """Return the number of cores, and the microseconds of a Python loop and a NumPy loop that exceeds the cache."""
    words = np.arange(1_000_000, dtype=np.uint64)
    return {
        "cores": os.cpu_count() or 1,
        "load at the start": os.getloadavg()[0],
        "Python loop us": best(lambda: sum(i * i for i in range(10_000)), 21) * 1e6,
        "NumPy loop us": best(lambda: (words * np.uint64(0x7FEB352D)) ^ (words >> np.uint64(15)), 21) * 1e6,
    }


def original_world(size: int, aperture: tuple[int, int]) -> ForagerEnv:
    """Return the world in which continual-foragax was measured: flower 0.1, wall 0.01, thorns 0.1."""
    return fill(ForagerEnv(ForagerConfig(size, {"flower": Flower, "wall": Wall, "thorns": Thorns}, aperture=aperture)))


def fill(env: Any) -> Any:
    """Fill an environment that has the interface of continual-foragax with the measured world, and return it."""
    for name, freq in (("flower", 0.1), ("wall", 0.01), ("thorns", 0.1)):
        env.generate_objects(freq, name)
    return env


def begun(life: Any) -> Any:
    """Start an episode, and return the environment."""
    life.start()
    return life


def per_step(step: Callable[[int], Any], number: int = 5000) -> float:
    """Return the microseconds of one call of `step` with random actions."""
    actions = np.random.default_rng(0).integers(0, 4, number).tolist()

    def run() -> None:
        for action in actions:
            step(action)

    return best(run) / number * 1e6


def of_the_original(package: str) -> Factory:
    """Return a factory for a package with `Env.ForagerConfig`, `Env.ForagerEnv` and `objects` (continual-foragax)."""
    env, objects = importlib.import_module(f"{package}.Env"), importlib.import_module(f"{package}.objects")

    def life(size: int, aperture: tuple[int, int]) -> Life:
        kinds = {"flower": objects.Flower, "wall": objects.Wall, "thorns": objects.Thorns}
        config = env.ForagerConfig(size=size, object_types=kinds, observation_mode="objects", aperture=aperture)
        return fill(env.ForagerEnv(config))

    return life


def other_implementation(name: str) -> Factory:
    """Return the factory that `--against` names; exit with an error if there is none."""
    module, _, function = name.partition(":")
    try:
        return getattr(importlib.import_module(module), function) if function else of_the_original(module)
    except (ImportError, AttributeError) as error:
        sys.exit(
            f"--against {name}: {error}; install it, or name module:factory, (size, aperture) -> life with "
            "start() and step(action)"
        )


def compared(other: Factory, size: int = 1000) -> dict[str, dict[str, float]]:
    """Return microseconds per step of another implementation and ours in equal worlds, and the ratio, by aperture."""
    out = {}
    for aperture in APERTURES:
        lives = other(size, aperture), original_world(size, aperture)
        theirs, ours = (per_step(begun(life).step) for life in lives)
        out[f"{aperture[0]}x{aperture[1]}"] = {"theirs us": theirs, "ours us": ours, "theirs / ours": theirs / ours}
    return out


def single() -> dict[str, float]:
    """Return the microseconds per step of a single episode, called from Python."""
    out = {}
    for aperture in APERTURES:
        env = begun(original_world(SIZE, aperture))
        out[f"ForagerEnv {aperture[0]}x{aperture[1]}"] = per_step(env.step)
    env = ForagerGym(original_world(SIZE, (15, 15)))
    env.reset(seed=0)
    out["Gymnasium 15x15"] = per_step(env.step)
    return out


FIELD = {
    "doc": "Objects that return in place.",
    "size": [SIZE, SIZE],
    "aperture": [15, 15],
    "kinds": {
        "flower": {"collectable": True, "reward": {"constant": {"value": 1}}},
        "wall": {"blocking": True},
        "thorns": {"reward": {"constant": {"value": -1}}},
    },
    "density": {"flower": 0.1, "wall": 0.01, "thorns": 0.1},
    "capacity": 128,
}


def batched_vector(number: int = 64) -> float:
    """Return the steps per second of many parallel episodes through `harvestgym.make_vec`."""
    many = harvestgym.make_vec("forager/two-biome-v0", number)
    many.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 4, (50, number))

    def run() -> None:
        for row in actions:
            many.step(row)

    return actions.size / best(run)


def batched_jax(model: Any, number: int = 512, steps: int = 100) -> dict[str, float]:
    """Return steps per second under `jit(vmap(scan))`, seconds to compile, and the bytes of one episode's state."""
    params = model.params

    @jax.jit
    def live(keys: jax.Array) -> Any:
        def one(key: jax.Array) -> Any:
            state, _ = model.reset(key, params)

            def step(state: Any, action: jax.Array) -> Any:
                state, now = model.step(key, state, action, params)
                return state, (now.obs.sum(), now.reward)

            end, (seen, paid) = jax.lax.scan(step, state, jax.random.randint(key, (steps,), 0, 4))
            return seen.sum(), paid.sum(), end.events

        return jax.vmap(one)(keys)

    keys = jax.random.split(jax.random.key(0), number)
    start = time.perf_counter()
    compiled = live.lower(keys).compile()
    compiling = time.perf_counter() - start
    seconds = best(lambda: jax.block_until_ready(compiled(keys)), 5)
    state = jax.eval_shape(lambda key: model.reset(key, params)[0], keys[0])
    size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return {"steps/s": number * steps / seconds, "compile s": compiling, "state bytes": size}


def main() -> None:
    """Measure everything, and write it as one JSON object."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path)
    options.add_argument("--against", help="an installed implementation to time next to ours: its import name, or "
                                           "module:factory, (size, aperture) -> life")  # fmt: skip
    chosen = options.parse_args()
    other = other_implementation(chosen.against) if chosen.against else None
    small = FIELD | {"size": [100, 100]}
    result: dict[str, Any] = {
        "machine": machine(),
        "us a step": single(),
        "make_vec of 64 steps/s": batched_vector(),
        "jax two-biome-v0": batched_jax(make("two-biome-v0")),
        "jax two-biome-v0, 15x15": batched_jax(make("two-biome-v0", aperture=[15, 15])),
        "jax 1e6 x 1e6, 15x15": batched_jax(build_forager(FIELD), 256),
        "jax 100 x 100, 15x15": batched_jax(build_forager(small), 256),
    }
    if other is not None:
        result[f"against {chosen.against}, 1000 x 1000"] = compared(other)
    text = json.dumps(result, indent=2)
    if chosen.out:
        chosen.out.write_text(text + "\n")
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    main()
