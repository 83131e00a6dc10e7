"""A farm of larger plots fares as agronomy says: per square metre it is the same farm."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from tests.farm.one_field import make_farm
from tests.long_form import long

SEASONS, DAYS = 16, 130
SCALES = (1.0, 3.0, 10.0)
ENTITIES = [
    ["Weather", "montpellier"], ["Soil", "loam"], ["Plant", "bean"], ["Weeds", "base_weed"], ["Pests", "nice"],
    ["Birds", "base_bird"], ["Pollinators", "bee"], ["Fertilizer", "basic_all"], ["Cide", "herbicide"],
]  # fmt: skip
INIT = {"Weather-0": {"day#int365": [120]}, "Plant-0": {"stage": ["seed"]}}


def at_scale(env: FarmModel, scale: float) -> Any:
    """Return the parameters of a farm with plots of another size."""
    field = env.params.fields[0]
    return replace(env.params, fields=(replace(field, place=replace(field.place, scale=np.float32(scale))),))


@pytest.fixture(scope="module")
def seasons() -> dict[float, Any]:
    """Return the totals of 16 seasons at each size, watered and harvested by the calendar."""
    env = make_farm(ENTITIES, (2, 2), INIT, rules={"horizon#day": DAYS})
    water = env.actions.index(("BasicFarmer-0", "Field-0", "Soil-0", "watering_discrete",
                               {"plot": (0, 0), "amount#L": 20.0, "duration#min": 60.0}))  # fmt: skip
    harvest = env.actions.index(("BasicFarmer-0", "Field-0", "Plant-0", "harvest", {}))

    def season(params: Any, key: jax.Array) -> Any:
        def step(state: Any, day: jax.Array) -> tuple[Any, Any]:
            action = jnp.where(day % 4 == 0, water, 0)
            action = jnp.where((day % 10 == 2) & (day > 75), harvest, action)
            return env.transition(jax.random.fold_in(key, day), state, action, params), None

        start = env.initial(key, params)
        return jax.lax.scan(step, start, jnp.arange(DAYS))[0].totals

    many = jax.jit(jax.vmap(season, (None, 0)))
    keys = jax.random.split(jax.random.key(0), SEASONS)
    return {scale: jax.device_get(many(at_scale(env, scale), keys)) for scale in SCALES}


@long
def test_yield_weeds_pests_and_water_per_square_metre_do_not_depend_on_the_size_of_plots(seasons: Any) -> None:
    for name in ("harvest#kg", "weeds#nb", "pests#nb", "water#L"):
        base, *others = (float((seasons[scale][name] / (4 * scale**2)).mean()) for scale in SCALES)
        assert base > 0, name
        assert others == pytest.approx([base] * len(others), rel=0.02), name


@long
def test_actions_name_amounts_per_square_metre() -> None:
    """A plot of 9 m2 gets nine times the water, the fertilizer, the herbicide and the seeds of one of 1 m2."""
    init = {"Weather-0": {"day#int365": [120]}, "Plant-0": {"stage": ["none"]}}
    env = make_farm(ENTITIES, (2, 2), init, rules={"horizon#day": DAYS})
    orders = [
        ("Soil-0", "watering_discrete", {"amount#L": 20.0, "duration#min": 60.0}, "water#L"),
        ("Fertilizer-0", "scatter_bag", {"amount#bag": 1.0}, "fertilizer#kg"),
        ("Cide-0", "scatter_bag", {"amount#bag": 1.0}, "cide#g"),
    ]
    day = jax.jit(lambda params, action: env.transition(jax.random.key(1), env.initial(jax.random.key(0), params),
                                                        action, params))  # fmt: skip
    for entity, name, values, tally in orders:
        number = env.actions.index(("BasicFarmer-0", "Field-0", entity, name, {"plot": (0, 0), **values}))
        small, large = (float(day(at_scale(env, scale), number).totals[tally]) for scale in (1.0, 3.0))
        assert small > 0 and large == pytest.approx(9 * small, rel=1e-5), tally
    sow = ("BasicFarmer-0", "Field-0", "Plant-0", "sow", {"plot": (0, 0), "amount#seed": 20.0, "spacing#cm": 20.0})
    numbers = [int(day(at_scale(env, scale), env.actions.index(sow)).fields[0][2].population[0, 0]) for scale in (1, 3)]
    assert numbers == [20, 180]
