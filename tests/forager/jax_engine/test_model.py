"""The functional environment: laws of a step, invariances, parameters, clock and batches."""

from __future__ import annotations

import dataclasses
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.core.xla.fusion import tracing_single_kernel
from harvestgym.forager.family import build_forager
from harvestgym.forager.jax_engine import view
from harvestgym.forager.jax_engine.cells import unpack_state
from harvestgym.forager.jax_engine.model import Forager, draw_seed
from harvestgym.forager.jax_engine.rewards import region_values
from harvestgym.forager.object_kinds import Kind, ReturnPlace
from harvestgym.forager.reward_laws import Constant
from harvestgym.forager.world import AWAY, VACANT, Region, World
from tests.forager.worlds import RENEWED, SMALL, VARIED
from tests.long_form import long, some

WORLDS = {"small": SMALL, "varied": VARIED | {"hint": [0, 0]}, "renewed": RENEWED | {"hint": [0, 0]}}
WORDS = np.array([3, 4], np.uint32)


@cache
def episode(name: str, steps: int = 60, **change):
    """States and timesteps of a random walk, the first state included."""
    model = build_forager(WORLDS[name] | change)
    actions = np.random.default_rng(0).integers(0, 4, steps)

    def one(state, action):
        state, timestep = model.step(jax.random.key(0), state, action, model.params)
        return state, (state, timestep)

    return model, jax.jit(lambda words: jax.lax.scan(one, model.begin(words), actions)[1])(WORDS)


def at(tree, i: int):
    return jax.tree.map(lambda leaf: leaf[i], tree)


# -- laws ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", some([*WORLDS], "renewed"))
def test_the_view_that_is_carried_equals_a_new_look_up(name):
    model, (states, _) = episode(name)
    clocks = jax.vmap(lambda s: replace(s, clock=s.clock - jnp.array([0, 1], jnp.uint32)))(states)
    again = jax.jit(jax.vmap(lambda s: view.refresh(model.world, s).view))(clocks)
    assert (np.asarray(again) == states.view).all()


@pytest.mark.parametrize("name", WORLDS)
def test_an_agent_moves_to_a_neighbour_or_stays(name):
    model, (states, _) = episode(name)
    x, y = np.asarray(states.x, int), np.asarray(states.y, int)
    dx, dy = abs(np.diff(x)), abs(np.diff(y))
    way = np.minimum(dx, model.world.width - dx) + np.minimum(dy, model.world.height - dy)
    assert set(way.tolist()) <= {0, 1}


@pytest.mark.parametrize("name", WORLDS)
def test_counters_agree_with_the_slots(name):
    _, (states, timesteps) = episode(name)
    used = np.asarray(jax.vmap(lambda s: (unpack_state(s.slots) != VACANT).sum())(states))
    away = np.asarray(jax.vmap(lambda s: (unpack_state(s.slots) == AWAY).sum())(states))
    assert (timesteps.info["changed"] == used).all()
    assert (np.diff(timesteps.info["collected"]) >= 0).all()
    assert (away <= np.asarray(timesteps.info["collected"])).all()


@pytest.mark.parametrize("name", WORLDS)
def test_the_running_rate_is_the_smoothed_reward(name):
    _, (states, timesteps) = episode(name)
    rate = 0.0
    for reward, now in zip(np.asarray(timesteps.reward), np.asarray(states.rate), strict=True):
        rate += 1e-3 * (float(reward) - rate)
        assert now == pytest.approx(rate, abs=1e-6)


# -- invariances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"aperture": (3, 9)}, {"observation_mode": "scalar"}, {"capacity": 50}])
def test_the_episode_does_not_depend_on_what_is_observed(change):
    _, (states, timesteps) = episode("small")
    _, (other, same) = episode("small", **change)
    for name in ("x", "y", "hit", "events"):
        assert (getattr(states, name) == getattr(other, name)).all(), name
    assert (timesteps.reward == same.reward).all()


