"""On random farms, per plot and day: what crosses the boundary is the change of what is held (hypothesis)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import FarmState
from tests.farm.one_field import make_farm
from tests.long_form import THOROUGH, long

DAYS = 60
STAGES = ["none", "seed", "grow", "bloom", "fruit", "ripe", "dead"]


def farm(weather: str, soil: str, crop: str, stage: str, day: int, scale: float) -> FarmModel:
    init = {"Weather-0": {"day#int365": day}, "Plant-0": {"stage": stage}}
    return make_farm([("Weather", weather), ("Soil", soil), ("Plant", crop)], (2, 2), init, scale=scale)


def held(env: FarmModel, state: FarmState, params: Any) -> dict[str, jax.Array]:
    amounts = [e.holds(s) for e, s in zip(params.fields[0].entities, state.fields[0], strict=True)]
    return {n: sum(a[n] for a in amounts if n in a) for n in ("water", "nutrients")}  # type: ignore[misc]


def imbalances(env: FarmModel, params: Any, key: jax.Array) -> dict[str, jax.Array]:
    """Return for each day the worst difference, relative to what is held and what flows."""

    def step(state: FarmState, now: jax.Array) -> tuple[FarmState, dict[str, jax.Array]]:
        today = jax.random.fold_in(key, now)
        index = jax.random.randint(today, (), 0, env.actions.size) * jax.random.bernoulli(today, 0.4)
        after, report = env.day(today, state, env.actions.orders(index), params)
        then, later = held(env, state, params), held(env, after, params)
        return after, {n: worst(n, then[n], later[n], report.flows[0]) for n in then}

    return jax.lax.scan(step, env.initial(key, params), jnp.arange(DAYS))[1]


def worst(substance: str, then: jax.Array, later: jax.Array, flows: dict[str, jax.Array]) -> jax.Array:
    mine = [jnp.broadcast_to(f, then.shape) for n, f in flows.items() if n.startswith(f"{substance}:")]
    scale = jnp.abs(then) + sum(jnp.abs(f) for f in mine) + 1e-3
    return jnp.max(jnp.abs(later - then - sum(mine)) / scale)


run = jax.jit(imbalances, static_argnums=0, compiler_options=THOROUGH)


@long
@settings(max_examples=40, deadline=None)
@given(
    weather=st.sampled_from(["lille", "montpellier"]),
    soil=st.sampled_from(["clay", "silt", "loam", "sand"]),
    crop=st.sampled_from(["bean", "corn", "tomato"]),
    stage=st.sampled_from(STAGES),
    day=st.integers(1, 365),
    scale=st.sampled_from([0.5, 1.0, 2.0]),
    seed=st.integers(0, 2**31 - 1),
)
def test_water_and_nutrients_balance(
    weather: str, soil: str, crop: str, stage: str, day: int, scale: float, seed: int
) -> None:
    """To 2e-6 of what is held and flows: some roundings of a float32, whose step is 6e-8 of a number."""
    env = farm(weather, soil, crop, stage, day, scale)
    found = run(env, env.params, jax.random.key(seed))
    for substance, each in found.items():
        assert float(np.max(each)) < 2e-6, substance
