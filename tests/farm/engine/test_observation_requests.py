"""Active observation: two half-steps a day, what is asked for is paid by the entry, the rest is masked."""

from __future__ import annotations

import ast
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observation_requests import Requests
from harvestgym.farm.paper.action_tuples import Language
from harvestgym.farm.schema import farm_spec

from .test_engine import FILE, REED, SPRING, by_name, run


def farm(**changes: Any) -> FarmModel:
    scoring = FILE["scoring"] | {"observation_cost": 0.25, "stage": 0.0}
    env = build(farm_spec(FILE | {"mode": "ao", "scoring": scoring} | changes, "test"), {"Field-0": (SPRING, REED)})
    assert env.asks
    return env


def act(env: FarmModel, **parts: Any) -> dict[str, Any]:
    nothing = {"request": np.zeros(len(env.offered.items), np.int8), "order": np.int32(0)}
    return nothing | parts


def test_what_is_asked_for_is_seen_and_paid_by_the_entry_and_no_day_passes() -> None:
    env = farm()
    state, first = env.reset(jax.random.key(0), env.params)
    assert np.asarray(first.obs["mask"]).sum() == env.plan.size
    request = np.zeros(len(env.offered.items), np.int8)
    request[[0, 3]] = 1
    after, seen = env.step(jax.random.key(1), state, act(env, request=request), env.params)
    entries = [env.offered.items[i].size for i in (0, 3)]
    assert float(seen.reward) == -0.25 * sum(entries) == -float(seen.info["observation cost"])
    assert int(after.day) == 0 and np.asarray(seen.obs["mask"]).sum() == env.plan.size + sum(entries)
    truth = by_name(env, after)
    for label, value, known in zip(env.full_plan.labels, seen.obs["values"], seen.obs["mask"], strict=True):
        name, _, plot = label.rpartition("/") if label.endswith(")") else (label, "", "")
        whole = truth[name][ast.literal_eval(plot)] if plot else truth[name]
        assert float(value) == (float(whole) if known else 0.0)


def test_two_half_steps_are_one_day_of_the_plain_farm() -> None:
    env = farm()
    plain = build(farm_spec(FILE | {"scoring": FILE["scoring"] | {"stage": 0.0}}, "test"), {"Field-0": (SPRING, REED)})
    keys = [jax.random.fold_in(jax.random.key(0), t) for t in range(3)]
    state, _ = env.reset(jax.random.key(0), env.params)
    for key in keys:
        state, _ = env.step(key, state, act(env), env.params)
        state, timestep = env.step(key, state, act(env, order=np.int32(7)), env.params)
    plain_state, last = run(plain, [7, 7, 7])[-1]
    assert int(state.day) == int(plain_state.day) == 3
    assert float(timestep.reward) == float(last.reward)
    for name, value in by_name(plain, plain_state).items():
        np.testing.assert_allclose(by_name(env, state)[name], value, rtol=1e-6, err_msg=name)


def test_the_farmer_has_time_for_so_many_observations() -> None:
    env = farm(farmers=[{"max_daily_observations": 1}])
    state, _ = env.reset(jax.random.key(0), env.params)
    everything = np.ones(len(env.offered.items), np.int8)
    _, seen = env.step(jax.random.key(1), state, act(env, request=everything), env.params)
    assert np.asarray(seen.obs["mask"]).sum() == env.plan.size + env.offered.items[0].size


def test_spaces_hold_what_is_seen_and_done() -> None:
    env = farm()
    state, timestep = env.reset(jax.random.key(0), env.params)
    for t in range(6):
        assert env.observation_space.contains(jax.tree.map(np.asarray, timestep.obs))
        action = env.action_space.sample()
        state, timestep = env.step(jax.random.key(t), state, action, env.params)


def test_only_what_the_rules_offer_can_be_asked_for() -> None:
    offer = ["Reed-0.cumulated_water#L[0, 1]"]
    env = farm(rules=FILE["rules"] | {"observations": offer})
    assert env.offered.labels == ["Field-0/Reed-0/cumulated_water#L/(0, 1)"]


def test_an_observation_may_belong_to_one_of_several_farmers() -> None:
    """A request by number goes to the first farmer who can make all of it, and uses that farmer's limit."""
    water, drunk = "Spring-0.available_Water#L", "Reed-0.cumulated_water#L"
    own = {"farmer-0": [f"{drunk}[0, 1]"], "farmer-1": [drunk]}
    rules = FILE["rules"] | {"observations": own, "free_observations": [water]}
    env = farm(rules=rules, farmers=[{}, {"max_daily_observations": 0}])
    assert env.spec.rules.observations == {"BasicFarmer-0": own["farmer-0"], "BasicFarmer-1": own["farmer-1"]}
    assert env.requests.observer.tolist() == [1] and env.offered.size == 6
    state, _ = env.reset(jax.random.key(0), env.params)
    by_number, _ = env.requests.answer(state, np.ones(1, np.int8), env.params)
    assert not by_number.done.any(), "the second farmer looks at nothing today"
    group = "Field-0/Reed-0/cumulated_water#L"
    groups = np.full(3, 1 + list(env.requests.groups).index(group))
    asked = Requests(np.asarray([0, 0, 1]), groups, np.asarray([(0, 1), (-1, -1), (-1, -1)]))
    assert np.asarray(env.requests.covered(asked)).sum(1).tolist() == [1, 1, 6]
    assert env.requests.answer(state, asked, env.params)[0].done.sum() == 1
    language, place = Language(env), ("Field-0", "Reed-0", "cumulated_water#L")
    with pytest.raises(ConfigError, match="water#L: expected one of the farmers BasicFarmer-1, got 'BasicFarmer-0'"):
        language.from_tuples([("farmer-0", *place, [])])
    assert language.from_tuples([("farmer-1", *place, [])])[0].farmer == 1
    with pytest.raises(ConfigError, match="rules > observations: expected a known farmer, got 'Nobody'"):
        farm(rules=FILE["rules"] | {"observations": {"Nobody": [water]}})
