"""Several foragers in one world, and a single one as in a `ForagerEnv`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager.family import build_forager
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.shared_world import SharedWorld
from harvestgym.gym.pettingzoo_env import ParallelEnv
from tests.forager.worlds import RENEWED, SMALL, VARIED, same
from tests.long_form import long

SLOW = [pytest.param(mode, marks=long) for mode in ("objects", "colors", "compass", "scalar")]


@pytest.mark.parametrize("mode", SLOW)
def test_a_single_forager_has_the_episode_of_a_forager_env(mode):
    """Rewards that change, are noisy or come late, and every view, are those of the `ForagerEnv`."""
    model = build_forager(VARIED | {"observation_mode": mode, "horizon": 0})
    env: Any = ParallelEnv(SharedWorld(model, 1))
    alone = host_twin(model)
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
        here |= {name: alone.memory[name] for name in ("changed", "collected", "refused")}
        here |= {"reward_rate": info["reward_rate"]}
        assert info == {"collided": alone.met, "biome": alone.biome} | here
        earned += abs(reward)
    assert earned > 0


def test_foragers_share_what_there_is():
    env = ParallelEnv(SharedWorld(build_forager(SMALL | {"horizon": 0}), 3))
    env.reset(seed=1)
    fed, infos = 0.0, {}
    for actions in np.random.default_rng(0).integers(0, 4, (400, 3)).tolist():
        _, rewards, _, _, infos = env.step(dict(zip(env.agents, actions, strict=True)))
        fed += sum(rewards.values())
    assert fed == infos["forager_2"]["collected"] > 0


@pytest.mark.parametrize("mode", ["objects", "images", "colors"])
def test_foragers_see_each_other(mode):
    """The last channel shows where the others are; in colours they are dark cells."""
    env = ParallelEnv(SharedWorld(build_forager(SMALL | {"observation_mode": mode}), 40))
    obs, _ = env.reset(seed=1)
    assert all(env.observation_space(agent).contains(seen) for agent, seen in obs.items())
    dark = (lambda seen: (seen == 20).all(-1)) if mode == "colors" else (lambda seen: seen[..., -1] > 0)
    assert sum(dark(seen).sum() for seen in obs.values()) > 0


@pytest.mark.parametrize("data", [SMALL | {"observation_mode": "world"}, RENEWED])
def test_a_world_that_cannot_be_shared_is_refused(data):
    with pytest.raises(ConfigError):
        SharedWorld(build_forager(data))
