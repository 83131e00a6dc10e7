"""Interfaces and wrappers, and the stand-ins for the Forager package, refuse wrong arguments in clear words."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest

import harvestgym
from harvestgym.adapters.pettingzoo import make_shared_water
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import Flatten, Log, TimeLimit
from harvestgym.farm import MapFarm
from harvestgym.forager import drop_in
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv

from ..long_form import ALL
from ..wrong_values import build_or_refuse, draw_arguments

CASES = 2_500 if ALL else 150

FISHERY, FARM = harvestgym.make("fishing/logistic-v0"), harvestgym.make("farm/bean-1x1-v0")
TYPES = {"wall": drop_in.Wall}

RIGHT: dict[Any, dict[str, Any]] = {
    GymEnv: {"env": FISHERY}, VecEnv: {"env": FISHERY, "num_envs": 2},
    TimeLimit: {"env": FISHERY, "steps": 5}, Log: {"env": FISHERY},
    Flatten: {"env": FISHERY}, MapFarm: {"env": FARM},
    make_shared_water: {}, drop_in.ForagerConfig: {"size": 9, "object_types": TYPES},
    drop_in.ForagerEnv: {"config": drop_in.ForagerConfig(9, TYPES)}, drop_in.Palette: {"classes": 3},
    drop_in.Wall: {}, drop_in.ForagerObject: {},
}  # fmt: skip
"""Arguments of each class or function that are right; those left out have defaults."""

LARGE = ("num_envs",)
"""Arguments whose largest valid values would take all memory."""


def test_every_constructor_refuses_or_builds() -> None:
    rng, made = random.Random(1), 0
    for _ in range(CASES):
        cls = rng.choice([*RIGHT])
        names = [name for name in inspect.signature(cls).parameters if name not in ("overrides", *LARGE)]
        given = draw_arguments(rng, names, RIGHT[cls])
        made += build_or_refuse(lambda cls=cls, given=given: cls(**given), given) is not None
    assert CASES / 100 < made < CASES / 2


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: GymEnv("fishing/logistic-v0"), r"GymEnv > env: expected an object of the class Env, .* try"),  # type: ignore[arg-type]
        (lambda: GymEnv(FISHERY, 3), "GymEnv > params: expected an object of the class FishingParams, got 3"),
        (lambda: GymEnv(FISHERY).reset(options={"params": 3}), "params: expected an object of the class FishingParams"),
        (lambda: harvestgym.save(GymEnv(FISHERY), "docs"), "docs: expected a file, got a folder"),
        (lambda: harvestgym.make("forager/two-biome-v0", hint=3), "hint: expected a list, got 3"),
        (lambda: harvestgym.make("fishing/logistic-v0", noise="none"), "noise: expected a mapping {name: value}, got"),
        (lambda: harvestgym.make("farm/full-3x4-v0", horizn=3), "try rules={'horizon#day': ...}"),
        (lambda: harvestgym.make("farm/bean-1x1-v0", weather="lille"), "try entities={'Weather-0': ...}"),
        (lambda: harvestgym.make("farm/full-3x4-v0", render_mode="human"), "try gymnasium.make"),
        (lambda: harvestgym.make("farm/nope"), "try `harvestgym list`"),
        (lambda: harvestgym.make("full-3x4"), "try 'farm/full-3x4-v0'"),
        (lambda: VecEnv(FISHERY, 2**40), "num_envs: expected an integer, 1 or more"),
        (lambda: TimeLimit(FISHERY, 0), "TimeLimit: 1 mistake\n  steps: expected greater than or equal to 1, got 0"),
        (lambda: MapFarm(FISHERY), "MapFarm > env: expected an object of the class FarmModel"),  # type: ignore[arg-type]
        (lambda: drop_in.ForagerConfig("9", TYPES), "size: expected a valid integer"),
        (lambda: drop_in.Wall("here"), "Wall: 1 mistake\n  location: expected"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_mistakes_are_named(build: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build()


def test_short_forms_are_accepted() -> None:
    """One number for two equal sides, and the start of a fishery by its name in `FishingEnv`."""
    world = harvestgym.make("forager/two-biome-v0", aperture=5, size=20)
    assert world.aperture == (5, 5) and "20 x 20" in repr(world)  # type: ignore[attr-defined]
    assert harvestgym.make("fishing/logistic-v0", s0=0.5).params.start == 0.5
