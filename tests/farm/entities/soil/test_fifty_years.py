"""Fifty years of a bare, unfertilised soil: its nitrogen has an equilibrium, within what is published."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from experiments.studies.common.trials import make_orders, make_trial_farm
from harvestgym.core.random import keys_for
from harvestgym.evaluate.run import evaluation_keys
from harvestgym.farm.engine.state import FarmState
from tests.long_form import long

YEARS, SEASONS, SEED, N = 50, 4, 11, 0
LEACHED = (1.5, 5.0)
"""Nitrogen in the drainage of the bare, unfertilised gauges of Rothamsted, g.m-2 a year: 4.5 at first, 2 after four
decades (Addiscott 1988, from memory, not checked), with some room."""


@long
@pytest.mark.parametrize("soil", ["loam", "sand", "clay"])
def test_unfertilised_soil_keeps_its_nitrogen_within_published_ranges(soil: str) -> None:
    bare = {"extends": "bean", "initial_stage": "none"}
    entities = [("Weather", "lille"), ("Soil", soil), ("Plant", bare)]
    env = make_trial_farm(entities, day=1, days=365 * YEARS, site="lille")
    idle = make_orders(env, ())

    def live(key: jax.Array) -> Any:
        start, days = keys_for(key, ("start", "days"))

        def day(state: FarmState, now: jax.Array) -> Any:
            new, report = env.day(now, state, idle, env.params)
            return new, (new.fields[0][1].nutrients[N].sum(), -report.flows[0]["nutrients:leaching"][N].sum())

        return jax.lax.scan(day, env.initial(start, env.params), jax.random.split(days, 365 * YEARS))[1]

    stock, leached = jax.jit(jax.vmap(live))(evaluation_keys(SEED, range(SEASONS)))
    stock = np.asarray(stock).reshape(SEASONS, YEARS, 365)
    leached = np.asarray(leached).reshape(SEASONS, YEARS, 365).sum(-1)
    assert stock.min() > 0 and stock.max() < 25, "20 to 250 kg/ha of mineral nitrogen"
    early, late = stock[:, 9:19].mean(), stock[:, -10:].mean()
    assert late == pytest.approx(early, rel=0.1), "an equilibrium"
    assert LEACHED[0] < leached[:, 1:].mean() < LEACHED[1]
