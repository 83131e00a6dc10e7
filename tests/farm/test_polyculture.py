"""Two crops on one plot: the taller takes more of the light, and together they yield more than a crop alone."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.policies.expert_rules import rule_policy
from tests.farm.one_field import SEATTLE, make_farm
from tests.long_form import long

SEASONS = 48
CORN, BEAN = "Plant-0", "Plant-1"
STANDS = {"corn": (8, 0), "bean": (0, 16), "all of both": (8, 16)}
"""Plants of corn and of bean on the square metre; 8 and 16 are what the parameter sets have alone."""


def farm() -> FarmModel:
    """Return a square metre of loam with corn and beans, watered, and each crop harvested when it is ripe."""
    entities = [["Weather", "seattle"], ["Soil", "loam"], ["Plant", "corn"], ["Plant", "bean"]]
    expert: list[dict[str, Any]] = [{"when": f"{p}.stage == ripe", "do": f"{p}.harvest"} for p in (CORN, BEAN)]
    watering = {"do": "Soil-0.watering_discrete", "amount#L": 10, "duration#min": 60}
    expert.append({"when": "Soil-0.available_Water < 95"} | watering)
    start = {p: {"stage": ["seed"], "population#nb": [1]} for p in (CORN, BEAN)}
    seen = ["Soil-0.available_Water#L", f"{CORN}.stage", f"{BEAN}.stage"]
    rules = {"horizon#day": 200, "free_observations": seen}
    init = {"Weather-0": {"day#int365": [130]}, **start}
    return make_farm(entities, init=init, place=SEATTLE, rules=rules, expert=expert, mode="po")


def season(env: FarmModel, key: jax.Array, numbers: jax.Array) -> jax.Array:
    """Kg of corn and of bean at the end of a season; a crop without a sown plant is absent."""
    said = {}
    for plant, n in zip((CORN, BEAN), numbers, strict=True):
        said |= {(plant, "stage"): (n > 0)[None], (plant, "population#nb"): n[None]}
    keys = [(start.variable.where[1], start.variable.key) for start in env.starts]
    starts = [jnp.asarray(said.get(k, given), jnp.float32) for k, given in zip(keys, env.params.starts, strict=True)]
    params, policy = replace(env.params, starts=tuple(starts)), rule_policy(env)
    state, first = env.reset(key, params)

    def day(loop: Any, now: jax.Array) -> Any:
        state, obs, carry = loop
        carry, action = policy.act(carry, obs, key)
        state, step = env.step(jax.random.fold_in(key, now), state, action, params)
        return (state, step.obs, carry), None

    state = jax.lax.scan(day, (state, first.obs, policy.init), jnp.arange(200))[0][0]
    return jnp.stack([crop.harvest_weight.sum() for crop in state.fields[0][2:]])


@pytest.fixture(scope="module")
def kg() -> dict[str, np.ndarray]:
    """Mean harvest of corn and of bean of each stand."""
    env, keys = farm(), jax.random.split(jax.random.key(0), SEASONS)
    run = jax.jit(jax.vmap(jax.vmap(partial(season, env), (0, None)), (None, 0)))
    found = np.asarray(run(keys, jnp.asarray(list(STANDS.values())))).mean(1)
    return dict(zip(STANDS, found, strict=True))


@long
def test_mixed_crops_yield_less_than_alone(kg: dict[str, np.ndarray]) -> None:
    corn, bean = kg["all of both"] / (kg["corn"][0], kg["bean"][1])
    assert bean < 0.55 < corn < 0.9 and bean < corn - 0.1


@long
def test_both_together_are_worth_more_ground_than_they_stand_on(kg: dict[str, np.ndarray]) -> None:
    """The land equivalent ratio of beans added to corn; published intercrops of the two have 1 to 1.6."""
    assert 1.0 < float(np.sum(kg["all of both"] / (kg["corn"][0], kg["bean"][1]))) < 1.6


@long
def test_a_crop_that_is_not_there_yields_nothing(kg: dict[str, np.ndarray]) -> None:
    assert kg["corn"][1] == kg["bean"][0] == 0.0
