"""Weeds: eqs. (26) to (29) by hand, seeds that are nowhere lost, and balances that close in company."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from harvestgym.core.pytree import replace
from harvestgym.farm.engine.field_day import allocate
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Place
from harvestgym.farm.entities.messages import Air, Canopy, Ground, Message, Need, Share
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entities.weeds import Weeds, equations
from harvestgym.farm.entities.weeds.equations import WEEDS_MAX
from harvestgym.farm.entities.weeds.weeds import WeedsState
from harvestgym.testing.entity import check_entity, held
from tests.farm import soil_plant_day
from tests.farm.messages import air, message, stacked_needs
from tests.farm.one_field import make_farm
from tests.farm.soil_plant_day import board, check_ranges
from tests.long_form import long

WEED = Weeds.named({"extends": "base_weed", "size#cm": 30})
SETS = ("base_weed", "grass", "invasive")
FAVOURABLE = {
    "distance_to_edge": 0.0, "temperature": 20.0, "humidity": 60.0, "herbicide": 0.0, "N": -1.0, "P": -1.0, "K": -1.0,
    "C": -1.0, "water": -0.5, "strain_growth": 0.0, "strain_death": 0.0,
}  # fmt: skip

DRIVERS: dict[str, Any] = {name: np.float32(value) for name, value in FAVOURABLE.items()}


field = partial(soil_plant_day.field, targets=("weeds",), hosts=("Weeds-0",))


def state_of(place: Place, **changes: Any) -> WeedsState:
    clean = WEED.init(jax.random.key(0), place)
    full = {
        n: jnp.broadcast_to(jnp.asarray(v, getattr(clean, n).dtype), getattr(clean, n).shape)
        for n, v in changes.items()
    }
    return replace(clean, **full)


def ground(place: Place, water: float = 150.0, nutrients: float = 20.0, herbicide: float = 0.0) -> Ground:
    """Return a clay of half a metre: capacity 180 L, wilting point 110 L."""
    bucket = {"water": water, "extractable": max(water - 110, 0), "capacity": 180, "wilting": 110}
    return message(Ground, place, **bucket, nutrients=nutrients, microlife=1, toxin=herbicide)


def morning(state: WeedsState, place: Place, today: Air, soil: Ground, *others: tuple[str, Message]) -> Board:
    """Return the inputs of the weeds: weather, soil, canopies, their own need and their share."""
    said: list[tuple[str, Message]] = [("Weather-0", today), ("Soil-0", soil), *others]
    said.append(("Weeds-0", WEED.canopy(state, place, board(place, "Weeds-0"), {})))
    need = WEED.need(state, place, board(place, "Weeds-0", *said), {})
    share = allocate(jax.tree.map(lambda leaf: leaf[None], need), soil, [1])
    return board(place, "Weeds-0", *said, ("Weeds-0", need), ("allocator", share))


def uniforms(place: Place, seed: int) -> dict[str, jax.Array]:
    sizes = WEED.sizes(place)
    shapes = {use: sum((sizes[a] for a in axes), ()) for use, axes in Weeds.randomness.items()}
    keys = jax.random.split(jax.random.key(seed), len(shapes))
    return {use: jax.random.uniform(key, shape) for key, (use, shape) in zip(keys, shapes.items(), strict=True)}


@jax.jit
def live(state: WeedsState, place: Place, today: Air, soil: Ground, draws: dict[str, jax.Array]) -> Any:
    return WEED.update(state, place, morning(state, place, today, soil), draws)


@jax.jit
def moves(state: WeedsState, place: Place, today: Air, soil: Ground, draws: dict[str, jax.Array]) -> Any:
    return WEED.draw_moves(state, place, morning(state, place, today, soil), draws)


def chance(which: str, **changes: float) -> float:
    drivers: dict[str, Any] = DRIVERS | changes
    return float(getattr(equations.daily_chances(WEED, drivers), which))


def mean_moves(groups: tuple[int, int, int], p: dict[str, float], arrivals: int = 0) -> dict[str, tuple[float, int]]:
    """Return the mean over 3000 plots of what `moves` draws, by name."""
    shape = (60, 50)
    now = tuple(jnp.full(shape, n, jnp.int32) for n in groups)
    full = equations.DailyChances(*(jnp.full(shape, p.get(n, 0.0)) for n in equations.DailyChances._fields))
    got = jax.jit(equations.draw_fates)(
        jnp.int32(arrivals), now, full, jax.random.uniform(jax.random.key(5), (4, *shape, 2))
    )
    return {name: (float(np.mean(v)), int(np.max(v))) for name, v in got._asdict().items()}


def close(mean: float, n: int, p: float) -> bool:
    """Within four standard errors of the mean of 3000 binomials (a true law fails once in 16 000)."""
    return abs(mean - n * p) <= 4 * math.sqrt(n * p * (1 - p) / 3000)


def test_26_seeds_arrive_from_the_edge() -> None:
    for distance in (0, 1, 3):
        window = WEED.appear.distance_to_edge
        p = math.exp(-(float(WEED.appear.intercept) + float(window.sensitivity) * distance))
        assert chance("appear", distance_to_edge=distance) == pytest.approx(p, rel=1e-5)
    mean, most = mean_moves((0, 0, 0), {"appear": 0.3}, arrivals=7)["arrived"]
    assert close(mean, 7, 0.3) and 3 < most <= 7


def test_27_seeds_grow_by_temperature_humidity_and_herbicide() -> None:
    grow = WEED.grow
    base = float(grow.intercept)
    assert chance("grow") == pytest.approx(math.exp(-base), rel=1e-5)
    cold, dry, sprayed = ({"temperature": 4.0}, {"humidity": 15.0}, {"herbicide": 2.0})
    assert chance("grow", **cold) == pytest.approx(math.exp(-base - 0.3 * 3), rel=1e-5)
    assert chance("grow", **dry) == pytest.approx(math.exp(-base - 0.2 * 5), rel=1e-5)
    assert chance("grow", **sprayed) == pytest.approx(math.exp(-base - 0.8 * (2 - 0.3)), rel=1e-5)
    assert chance("grow", strain_growth=0.5) == pytest.approx(math.exp(-base - 0.5), rel=1e-5)
    assert chance("grow", water=1.0, N=9.0) == chance("grow"), "disregarding water"
    assert close(mean_moves((90, 0, 0), {"grow": 0.2})["sprouted"][0], 90, 0.2)


def test_28_growing_weeds_bloom_less_under_herbicide() -> None:
    base = float(WEED.bloom.intercept)
    assert chance("bloom", temperature=-20.0) == pytest.approx(math.exp(-base), rel=1e-5)
    assert chance("bloom", herbicide=1.3) == pytest.approx(math.exp(-base - 0.8), rel=1e-5)
    got = mean_moves((0, 80, 0), {"bloom": 0.3, "stay": 0.9})
    assert close(got["bloomed"][0], 80, 0.3 * 0.9) and close(got["growing"][0], 80, 0.7 * 0.9)


def test_29_weeds_stay_alive_by_temperature_herbicide_nutrients_and_water() -> None:
    stay = WEED.stay
    base = float(stay.intercept)
    assert chance("stay") == pytest.approx(math.exp(-base), rel=1e-6)
    for driver, beyond in {"temperature": 3.0, "herbicide": 0.7, "N": 0.002, "K": 0.002, "water": 0.05}.items():
        window = getattr(stay, driver)
        price = float(window.sensitivity) * beyond
        got = chance("stay", **{driver: float(window.high) + beyond})
        assert got == pytest.approx(math.exp(-base - price), rel=1e-5), driver
    assert chance("stay", strain_death=0.2) == pytest.approx(math.exp(-base - 0.2), rel=1e-5)
    assert chance("stay", strain_death=-5.0) == 1.0, "what helps cannot make more than certain"
    got = mean_moves((0, 100, 100), {"stay": 0.6})
    assert close(got["growing"][0], 100, 0.6) and close(got["flowering"][0], 100, 0.6)


def test_the_drought_of_a_weed_is_that_of_equation_5() -> None:
    """w = 0.9 * 110 + 0.1 * 180 = 117 L: at 113.5 L, 3.5 L short, that is a twentieth of the 70 L for plants."""
    place = field()
    state = state_of(place, growing=10)
    day = WEED.compute_drivers(state, place, morning(state, place, air(), ground(place, water=113.5)))
    np.testing.assert_allclose(day["water"], [[0.05]], atol=1e-6)
    bare = WEED.compute_drivers(state, place, morning(state, place, air(), ground(place, nutrients=0.0)))
    np.testing.assert_allclose(bare["N"], [[float(WEED.nutrients[0]) * 300]], rtol=1e-5)


def test_flowers_turn_into_seeds_of_a_given_number() -> None:
    got = mean_moves((0, 0, 60), {"shed": 0.25, "stay": 1.0})
    assert close(got["shed"][0], 60, 0.25) and close(got["flowering"][0], 60, 0.75)
    flowering = jax.jit(lambda weed, now, place: weed.update(
        now, place, morning(now, place, air(), ground(place)), uniforms(place, 0)
    ))  # fmt: skip
    place = field()
    state = state_of(place, flowering=200)
    rich = replace(WEED, shed_rate=np.float32(1.0), flowers=np.int32(2), seeds=np.int32(1), arrivals=np.int32(0))
    few = state_of(place, flowering=20)
    for before, seeds in ((few, 40), (state, WEEDS_MAX)):
        after, _ = flowering(rich, before, place)
        left = int(before.flowering[0, 0]) - int(after.flowering[0, 0])
        assert int(after.seeds[0, 0]) == min(2 * left, WEEDS_MAX) <= seeds and left > 15


def scatter(seeds: Any, key: int) -> np.ndarray:
    counts = jnp.asarray(seeds, jnp.int32)
    return np.asarray(
        jax.jit(equations.scatter_seeds)(counts, jax.random.uniform(jax.random.key(key), (2, *counts.shape, 2)))
    )


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 2)])
def test_no_seed_is_lost_or_made_in_the_scatter(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    for key in range(3):
        seeds = rng.integers(0, WEEDS_MAX + 1, shape)
        assert scatter(seeds, key).sum() == seeds.sum()
    assert scatter(np.full(shape, WEEDS_MAX), 9).sum() == WEEDS_MAX * shape[0] * shape[1]


throws = jax.jit(jax.vmap(equations.scatter_seeds))
UNIFORMS = (2000, 2, 4, 4, 2)


@pytest.mark.parametrize("plot", [(2, 2), (0, 0), (3, 1)])
def test_seeds_fall_uniformly_on_the_plots_around(plot: tuple[int, int]) -> None:
    """Chi-square over 2000 throws of 30 seeds at level 1e-3; a neighbour that got a tenth less would be seen."""
    seeds = jnp.zeros((2000, 4, 4), jnp.int32).at[:, plot[0], plot[1]].set(30)
    total = np.asarray(throws(seeds, jax.random.uniform(jax.random.key(3), UNIFORMS))).sum(0)
    x, y = np.indices((4, 4))
    near = (abs(x - plot[0]) <= 1) & (abs(y - plot[1]) <= 1)
    assert total[~near].sum() == 0 and total.sum() == 60_000
    assert chisquare(total[near]).pvalue > 1e-3


def test_seeds_fall_each_for_itself() -> None:
    """Of 30 seeds the centre receives a binomial of 1/9: its variance over 2000 throws, and that of a corner."""
    seeds = jnp.zeros((2000, 4, 4), jnp.int32).at[:, 1, 1].set(30)
    got = np.asarray(throws(seeds, jax.random.uniform(jax.random.key(4), UNIFORMS)))
    for count in (got[:, 1, 1], got[:, 0, 2]):
        assert count.var() == pytest.approx(30 / 9 * 8 / 9, rel=0.15), "four standard errors of a variance"
    joint = np.cov(got[:, 0, 0], got[:, 2, 2])[0, 1]
    assert joint == pytest.approx(-30 / 81, abs=0.28), "of a multinomial; four standard errors"


def test_counts_are_conserved_through_a_day() -> None:
    place = field((3, 3))
    for key in range(4):
        before = state_of(place, seeds=40, growing=30, flowering=10)
        soil, draws = ground(place), uniforms(place, key)
        after, _ = live(before, place, air(), soil, draws)
        got = moves(before, place, air(), soil, draws)
        new = int(np.sum(got.arrived)) + int(np.sum(got.shed)) * int(WEED.flowers) * int(WEED.seeds)
        assert int(after.seeds.sum()) == 40 * 9 - int(np.sum(got.sprouted)) + new
        np.testing.assert_array_equal(after.growing, got.growing + got.sprouted)
        np.testing.assert_array_equal(after.flowering, got.flowering + got.bloomed)
        assert (got.growing + got.bloomed <= 30).all() and (got.flowering + got.shed <= 10).all()


def test_no_plot_has_more_than_its_room() -> None:
    place = field((3, 3))
    state = state_of(place, seeds=WEEDS_MAX, growing=150, flowering=100)
    for key in range(30):
        state, _ = live(state, place, air(), ground(place), uniforms(place, key))
        check_ranges(state)
        assert int((state.growing + state.flowering).max()) <= WEEDS_MAX


def test_fewer_seeds_arrive_the_farther_from_the_edge() -> None:
    """On a clean field of 7 x 7, a day of 250 possible arrivals; and without arrivals nothing comes."""
    place, draws = field((7, 7)), uniforms(field((7, 7)), 0)
    window = replace(WEED.appear.distance_to_edge, sensitivity=np.float32(1.0))
    sure = replace(WEED.appear, intercept=np.float32(0.0), distance_to_edge=window)
    none = jnp.zeros(place.shape, jnp.int32)
    groups = (none, none, none)
    drivers: dict[str, Any] = {**DRIVERS, "distance_to_edge": place.distance_to_edge}
    p = equations.daily_chances(replace(WEED, appear=sure), drivers)
    got = equations.draw_fates(jnp.int32(WEEDS_MAX), groups, p, draws["fates"])
    for d in range(4):
        ring = np.asarray(got.arrived)[place.distance_to_edge == d]
        assert abs(ring.mean() - 250 * math.exp(-d)) <= 4 * math.sqrt(250 * math.exp(-d) / len(ring))
    nothing = equations.draw_fates(jnp.int32(0), groups, p, draws["fates"])
    assert not any(np.any(leaf) for leaf in nothing)


def test_a_mirrored_field_fares_alike() -> None:
    """From one weedy corner and from its mirror image, seeds after a day have the same law (400 days each)."""
    place = field((3, 2))
    corner = state_of(place)
    corner = replace(corner, flowering=corner.flowering.at[0, 0].set(200))
    mirror = replace(corner, flowering=corner.flowering[::-1, ::-1])
    keys = jax.random.split(jax.random.key(8), 400)
    sizes = WEED.sizes(place)
    shapes = {use: sum((sizes[a] for a in axes), ()) for use, axes in Weeds.randomness.items()}
    draws = {use: jax.vmap(lambda k, s=shape: jax.random.uniform(k, s))(keys) for use, shape in shapes.items()}
    days = jax.jit(jax.vmap(lambda s, d: live(s, place, air(), ground(place), d)[0].seeds, (None, 0)))
    a, b = np.asarray(days(corner, draws)), np.asarray(days(mirror, draws))[:, ::-1, ::-1]
    error = np.sqrt((a.var(0) + b.var(0)) / 400)
    assert (abs(a.mean(0) - b.mean(0)) <= 4.5 * error + 1e-9).all() and a[:, :2].mean() > 2 * a[:, 2].mean() > 0


def test_remove_takes_the_stand_and_spares_the_seeds() -> None:
    place = field((1, 3))
    standing = state_of(place, seeds=9, growing=4, flowering=2, water=0.5, nutrients=0.1, remains=0.2)
    state = replace(standing, growing=standing.growing.at[0, 2].set(0), flowering=standing.flowering.at[0, 2].set(0))
    result = WEED.remove(state, place, jnp.asarray([[True, False, True]]))
    np.testing.assert_array_equal(result.done, [[True, False, False]])
    np.testing.assert_array_equal(result.state.seeds, [[9, 9, 9]])
    np.testing.assert_array_equal(result.state.growing, [[0, 4, 0]])
    np.testing.assert_array_equal(result.state.flowering, [[0, 2, 0]])
    np.testing.assert_allclose(result.ledger.flows["water:export"], [[-0.5, 0, 0]])
    np.testing.assert_allclose(result.ledger.flows["nutrients:export"][:, 0, 0], [-0.1] * 4, rtol=1e-6)
    np.testing.assert_allclose(result.state.remains, state.remains)


def test_herbicide_kills_and_frost_does() -> None:
    place = field((2, 2))
    before = state_of(place, growing=100, flowering=100)
    spared, _ = live(before, place, air(), ground(place), uniforms(place, 1))
    sprayed, _ = live(before, place, air(), ground(place, herbicide=3.0), uniforms(place, 1))
    frozen, _ = live(before, place, air(t_mean=-20.0), ground(place), uniforms(place, 1))
    assert float((spared.growing + spared.flowering).min()) > 170
    for killed in (sprayed, frozen):
        assert float((killed.growing + killed.flowering).max()) < 80
        np.testing.assert_allclose(killed.nutrients + killed.remains, spared.nutrients + spared.remains, rtol=1e-5)
        assert (np.asarray(killed.remains) > 0).all()


def test_what_a_stand_asks_by_hand() -> None:
    """Twelve weeds of 30 cm per m2 on 2 m x 2 m: discs of 3.39 m2, 5 mm of ET_0, 7.2 L in their bodies."""
    place = field(scale=2.0)
    state = state_of(place, growing=8, flowering=4, water=1.0)
    now = morning(state, place, air(et0=5.0), ground(place))
    canopy, need = now.read_own(Canopy), now.read_own(Need)
    disc = 48 * math.pi * 0.15**2
    np.testing.assert_allclose(canopy.shade, [[disc / 4]], rtol=1e-5)
    np.testing.assert_allclose(canopy.flowers, [[16 * float(WEED.flowers)]])
    np.testing.assert_allclose(need.water, [[5 * 1.03 * disc + 48 * 300 * 0.5 / 1000 - 1]], rtol=1e-5)
    np.testing.assert_allclose(need.nutrients[:, 0, 0], np.asarray(WEED.nutrients) * 300 * 48, rtol=1e-5)


def test_weeds_in_the_shade_of_a_crop_drink_less() -> None:
    place = field(hosts=("Plant-0", "Weeds-0"))
    state = state_of(place, growing=50, water=7.5)
    tall, thin = (message(Canopy, place, shade=shade, height=48) for shade in (0.8, 0.0))
    own = WEED.canopy(state, place, board(place, "Weeds-0"), {})
    asked = []
    for crop in (thin, tall):
        said = [("Weather-0", air()), ("Soil-0", ground(place)), ("Plant-0", crop), ("Weeds-0", own)]
        asked.append(float(WEED.need(state, place, board(place, "Weeds-0", *said), {}).water[0, 0]))
    assert asked[1] == pytest.approx(asked[0] * (1 - 0.8 * 48 / 78), rel=1e-5)


def test_a_start_holds_nothing_where_nothing_stands_and_has_room() -> None:
    place = field((1, 2))
    wild = state_of(place, seeds=9, growing=WEEDS_MAX, flowering=WEEDS_MAX, water=3.0, nutrients=1.0)
    wild = replace(wild, growing=wild.growing.at[0, 1].set(0), flowering=wild.flowering.at[0, 1].set(0))
    state = WEED.settle(jax.random.key(0), wild, place)
    np.testing.assert_array_equal(state.growing + state.flowering, [[WEEDS_MAX, 0]])
    np.testing.assert_array_equal(state.water, [[3.0, 0.0]])
    np.testing.assert_array_equal(state.nutrients[:, 0], [[1.0, 0.0]] * 4)


@long
def test_a_weed_keeps_the_contract() -> None:
    check_entity(WEED, [Weather.named("montpellier"), Soil.named("loam")], days=20)


def test_the_three_weeds_differ_as_their_names_say() -> None:
    base, grass, invasive = (Weeds.named(name) for name in SETS)
    assert grass.size <= base.size < invasive.size
    assert grass.stay.temperature.low < base.stay.temperature.low, "grass endures the winter"
    assert grass.flowers * grass.seeds < base.flowers * base.seeds < invasive.flowers * invasive.seeds


def farm(seeds: int, growing: int) -> FarmModel:
    entities = [("Weather", "montpellier"), ("Soil", "clay"), ("Plant", "bean"), ("Weeds", "base_weed")]
    weeds = {"seeds#nb": seeds, "grow#nb": growing}
    init = {"Weather-0": {"day#int365": 110}, "Plant-0": {"stage": "grow"}, "Weeds-0": weeds}
    return make_farm(entities, (3, 2), init)


DAYS = 60


@long
def test_balances_close_and_weeds_count_for_sixty_random_days_in_company() -> None:
    """Water and nutrients per plot and day, to 1e-5 of what is held; actions at random."""
    env = farm(seeds=60, growing=20)
    params, key = env.params, jax.random.key(2)

    def step(state: Any, now: jax.Array) -> Any:
        today = jax.random.fold_in(key, now)
        index = jax.random.randint(today, (), 0, 40) * jax.random.bernoulli(today, 0.3)
        after, report = env.day(today, state, env.actions.orders(index), params)
        return after, (after.fields[0], report)

    first = env.initial(key, params)
    _, (fields, report) = jax.jit(lambda s: jax.lax.scan(step, s, jnp.arange(DAYS)))(first)
    series = jax.tree.map(lambda a, b: np.concatenate([np.asarray(a)[None], np.asarray(b)]), first.fields[0], fields)
    for t in range(DAYS):
        then, now = (jax.tree.map(lambda leaf, t=t: leaf[t], series) for t in (t, t + 1))
        for substance in ("water", "nutrients"):
            was, is_ = (held(params.fields[0].entities, states, substance) for states in (then, now))
            flows = (np.asarray(f[t], np.float64) for n, f in report.flows[0].items() if n.startswith(f"{substance}:"))
            np.testing.assert_allclose(is_ - was, sum(flows), atol=1e-5 * (1 + was.max()), err_msg=f"{substance} {t}")
    weeds = series[3]
    np.testing.assert_array_equal(report.tally["weeds#nb"], (weeds.growing + weeds.flowering)[1:].sum((1, 2)))
    assert report.tally["weeds#nb"].max() > 200 and (weeds.seeds[1:] > 0).any()


def test_weeds_drink_before_the_crop() -> None:
    """A clay with 3 L to give, while the weeds alone would drink 5 L: the crop gets none."""
    env = farm(seeds=0, growing=100)
    entities = env.fields[0].hosts
    assert [slot.kind.priority for slot in entities] == [0, 1]
    place = field(hosts=("Plant-0", "Weeds-0"))
    asked = stacked_needs(place, {"water": 4.0}, {"water": 5.0})
    share: Share = allocate(asked, ground(place, water=113.0), [slot.kind.priority for slot in entities])
    np.testing.assert_allclose(share.water[:, 0, 0], [0.0, 3.0])
