"""A copy of an environment in mid-episode, in every interface, continues exactly as the original."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.farm import BasicRule, Farm, Field, Plant, Soil, Weather
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.forager.shared_world import SharedWorld
from harvestgym.gym.pettingzoo_env import ParallelEnv
from harvestgym.render.monitor_readings import sum_value
from tests.long_form import long

STEPS = 5
FISHERY, FARM, PAID, FORAGER = (
    "fishing/may-v0",
    "farm/bean-1x1-v0",
    "farm/paid-looks-1x1-v0",
    "forager/two-biome-v0",
)


def make_farm() -> Farm:
    place, shape = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}, {"length#nb": 2, "width#nb": 1}
    field = Field(place, shape, [(Weather, "montpellier"), (Soil, "loam"), (Plant, "bean")])
    return Farm([field], rules=BasicRule(max_action_schedule_size=2))


def make_sb3() -> Any:
    pytest.importorskip("stable_baselines3")
    from harvestgym.adapters.sb3 import SB3VecEnv

    return SB3VecEnv(harvestgym.make(FISHERY), 2)


MAKERS: dict[str, Callable[[], Any]] = {
    "fishery": lambda: gymnasium.make(FISHERY, render_mode="rgb_array"),
    "farm": lambda: gymnasium.make(FARM),
    "paid observations": lambda: gymnasium.make(PAID),
    "forager": lambda: gymnasium.make(FORAGER, render_mode="rgb_array"),
    "vector of fisheries": lambda: harvestgym.make_vec(FISHERY, 3, render_mode="svg"),
    "vector of farms": lambda: harvestgym.make_vec(FARM, 2),
    "vector of foragers": lambda: harvestgym.make_vec(FORAGER, 2),
    "Farm": make_farm,
    "fleets": lambda: ParallelEnv(share_stock(harvestgym.make("fishing/logistic-v0"), 2)),  # type: ignore[arg-type]
    "foragers": lambda: ParallelEnv(SharedWorld(harvestgym.make(FORAGER), 2)),  # type: ignore[arg-type]
    "Stable-Baselines3": make_sb3,
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env)),
}  # fmt: skip
CLONED = ("fishery", "farm", "forager", *(pytest.param(name, marks=long) for name in ("vector of farms", "Farm")))


def act(env: Any, seed: int) -> Any:
    """Step with an action that follows from `seed`; begin again after the end."""
    if hasattr(env, "possible_agents"):
        if not env.agents:
            return (*env.reset(), None, None)
        spaces = {agent: env.action_space(agent) for agent in env.agents}
        for i, space in enumerate(spaces.values()):
            space.seed(seed + i)
        return env.step({agent: space.sample() for agent, space in spaces.items()})
    env.action_space.seed(seed)
    action = env.action_space.sample()
    if hasattr(env, "step_wait"):
        return env.step([env.action_space.sample() for _ in range(env.num_envs)])
    result = env.step(action)
    over = not hasattr(env, "num_envs") and (result[2] or result[3])
    return (*result, env.reset()) if over else result


def play(env: Any) -> list[np.ndarray]:
    results = [act(env, seed)[:4] for seed in range(STEPS)]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(results)]


def begin(make: Callable[[], Any]) -> Any:
    """Return an environment in mid-episode."""
    env = make()
    env.seed(3) if hasattr(env, "step_wait") else None
    env.reset() if hasattr(env, "step_wait") else env.reset(seed=3)
    play(env)
    return env


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


QUICK = ("farm", "vector of fisheries", "fishery", "forager")
MARKS = dict.fromkeys(set(MAKERS) - set(QUICK), [long]) | {"Stable-Baselines3": [pytest.mark.torch]}


@pytest.mark.parametrize("interface", [pytest.param(name, marks=MARKS.get(name, [])) for name in MAKERS])
def test_copies_continue_as_the_original_and_do_not_change_it(interface: str) -> None:
    env = begin(MAKERS[interface])
    ways = COPIES if not isinstance(env, gymnasium.Wrapper) else {n: f for n, f in COPIES.items() if n != "copy"}
    twins = [make_copy(env) for make_copy in ways.values()] + [copy.copy(getattr(env, "unwrapped", env))]
    played = [play(twin) for twin in twins]
    expected = play(env)
    for found in played:
        assert_same(found, expected)


@pytest.mark.parametrize("interface", CLONED)
def test_clones_branch_from_the_same_state(interface: str) -> None:
    env = begin(MAKERS[interface]).unwrapped
    assert_same(play(env.clone().clone()), play(env.clone()))
    if env.render_mode is not None:
        np.testing.assert_array_equal(env.clone().render(), env.render())


def test_a_copy_has_its_own_samples_and_no_monitors(tmp_path: Path) -> None:
    env = begin(MAKERS["fishery"]).unwrapped
    env.add_monitoring([("stock", sum_value, "stock", "range_auto")], tmp_path / "stock.csv")
    env.action_space.seed(1)
    twin = copy.deepcopy(env)
    np.testing.assert_array_equal(twin.action_space.sample(), env.action_space.sample())
    assert (len(env.monitors), len(twin.monitors), len(env.clone().monitors)) == (1, 0, 0)
    env.monitors[0].close()


@long
def test_an_environment_can_be_sent_to_another_process() -> None:
    env = begin(MAKERS["farm"])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.submit(play, env).result()
    assert_same(there, play(env))


@pytest.mark.parametrize("id", [FARM, *(pytest.param(id, marks=long) for id in (FISHERY, PAID, FORAGER))])
def test_pickled_environment_equals_one_of_another_process(id: str, tmp_path: Path) -> None:
    """So that compiled programs are found again; hashes of strings differ from process to process."""
    path = tmp_path / "env.pickle"
    path.write_bytes(pickle.dumps(harvestgym.make(id)))
    read = f"pickle.loads(open({str(path)!r}, 'rb').read())"
    code = f"import harvestgym, pickle; a, b = {read}, harvestgym.make({id!r}); assert a == b and hash(a) == hash(b)"
    subprocess.run([sys.executable, "-c", code], check=True, env=None)
