"""Multi-agent environments: PettingZoo's own tests, a shared quota, own and shared rewards, experts, and errors."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.test import parallel_api_test, parallel_seed_test

import harvestgym
from harvestgym.adapters.pettingzoo import make_parallel
from harvestgym.core.errors import ConfigError
from harvestgym.core.saving.checkpoint import load, save
from harvestgym.gym.pettingzoo_env import ParallelEnv
from harvestgym.registry import PARALLEL
from tests.long_form import long, some

SHORT: dict[str, dict[str, Any]] = {
    "fishing/commons-v0": {"Tmax": 20},
    "fishing/fleets-v0": {"Tmax": 20},
    "forager/several-v0": {"horizon": 20},
}


@pytest.fixture(scope="module")
def farms() -> ParallelEnv:
    """Return four neighbours with water for four of the largest orders."""
    return make_parallel("farm/shared-water-v0", quota=80.0)


@pytest.mark.parametrize("id", some([*PARALLEL], "fleets-v0"))
def test_parallel_api_of_pettingzoo_holds(id: str) -> None:
    env = make_parallel(id, **SHORT.get(id, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the test of pettingzoo advises on names
        parallel_api_test(env, num_cycles=30)
        parallel_seed_test(lambda: make_parallel(id, **SHORT.get(id, {})), num_cycles=10)


def play(env: Any, steps: int, seed: int) -> list[str]:
    """Return the results of some steps of agents that act at random, and begin again when all have left."""
    rng, out = np.random.default_rng(seed), []
    for _ in range(steps):
        drawn = {}
        for agent in env.agents:
            space = env.action_space(agent)
            drawn[agent] = rng.random((1,), np.float32) if isinstance(space, spaces.Box) else rng.integers(space.n)
        out.append(repr(env.step(drawn)))
        if not env.agents:
            out.append(repr(env.reset()))
    return out


@long
@pytest.mark.parametrize("id", some([*PARALLEL], "shared-water-v0"))
def test_a_checkpoint_goes_on(id: str, tmp_path: Path) -> None:
    env = make_parallel(id, **SHORT.get(id, {}))
    env.reset(seed=4)
    play(env, 25, 1)
    save(env, tmp_path / "kept")
    twin = load(tmp_path / "kept")
    assert play(twin, 30, 2) == play(env, 30, 2)


def largest_order(env: ParallelEnv) -> int:
    table = env.core.env.actions
    return int(np.argmax(table.parameter("amount#L", table.orders(np.arange(table.size)))))


@long
def test_the_quota_is_shared_and_the_queue_moves(farms: ParallelEnv) -> None:
    """Four orders of 20 L empty 80 L: the first day gets all of it, or half of the farms on two days."""
    obs, _ = farms.reset(seed=0)
    agents, pour = farms.possible_agents, largest_order(farms)
    assert [obs[agent][-1] for agent in agents] == [1.0] * 4
    _, rewards, _, _, infos = farms.step(dict.fromkeys(agents, pour))
    assert infos[agents[0]]["water left#L"] == 0 and all(reward < 0 for reward in rewards.values())
    obs, rewards, *_ = farms.step(dict.fromkeys(agents, pour))
    assert [obs[agent][-1] for agent in agents] == [0.0] * 4
    assert all(reward >= 0 for reward in rewards.values()), "a refused order costs nothing"


def test_the_first_of_the_queue_is_served_first() -> None:
    env = make_parallel("farm/shared-water-v0", quota=30.0)
    env.reset(seed=0)
    pour = largest_order(env)
    for day in range(2):
        _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, pour if day else 0))
        assert infos["farm_1"]["water left#L"] == (10.0 if day else 30.0)
    assert [reward < 0 for reward in rewards.values()] == [False, True, False, False]  # pyright: ignore


@long
def test_rewards_are_own_or_shared(farms: ParallelEnv) -> None:
    shared = make_parallel("farm/shared-water-v0", quota=80.0, shared_reward=True)
    actions = {agent: largest_order(farms) if agent == "farm_0" else 0 for agent in farms.possible_agents}
    for env in (farms, shared):
        env.reset(seed=0)
    own, together = (env.step(actions)[1] for env in (farms, shared))
    assert own["farm_0"] < 0 == own["farm_1"] and len(set(together.values())) == 1
    assert sum(own.values()) == pytest.approx(sum(together.values()), abs=1e-6)


def test_agents_leave_when_their_own_season_is_over(farms: ParallelEnv) -> None:
    """A harvest ends the season of a farm, and its actions are asked for no more."""
    farms.reset(seed=0)
    harvest = farms.core.env.actions.size - 1
    actions = {agent: harvest if agent == "farm_2" else 0 for agent in farms.agents}
    terminated: dict[str, bool] = {}
    while farms.agents and "farm_2" in farms.agents:
        _, _, terminated, *_ = farms.step({agent: actions[agent] for agent in farms.agents})
    assert terminated["farm_2"] and farms.agents
    obs, rewards, *_ = farms.step(dict.fromkeys(farms.agents, 0))
    assert sorted(obs) == sorted(rewards) and "farm_2" not in obs


def test_bad_actions_are_refused_and_change_nothing(farms: ParallelEnv) -> None:
    farms.reset(seed=0)
    with pytest.raises(ConfigError, match="step: expected an action for each of"):
        farms.step({"farm_0": 0})
    with pytest.raises(ConfigError, match="step: farm_1: expected an integer from 0 to [0-9]+, got 99"):
        farms.step({agent: 99 if agent == "farm_1" else 0 for agent in farms.agents})
    *_, infos = farms.step(dict.fromkeys(farms.agents, 0))
    assert infos["farm_1"]["water left#L"] == 80.0


def test_there_may_be_any_number_of_neighbours() -> None:
    env = make_parallel("farm/shared-water-v0", farms=6)
    assert env.possible_agents == [f"farm_{i}" for i in range(6)] and env.core.quota == 450
    first, fifth, second = (env.core.models[i].params for i in (0, 4, 1))
    depths = [np.asarray(one.fields[0].entities[1].wilting_point) for one in (first, fifth, second)]
    assert depths[0] == depths[1] != depths[2]


def test_mistakes_are_refused() -> None:
    with pytest.raises(ConfigError, match="farms: expected an integer, 1 or more, got 0"):
        make_parallel("farm/shared-water-v0", farms=0)
    with pytest.raises(ConfigError, match="environment: .*'farm/shared-waters-v0'; try 'farm/shared-water-v0'"):
        make_parallel("farm/shared-waters-v0")
    with pytest.raises(ConfigError, match="quota: expected a positive number of litres, got 0"):
        make_parallel("farm/shared-water-v0", quota=0.0)
    env = make_parallel("fishing/fleets-v0")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step({})


@pytest.mark.parametrize("id", some([*PARALLEL], "shared-water-v0"))
@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_every_id_is_drawn(id: str, mode: str) -> None:
    """Each agent has a place in the picture; fleets are lines of one chart."""
    env = make_parallel(id, render_mode=mode, **SHORT.get(id, {}))
    env.reset(seed=1)
    play(env, 3, 1)
    picture = env.render()
    if mode == "rgb_array":
        assert picture.dtype == np.uint8 and picture.std() > 5
    else:
        assert id.startswith("fishing") or all(agent in picture for agent in env.possible_agents)


def test_an_environment_of_one_agent_is_refused() -> None:
    with pytest.raises(ConfigError, match="core: expected an environment of several agents"):
        ParallelEnv(harvestgym.make("fishing/logistic-v0"))