def test_the_key_of_a_step_is_not_used():
    model, _ = episode("small")
    state, step = model.begin(WORDS), jax.jit(model.step)
    steps = [step(jax.random.key(key), state, 1, model.params) for key in (0, 1)]
    assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), *steps))


def test_the_key_of_a_reset_is_the_seed():
    model, _ = episode("small")
    key = jax.random.key(9)
    words = draw_seed(key)
    assert (model.initial(key, model.params).words == words).all()
    assert (model.initial(key, model.params).view == model.begin(words).view).all()


def test_a_batch_is_its_episodes_one_by_one():
    model, _ = episode("small")
    words = np.array([[1, 2], [3, 4], [5, 6]], np.uint32)
    step = lambda w: model.step(jax.random.key(0), model.begin(w), 0, model.params)  # noqa: E731
    batch = jax.jit(jax.vmap(step))(words)
    one = jax.jit(step)
    for i, row in enumerate(words):
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), one(row), at(batch, i)))


@pytest.mark.parametrize("name", WORLDS)
def test_a_batch_steps_without_the_scatters_that_a_single_kernel_cannot_contain(name):
    model = build_forager(WORLDS[name] | {"teleport_every": 9})
    states = jax.eval_shape(jax.vmap(model.begin), np.zeros((3, 2), np.uint32))
    step = jax.vmap(lambda state, action: model.step(jax.random.key(0), state, action, model.params))
    with tracing_single_kernel():
        program = jax.make_jaxpr(step)(states, np.zeros(3, np.int32))
    assert "scatter" not in str(program)


# -- parameters ----------------------------------------------------------------------------------------------


def test_rewards_are_linear_in_the_worth_of_a_kind():
    model, (_, timesteps) = episode("small", aperture=(3, 3))
    twice = replace(model.params, worth=2 * model.params.worth)
    state, actions = model.begin(WORDS), np.random.default_rng(0).integers(0, 4, 60)
    run = jax.jit(lambda p: jax.lax.scan(lambda s, a: model.step(jax.random.key(0), s, a, p), state, actions)[1])
    assert (np.asarray(run(twice).reward) == 2 * np.asarray(timesteps.reward)).all()


def test_the_value_of_a_region_is_the_expected_reward_per_cell():
    food = Kind("food", collectable=True, reward=Constant(2.0), place=ReturnPlace.SAME)
    brief = dataclasses.replace(food, name="brief", lasts=1, rests=3)
    thorn = Kind("thorn", reward=Constant(-1.0))
    layers = ((0, 10), (1, 20), (2, 30))
    world = World(20, 10, (food, brief, thorn), (Region(0, 0, 20, 10, layers), Region(0, 0, 5, 5, ((0, 5),))))
    model = Forager(world, (3, 3))
    values = region_values(world, model.begin(WORDS), model.params)
    np.testing.assert_allclose(values, [(10 * 2 + 20 * 2 / 4) / 200, 5 * 2 / 25], rtol=1e-6)


def test_the_horizon_truncates_and_nothing_terminates():
    model, (_, timesteps) = episode("small")
    assert np.flatnonzero(timesteps.truncated).tolist() == list(range(39, 60))
    assert not np.asarray(timesteps.terminated).any()
    assert model.evaluation_steps == 40


def test_the_clock_counts_beyond_32_bits():
    model, _ = episode("small")
    state = replace(model.begin(WORDS), clock=jnp.array([0, 2**32 - 1], jnp.uint32))
    step = jax.jit(model.step)
    after, timestep = step(jax.random.key(0), state, 0, model.params)
    assert after.clock.tolist() == [1, 0]
    assert bool(timestep.truncated)
    assert step(jax.random.key(0), after, 0, model.params)[0].clock.tolist() == [1, 1]


@long
def test_cells_of_a_large_world_are_refused():
    world = World(10**4, 10**4, (Kind("rock"),), (Region(0, 0, 10**4, 10**4),))
    model = Forager(world, (3, 3))
    with pytest.raises(ConfigError, match="try an aperture"):
        model.cells(model.begin(WORDS))
