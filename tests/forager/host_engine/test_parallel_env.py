"""Several foragers in one world: PettingZoo's contract, and a single one as in a `ForagerEnv`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from pettingzoo.test import parallel_api_test

from harvestgym.core.errors import ConfigError
from harvestgym.forager.family import build_forager
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.host_engine.parallel_env import ForagerParallel
from harvestgym.forager.host_engine.vector_env import ForagerVec
from tests.forager.worlds import SMALL, VARIED, same


@pytest.mark.parametrize("mode", ["objects", "colors", "compass", "scalar"])
def test_a_single_forager_has_the_episode_of_a_forager_env(mode):
    """Rewards that change, are noisy or come late, and every view, are those of the `ForagerEnv`."""
    model = build_forager(VARIED | {"observation_mode": mode, "horizon": 0})
    env, alone = ForagerParallel(model, 1), host_twin(model)
    obs = env.reset(seed=4)[0]["forager_0"]
    seen = alone.start(seed=int(np.random.default_rng(4).integers(0, 2**63)))
    mine = {"objects": np.s_[..., :-1], "colors": np.s_[:]}.get(mode, np.s_[:-1])
    earned = 0.0
    for action in np.random.default_rng(0).integers(0, 4, 300).tolist():
        assert env.observation_space("forager_0").contains(obs)
        assert same(obs | {"view": obs["view"][mine]}, seen)
        obs, paid, _, _, info = (one["forager_0"] for one in env.step({"forager_0": action}))
        seen, reward = alone.step(action)
        assert paid == reward
        worths = alone.biome_values
        here = {"biome_value": worths[alone.biome], "biome_regret": max(worths) - worths[alone.biome]}
        assert info == {"reward_rate": info["reward_rate"], "collided": alone.met, "biome": alone.biome} | here
        earned += abs(reward)
    assert earned > 0


def test_parallel_env_keeps_the_contract_of_pettingzoo():
    env = ForagerParallel(build_forager(SMALL | {"horizon": 0}), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the test of pettingzoo advises on names
        parallel_api_test(ForagerParallel(build_forager(SMALL), 3), num_cycles=100)
    env.reset(seed=1)
    fed = 0.0
    for actions in np.random.default_rng(0).integers(0, 4, (400, 3)).tolist():
        _, rewards, *_ = env.step(dict(zip(env.agents, actions, strict=True)))
        fed += sum(rewards.values())
    assert fed == env.collected > 0


@pytest.mark.parametrize("env", [lambda model: ForagerVec(model, 2), ForagerParallel])
def test_interfaces_of_many_agents_refuse_the_whole_world(env):
    with pytest.raises(ConfigError, match="'scalar'"):
        env(build_forager(SMALL | {"observation_mode": "world"}))
