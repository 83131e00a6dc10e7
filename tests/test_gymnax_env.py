"""The gymnax-shaped views: their signatures, a restart within the step, hashable under `jit`."""

from __future__ import annotations

import sys
import types
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.autoreset import split_key
from harvestgym.core.pytree import replace
from tests.load_script import script
from tests.toy_env import BoxStock, Stock

EXAMPLE = script("examples/gymnax_env.py")
GymnaxEnv, to_gymnax = EXAMPLE.GymnaxEnv, EXAMPLE.to_gymnax

VIEW = GymnaxEnv(Stock())


def test_steps_are_the_cores_with_a_restart_at_the_end() -> None:
    params, core = VIEW.default_params.inner, Stock()
    step, legacy = jax.jit(VIEW.step), jax.jit(VIEW.legacy().step)
    move, again = jax.jit(core.step), jax.jit(core.reset)
    obs, state = VIEW.reset(jax.random.key(0), params)
    np.testing.assert_allclose(obs, core.reset(jax.random.key(0), params)[1].obs)
    ends = 0
    for key in jax.random.split(jax.random.key(1), 25):
        later, now = split_key(key)
        _, restart = split_key(later)
        after, last = move(now, state, jnp.int32(1), params)
        over = bool(last.terminated | last.truncated)
        obs, state, reward, terminated, truncated, info = step(key, state_before := state, jnp.int32(1), params)
        new, first = again(restart, params) if over else (after, last)
        np.testing.assert_allclose(obs, first.obs, rtol=1e-6)
        assert state.licence == new.licence and info["licence"] == last.info["licence"]
        np.testing.assert_allclose(info["final_observation"], last.obs, rtol=1e-6)
        np.testing.assert_allclose(reward, last.reward, rtol=1e-6)
        assert (bool(terminated), bool(truncated)) == (bool(last.terminated), bool(last.truncated))
        five = legacy(key, state_before, jnp.int32(1), params)
        assert len(five) == 5 and bool(five[3]) is over and bool(five[4]["truncated"]) is bool(truncated)
        np.testing.assert_allclose(five[0], obs, rtol=1e-6)
        ends += over
    assert ends >= 2


def test_a_step_without_reset_stays_at_the_end() -> None:
    view = GymnaxEnv(Stock())
    ended = replace(view.default_params.inner, collapse=jnp.float32(2.0))
    _, state = jax.jit(view.reset_env)(jax.random.key(0))
    step = jax.jit(view.step_env)
    obs, after, _, terminated, truncated, info = step(jax.random.key(1), state, jnp.int32(0), ended)
    assert terminated and not truncated and after.year == 1
    np.testing.assert_array_equal(obs, info["final_observation"])


def test_the_view_is_vmapped_as_in_purejaxrl() -> None:
    keys = jax.random.split(jax.random.key(0), 5)

    @jax.jit
    def two(params: Any) -> tuple[Any, Any]:
        obs, state = jax.vmap(VIEW.reset, (0, None))(keys, params)
        return obs, jax.vmap(VIEW.step, (0, 0, 0, None))(keys, state, jnp.zeros(5, jnp.int32), params)

    obs, out = two(VIEW.default_params)
    assert obs.shape == out[0].shape == (5, 3) and hash(VIEW) == hash(GymnaxEnv(Stock()))


def test_names_and_sizes() -> None:
    assert (VIEW.name, VIEW.num_actions, GymnaxEnv(BoxStock()).num_actions) == ("Stock", 4, 1)


def test_spaces_are_gymnasiums_without_gymnax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnax", None)
    assert VIEW.observation_space() == Stock().observation_space and VIEW.action_space().n == 4


def test_spaces_are_gymnaxes_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Recorded:
        def __init__(self, *arguments: Any) -> None:
            self.arguments = arguments

    theirs: Any = types.ModuleType("gymnax.environments.spaces")
    for name in ("Discrete", "Box", "Dict", "Tuple"):
        setattr(theirs, name, type(name, (Recorded,), {}))
    package: Any = types.ModuleType("gymnax.environments")
    package.spaces = theirs
    monkeypatch.setitem(sys.modules, "gymnax", types.ModuleType("gymnax"))
    monkeypatch.setitem(sys.modules, "gymnax.environments", package)
    monkeypatch.setitem(sys.modules, "gymnax.environments.spaces", theirs)
    assert VIEW.action_space().arguments == (4,)
    assert VIEW.observation_space().arguments == (0.0, 1.0, (3,), jnp.float32)
    nested = to_gymnax(gymnasium.spaces.Dict(a=gymnasium.spaces.Tuple((gymnasium.spaces.Discrete(2),))))
    (inside,) = nested.arguments[0]["a"].arguments
    assert inside[0].arguments == (2,)
    for space, low, high in (
        (gymnasium.spaces.Discrete(2, start=1), 1, 2),
        (gymnasium.spaces.MultiDiscrete([3, 3]), 0, 2),
        (gymnasium.spaces.MultiBinary(4), 0, 1),
    ):
        box = to_gymnax(space)
        assert isinstance(box, theirs.Box) and box.arguments[:2] == (low, high)
        assert np.asarray(box.sample(jax.random.key(0))) in space


def test_clients_find_the_length_of_an_episode_and_an_endless_one_is_truncated() -> None:
    endless = harvestgym.make("forager/two-biome-v0")
    view = GymnaxEnv(endless)
    steps = int(view.default_params.max_steps_in_episode)
    assert steps == endless.evaluation_steps == view.legacy().env.steps  # pyright: ignore[reportAttributeAccessIssue]
    assert int(VIEW.default_params.max_steps_in_episode) > 1 and VIEW.env == Stock()  # its own horizon ends it
