"""Cost of each interface of a farm: steps per second, relative to integer actions.

    python -m experiments.speed.interface_ratios [--out FILE]

One farm is stepped with integers, with the action wrappers for learners, with `MultiUnion[m]` gym actions and with the
paper's tuples, in interleaved blocks, so that the ratios hold even on a busy machine. Compilation is not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.farm import BasicRule, Farm, Field, Plant, Soil, Weather, wrap_actions
from harvestgym.gym.env import GymEnv

ACTIONS, BLOCKS = 200, 30
FREE = [("Field-0", "Soil-0", "available_Water#L", []), ("Field-0", "Plant-0", "stage", [])]


def farm(mode: str) -> Farm:
    """Return a farm with one plot of beans on clay and a long horizon."""
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30}
    shape = {"length#nb": 1, "width#nb": 1, "scale#m": 1.0}
    field = Field(place, shape, entities=[(Weather, "montpellier"), (Soil, "clay"), (Plant, "bean")])
    return Farm([field], rules=BasicRule(free_observations=FREE, horizon=10**6), mode=mode)


def ways(mode: str) -> dict[str, tuple[Any, Callable[[Any], Any], list[Any]]]:
    """Return the environment, its step function and the actions of all blocks, by interface."""
    game, farmgym = farm(mode), farm(mode)
    plain = GymEnv(game.model)
    out: dict[str, tuple[Any, Callable[[Any], Any], list[Any]]] = {"integers": (plain, plain.step, _draws(plain))}
    for kind in ("discrete", "multidiscrete", "box"):
        env = GymEnv(wrap_actions(game.model, kind))
        out[kind] = (env, env.step, _draws(env))
    actions = _draws(game)
    out["gym_step"] = (game, game.gym_step, actions)
    out["farmgym_step"] = (farmgym, farmgym.farmgym_step, [game.gymaction_to_farmgymaction(a) for a in actions])
    return out


def _draws(env: Any) -> list[Any]:
    env.action_space.seed(0)
    return [env.action_space.sample() for _ in range(ACTIONS * BLOCKS)]


def seconds(env: Any, step: Callable[[Any], Any], actions: list[Any], block: int) -> float:
    """Return the seconds per step over a block."""
    env.reset(seed=block)
    mine = actions[ACTIONS * block : ACTIONS * (block + 1)]
    start = time.perf_counter()
    for action in mine:
        step(action)
    return (time.perf_counter() - start) / len(mine)


def measured(mode: str) -> dict[str, dict[str, float]]:
    """Return the steps per second and the ratio to integers, as medians over interleaved blocks except the first."""
    interfaces = ways(mode)
    runs = [{name: seconds(*way, block) for name, way in interfaces.items()} for block in range(BLOCKS)][1:]
    took = {name: float(np.median([run[name] for run in runs])) for name in interfaces}
    ratio = {name: float(np.median([run["integers"] / run[name] for run in runs])) for name in interfaces}
    return {name: {"steps/s": 1 / took[name], "of integers": ratio[name]} for name in interfaces}


def main() -> None:
    """Print the figures as JSON, or write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="a file for the JSON")
    out = parser.parse_args().out
    figures = {"jax": jax.__version__, "device": str(jax.devices()[0])} | {m: measured(m) for m in ("po", "fo", "ao")}
    text = json.dumps(figures, indent=2) + "\n"
    if out is None:
        sys.stdout.write(text)
    else:
        out.write_text(text)


if __name__ == "__main__":
    main()
