"""Masks of integer actions: those of the map interface; an action that is masked changes nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.pytree import replace
from harvestgym.core.wrappers import Flatten, TimeLimit
from harvestgym.farm import wrap_actions
from harvestgym.farm.learn.map_farm import MapFarm, MapState
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.long_form import long, some

POOR = {"kind": "HourlyFarmer", "hours#h.day-1": 1.0, "intervention#min": 30.0, "wage#h-1": 1.0, "budget": 6.0}
IDLE = {"kind": "BasicFarmer", "max_daily_interventions": 0}
CHANGES: dict[str, dict[str, Any]] = {
    "farm/bean-1x1-v0": {"farmers": [POOR], "expert": []},
    "farm/bean-clay-weeds-3x4-v0": {"farmers": [POOR, IDLE]},
    "farm/full-1x1-v0": {"rules": {"further": {"cap": {"kind": "CostCap", "max_action_schedule_cost": 0.015}}}},
}
"""Farms of a farmer with little money, of one more without time, and with a cap on the costs of a day."""

DAYS, PAID = 12, "farm/paid-looks-1x1-v0"


@cache
def make(id: str) -> Any:
    return harvestgym.make(id, **CHANGES.get(id, {}))


def map_mask(maps: MapFarm, state: Any, params: Any) -> jax.Array:
    """Return the mask of the map interface for each number of the action table, and for 0, "stop"."""
    mask = maps.action_mask(MapState(state, jnp.zeros(maps.env.schedule, jnp.int32), jnp.int32(0)), params)
    what, where, amount = jax.vmap(maps.table.order)(jnp.arange(maps.env.actions.size)).T
    return mask["what"][what] & mask["where"][what, where] & mask["amount"][what, amount]


@long
@pytest.mark.parametrize("id", some(list(CHANGES), "bean-1x1-v0"))
def test_the_mask_is_that_of_the_map_and_what_is_masked_changes_nothing(id: str) -> None:
    env = make(id)
    maps, params, size = MapFarm(env), env.params, env.actions.size
    places = np.zeros((size, env.schedule), np.int32)
    places[:, 0] = np.arange(size)
    firsts = places if env.schedule > 1 else places[:, 0]

    @jax.jit
    def look(key: jax.Array, state: Any) -> Any:
        after, _ = jax.vmap(lambda action: env.step(key, state, action, params))(firsts)
        changed = replace(after, refusal=jnp.zeros(size))  # the reason may differ
        same = [jnp.all((leaf == leaf[:1]).reshape(size, -1), 1) for leaf in jax.tree.leaves(changed)]
        drawn = jax.random.randint(key, (env.schedule,), 0, size)
        later, _ = env.step(key, state, drawn if env.schedule > 1 else drawn[0], params)
        mask = env.action_mask(state, params)
        return later, mask, map_mask(maps, state, params), jnp.stack(same).all(0), after.accepted[:, 0]

    state, refused = env.reset(jax.random.key(1), params)[0], 0
    for day in range(DAYS):
        state, mask, expected, same, accepted = jax.device_get(look(jax.random.key(day), state))
        assert mask.shape == ((env.schedule, size) if env.schedule > 1 else (size,))
        rows = np.atleast_2d(mask)
        assert (rows == rows[0]).all() and rows[0, 0]
        np.testing.assert_array_equal(rows[0], expected)
        np.testing.assert_array_equal(rows[0, 1:], accepted[1:])
        assert same[~rows[0]].all()
        refused += int((~rows[0]).sum())
    assert 0 < refused < DAYS * (size - 1)


@long
def test_requests_are_possible_until_they_are_answered() -> None:
    """In turns, a request is masked when it was made today; in half-steps, the actions of the other half are masked."""
    farm = make(PAID)
    assert farm.asks
    turns, requests = GymEnv(wrap_actions(farm, "discrete")), len(farm.offered.items)
    turns.reset(seed=0)
    assert turns.action_masks().all()
    turns.step(2)
    assert np.flatnonzero(~turns.action_masks()).tolist() == [2]
    turns.step(0)
    assert turns.action_masks().all()
    halves = GymEnv(wrap_actions(farm, "multidiscrete"))
    halves.reset(seed=0)
    numbers = np.arange(len(turns.action_masks()))
    asks, acts = numbers <= requests, numbers > requests
    np.testing.assert_array_equal(halves.action_masks()[0], asks)
    halves.step([2] * farm.schedule)
    np.testing.assert_array_equal(halves.action_masks()[0, 1:], acts[1:])


def test_masks_pass_wrappers_only_while_actions_are_the_same() -> None:
    farm = make("farm/bean-1x1-v0")
    assert GymEnv(TimeLimit(Flatten(farm), 5)).action_masks().shape == (farm.action_space.n,)
    for other in (wrap_actions(farm, "box"), make(PAID)):
        assert not hasattr(GymEnv(other), "action_masks")


@long
def test_masks_of_a_batch_have_a_row_for_each() -> None:
    farm = make("farm/bean-clay-weeds-3x4-v0")
    ours = VecEnv(farm, 3)
    ours.reset(seed=0)
    assert ours.action_masks().shape == (3, farm.schedule, farm.actions.size)


@pytest.mark.torch
@pytest.mark.parametrize("id", some(["farm/bean-1x1-v0", "farm/bean-clay-weeds-3x4-v0"], "bean-1x1-v0"))
def test_maskable_ppo_learns(id: str) -> None:
    masked = pytest.importorskip("sb3_contrib")
    env = gymnasium.make(id, **CHANGES[id])
    size = env.get_wrapper_attr("action_masks")().size
    model = masked.MaskablePPO("MlpPolicy", env, n_steps=500, batch_size=250, n_epochs=1, seed=0, device="cpu")
    model.learn(2_000)
    assert model.rollout_buffer.action_masks.shape[-1] == size
    assert 0 in model.rollout_buffer.action_masks
