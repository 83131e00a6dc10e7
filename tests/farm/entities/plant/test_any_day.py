"""Laws of any plants on any day: balances, bounds, and that plots do not touch each other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.messages import Air
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import PlantState
from harvestgym.farm.entities.soil.soil import SoilState
from tests.farm.messages import air
from tests.farm.soil_plant_day import check_ranges, earth, field
from tests.farm.stands import LOAM, a_day, stands
from tests.long_form import long

CROPS = {name: Plant.named(name) for name in ("bean", "corn", "tomato", "carrots")}
BEAN = CROPS["bean"]
KEY = jax.random.key(0)
PLACES = {scale: field((2, 3), scale) for scale in (0.5, 1.0, 2.0)}


def anything(rng: np.random.Generator, place: Place) -> PlantState:
    """Plants of any stage in any condition."""
    count = lambda high: rng.integers(0, high, place.shape)  # noqa: E731
    real = lambda high, *lead: rng.uniform(0, high, (*lead, *place.shape))  # noqa: E731
    flowers = count(30)
    pollinated = (flowers * rng.random()).astype(int)
    stages = jnp.asarray(rng.integers(0, 7, place.shape), jnp.int32)
    return BEAN.settle(KEY, stands(
        place.shape, stages, population=1 + count(30), spacing=5 + real(30), size=0.1 + real(59), flowers=flowers,
        pollinated=pollinated, fruits=(pollinated * rng.random()).astype(int), fruit_weight=0.5 + real(5),
        nutrients=real(3, 4), nutrient_stress=real(1, 4), water=real(2), water_stress=real(20), visits=count(5),
        age_seed=count(30), age_bloom=count(15), age_ripe=count(15), nogrow=count(15), noweight=count(15),
        progress=real(1.2), chill=real(60),
    ), place)  # fmt: skip


@st.composite
def mornings(draw: st.DrawFn) -> tuple[Place, tuple[PlantState, SoilState], Air, dict[str, jax.Array]]:
    """Any stand on any soil on any day."""
    place = PLACES[draw(st.sampled_from(sorted(PLACES)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    soil = earth(
        LOAM, place, *rng.uniform(0, [200.0 * float(place.surface), draw(st.sampled_from([0.1, 30.0])), 100.0])
    )
    low = draw(st.floats(-15, 30, width=32))
    weather = dict(
        zip(("humidity", "wind", "rain", "et0", "frost_days"), rng.uniform(0, [100, 60, 40, 10, 4]), strict=True)
    )
    today = air(t_min=low, t_mean=low + 5, t_max=low + 11, **weather)
    uniforms = {use: jnp.asarray(rng.random(place.shape), jnp.float32) for use in Plant.randomness}
    return place, (anything(rng, place), soil), today, uniforms


Morning = tuple[Place, tuple[PlantState, SoilState], Air, dict[str, jax.Array]]


@given(mornings(), st.sampled_from(sorted(CROPS)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_water_and_nutrients_balance_on_every_plot(morning: Morning, crop: str) -> None:
    """The flows across the boundary of plant and soil together equal the change of their contents."""
    place, before, today, uniforms = morning
    after, ledgers = a_day(CROPS[crop], before, today, uniforms, place)
    check_ranges(after[0])
    check_ranges(after[1])
    for name in ("water", "nutrients"):
        flows = [np.asarray(f, np.float64) for led in ledgers for n, f in led.flows.items() if n.startswith(name)]
        held, holds = (
            sum(np.asarray(e.holds(s)[name], np.float64) for e, s in zip((CROPS[crop], LOAM), states, strict=True))
            for states in (before, after)
        )
        gross = held + holds + sum(np.abs(f) for f in flows)
        assert (np.abs(holds - held - sum(flows)) <= 2e-6 * gross + 1e-6).all(), name


@given(mornings())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_plant_stays_within_its_bounds(morning: Morning) -> None:
    place, before, today, uniforms = morning
    (plant, _), (booked, _) = a_day(BEAN, before, today, uniforms, place)
    assert (plant.size <= BEAN.size_max).all() and (plant.fruit_weight <= BEAN.fruit_weight_max).all()
    assert (plant.pollinated <= plant.flowers).all()
    moved = np.asarray(plant.stage - before[0].stage)
    gone = (np.asarray(before[0].stage) == Stage.DEAD) & (np.asarray(plant.stage) == Stage.NONE)
    assert (np.isin(moved, (0, 1)) | (np.asarray(plant.stage) == Stage.DEAD) | gone).all()
    assert 0.0 <= float(booked.tally["stages#nb"]) <= 6.0


@long
@given(mornings())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_plot_knows_nothing_of_its_neighbours(morning: Morning) -> None:
    place, before, today, uniforms = morning
    other = jax.tree.map(lambda leaf: leaf.at[..., 0, 0].set(leaf[..., 1, 2]), before)
    a, b = (a_day(BEAN, states, today, uniforms, place)[0] for states in (before, other))
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x[..., 0, 1:], y[..., 0, 1:])
        np.testing.assert_array_equal(x[..., 1, :], y[..., 1, :])
