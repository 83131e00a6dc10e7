"""Batches on the host engine: many single episodes, with the infos of the functional environment."""

from __future__ import annotations

import dataclasses

import gymnasium
import jax
import numpy as np
import pytest

from harvestgym.forager.family import build_forager
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.host_engine.vector_env import ForagerVec
from tests.forager.worlds import RENEWED, SMALL, same


@pytest.mark.parametrize("mode", ["objects", "colors", "compass", "scalar"])
def test_the_vector_environment_is_many_single_episodes(mode):
    model = build_forager((SMALL if mode == "colors" else RENEWED) | {"observation_mode": mode})
    many = ForagerVec(model, 3, threads=2)
    obs, _ = many.reset(seed=5)
    assert many.observation_space.contains(obs)
    actions = np.random.default_rng(0).integers(0, 4, (100, 3))
    generator, _ = gymnasium.utils.seeding.np_random(5)
    seeds = lambda: int(generator.integers(0, 2**63))  # noqa: E731
    singles = [host_twin(model) for _ in range(3)]
    part = lambda seen, i: jax.tree.map(lambda a: a[i], seen)  # noqa: E731
    assert all(same(single.start(seed=seeds()), part(obs, i)) for i, single in enumerate(singles))
    for step, row in enumerate(actions):
        obs, rewards, _, over, info = many.step(row)
        for i, single in enumerate(singles):
            seen, reward = (single.start(seed=seeds()), 0.0) if step % 41 == 40 else single.step(int(row[i]))
            assert same(seen, part(obs, i))
            assert reward == rewards[i]
            assert (info["collided"][i], info["biome"][i]) == (-1 if step % 41 == 40 else single.met, single.biome)
            values = single.biome_values
            assert info["biome_value"][i] == values[single.biome]
            assert info["biome_regret"][i] == max(values) - values[single.biome]
        assert over.all() == (step % 41 == 39)
    many.close()


def test_the_infos_of_a_batch_are_those_of_the_functional_environment():
    """Regret too, of drawn laws, of a user-defined law, and where the foods have changed sign."""
    mine = SMALL["kinds"] | {"date": {"collectable": True}}
    model = build_forager(
        RENEWED | {"kinds": RENEWED["kinds"] | mine, "density": {"wall": 0.1, "date": 0.2}, "hint": [0, 0]}
    )
    kinds = tuple(dataclasses.replace(k, reward=waning) if k.name == "date" else k for k in model.world.kinds)
    model = dataclasses.replace(model, world=dataclasses.replace(model.world, kinds=kinds))
    many, actions = ForagerVec(model, 2), np.random.default_rng(0).integers(0, 4, (40, 2))
    many.reset(seed=1)
    generator, _ = gymnasium.utils.seeding.np_random(1)
    words = np.array(seed_words(int(generator.integers(0, 2**63))), np.uint32)
    state, step = model.begin(words), jax.jit(model.step)
    regrets = []
    for row in actions:
        info = many.step(row)[-1]
        state, now = step(jax.random.key(0), state, row[0], model.params)
        assert set(info) == set(now.info)
        assert {name: value[0] for name, value in info.items()} == pytest.approx(
            {name: np.asarray(value).item() for name, value in now.info.items()}, abs=1e-5, rel=1e-5
        )
        regrets.append(info["biome_regret"])
    assert len(np.unique(regrets)) > 20


def waning(now):
    """Return a user-defined law that draws."""
    return now.uniforms(2)[0] * now.xp.float32(10) / (now.phase(64) + 1)
