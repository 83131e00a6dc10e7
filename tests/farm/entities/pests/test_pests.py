"""Pests: eqs. (30) to (33) by hand, a day of a field, and what they cost a crop; how they move is in its own file.

Chi-squared tests reject below 1e-4, with fixed seeds; where it matters, what they would find is said.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import Pytree, replace
from harvestgym.core.rollout import evaluate
from harvestgym.farm.entities.base import Draws, Ledger, Place
from harvestgym.farm.entities.messages import Canopy, Flock, Ground, Load, Structures, zero_values
from harvestgym.farm.entities.pests import Pests, equations
from harvestgym.farm.entities.pests.equations import PESTS_MAX
from harvestgym.farm.entities.pests.pests import PestsState
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entities.weeds import Weeds
from harvestgym.farm.family import make, policies
from harvestgym.testing.entity import check_entity
from tests.farm.entities.test_parameters import perturbed
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board, check_ranges, field
from tests.long_form import long

SETS = ("basic", "nice", "agressive")
BASIC, AGGRESSIVE = Pests.named("basic"), Pests.named("agressive")
UNLIKELY = 1e-4


def drivers(distance: float = 0, reach: float = 0, t: float = 20, g: float = 0, birds: float = 0) -> dict[str, Any]:
    day = {"distance": distance, "reach": reach, "temperature": t, "pesticide": g, "birds": birds}
    return {name: jnp.float32(value) for name, value in day.items()}


def uniforms(seed: int, *shape: int) -> jax.Array:
    return jax.random.uniform(jax.random.key(seed), shape)


def fits(counts: Any, shares: Any) -> bool:
    """Return whether counts agree with probabilities, by chi-squared; what has no probability must not occur."""
    counts, shares = np.asarray(counts, float), np.asarray(shares, float)
    possible = shares > 0
    assert counts[~possible].sum() == 0
    expected = counts.sum() * shares[possible] / shares.sum()
    return stats.chisquare(counts[possible], expected).pvalue > UNLIKELY


def full(place: Place, value: float, lead: int | None = None) -> jax.Array:
    return jnp.full(place.shape if lead is None else (lead, *place.shape), value, jnp.float32)


def bare(place: Place, toxin: jax.Array | None = None) -> Ground:
    """Return a soil of nothing but what cides have left in it."""
    return message(Ground, place, toxin=0.0 if toxin is None else toxin)


def test_30_a_wave_brings_between_two_numbers_both_included() -> None:
    """A fifth number or a missing end would each change a share by 0.06; 40000 waves tell 0.01."""
    burst = partial(equations.wave_size, jnp.float32(0.3), jnp.int32(2), jnp.int32(5))
    assert fits(np.bincount(burst(*uniforms(0, 2, 40_000))), [0.7, 0, *(4 * [0.3 / 4])])
    happens, size = jnp.asarray([[0.29, 0.29, 0.31], [0.0, 1 - 2.0**-24, 0.5]])
    np.testing.assert_array_equal(burst(happens, size), [2, 5, 0])


def test_31_some_stay_some_come() -> None:
    """The sum of B(6, 0.7) and B(4, 0.2), where each of 40000 plots has its own draws."""
    n = (40_000,)
    present, edge, pair = jnp.full(n, 6), jnp.full(n, 4), tuple(uniforms(1, 2, *n))
    got = equations.arrive_and_leave(present, edge, jnp.float32(0.7), jnp.float32(0.2), (pair[0], pair[1]))
    wanted = np.convolve(stats.binom.pmf(range(7), 6, 0.7), stats.binom.pmf(range(5), 4, 0.2))
    assert fits(np.bincount(got, minlength=11), wanted)
    by_hand = [(1.0, 0.0, 6), (0.0, 1.0, 4), (1.0, 1.0, 10), (0.0, 0.0, 0)]
    for stay, appear, left in by_hand:
        chances = jnp.float32(stay), jnp.float32(appear)
        assert (
            equations.arrive_and_leave(present[:50], edge[:50], *chances, (pair[0][:50], pair[1][:50])) == left
        ).all()


def test_newcomers_find_no_room_on_a_full_plot() -> None:
    present, edge, u = jnp.asarray([[PESTS_MAX - 3, 5]]), jnp.asarray([[40, 40]]), jnp.full((1, 2), 0.5)
    got = equations.arrive_and_leave(present, edge, jnp.float32(1), jnp.float32(1), (u, u))
    np.testing.assert_array_equal(got, [[PESTS_MAX, 45]])


def test_32_arrivals_by_distance_temperature_and_pesticide() -> None:
    p = lambda **today: float(equations.p_appear(BASIC.appear, drivers(**today)))  # noqa: E731
    assert p() == pytest.approx(math.exp(-0.01))
    by_hand = math.exp(-(0.01 + 0.5 * 2 + 1.5 * (12 - 11.5) + 5 * 0.1))
    assert p(distance=2, t=11.5, g=0.1) == pytest.approx(by_hand, rel=1e-5)
    assert p(t=35.5) == pytest.approx(math.exp(-(0.01 + 1.5 * 0.5)), rel=1e-5)
    assert p(birds=9) == p(), "birds are not among the conditions of arriving"


def test_33_departures_by_distance_temperature_pesticide_and_birds() -> None:
    p = lambda **today: float(equations.p_stay(BASIC.stay, drivers(**today)))  # noqa: E731
    assert p() == pytest.approx(math.exp(-0.1))
    by_hand = math.exp(-(0.1 + 0.05 * (2 - 1) + 0.2 * (10 - 7.5) + 5 * 0.1 + 3 * (1.5 - 1)))
    assert p(distance=1, reach=2, t=7.5, g=0.1, birds=1.5) == pytest.approx(by_hand, rel=1e-5)
    assert p(birds=1) == p(), "one bird is tolerated"
    assert p(distance=3, reach=2) == p(), "only nearness to the edge is paid for"


@pytest.mark.parametrize(("shape", "reach", "nearest"), [((1, 1), 0.5, 0.5), ((3, 4), 2.0, 1.0), ((7, 7), 3.5, 0.5)])
def test_the_middle_of_the_field_keeps_its_pests_best(shape: tuple[int, int], reach: float, nearest: float) -> None:
    """By hand: the border lacks max(X, Y) / 2, the innermost plots (0, 1, 3 from the edge) the remainder."""
    place = field(shape, targets=("pests",))
    now = BASIC.compute_drivers(place, board(place, "Pests-0", ("Weather-0", air(t_mean=20)), ("Soil-0", bare(place))))
    p = equations.p_stay(BASIC.stay, now)
    np.testing.assert_allclose([p.min(), p.max()], np.exp([-0.1 - 0.05 * reach, -0.1 - 0.05 * nearest]), rtol=1e-5)


def test_a_hedge_brings_the_wild_edge_nearer() -> None:
    """By two plots of seven: all but the middle one are as near to come to and to leave as the border."""
    place = field((7, 7), targets=("pests",))
    said = [("Weather-0", air()), ("Soil-0", bare(place))]
    hedge = message(Structures, place, insect_lure=2.0)
    plain, hedged = (
        BASIC.compute_drivers(place, board(place, "Pests-0", *said, *more)) for more in ([], [("Facility-0", hedge)])
    )
    np.testing.assert_array_equal(plain["distance"], place.distance_to_edge)
    np.testing.assert_array_equal(hedged["distance"], np.maximum(place.distance_to_edge - 2, 0))
    assert (equations.p_appear(BASIC.appear, hedged) >= equations.p_appear(BASIC.appear, plain)).all()
    assert float(equations.p_stay(BASIC.stay, hedged)[2, 2]) == float(equations.p_stay(BASIC.stay, plain)[0, 0])


def test_a_wave_brings_no_fewer_at_most_than_at_least() -> None:
    with pytest.raises(ConfigError, match=r"min_population#nb: expected at most max_population#nb \(3\), got 4"):
        Pests.named({"extends": "basic", "min_population#nb": 4, "max_population#nb": 3})


def test_a_negative_intercept_is_a_certainty() -> None:
    eager = replace(BASIC.stay, intercept=jnp.float32(-1.0))
    assert float(equations.p_stay(eager, drivers())) == 1.0
    certain = replace(BASIC.appear, intercept=jnp.float32(-1.0))
    assert float(equations.p_appear(certain, drivers())) == 1.0


def test_a_plot_has_at_most_a_hundred_pests_a_square_metre() -> None:
    """A tenth of the paper's limit, so that waves of more are refused."""
    assert int(Pests.named({"extends": "basic", "max_population#nb": 100}).most) == PESTS_MAX
    with pytest.raises(ConfigError, match="max_population#nb: expected"):
        Pests.named({"extends": "basic", "max_population#nb": 101})


def sure(**changes: Any) -> Pests:
    """Return pests that all come and never leave."""
    certain = [replace(group, intercept=jnp.float32(-9.0)) for group in (BASIC.appear, BASIC.stay)]
    return replace(BASIC, appear=certain[0], stay=certain[1], **changes)


def test_the_first_of_the_coming_waves_arrives_and_is_tallied_for_the_whole_plot() -> None:
    """Five pests on a square metre and seven more at the edge: 12 on each of 4 m2."""
    place = field(scale=2.0, targets=("pests",))
    state = zero_values(Pests.State, sure().sizes(place))
    state = replace(state, population=state.population + 5, ahead=state.ahead.at[0].set(7).at[1].set(20))
    said = [("Weather-0", air()), ("Soil-0", bare(place)), ("Pests-0", message(Load, place, pests=3))]
    after, ledger = sure().update(state, place, board(place, "Pests-0", *said), drawn(BASIC, place))
    assert int(after.population[0, 0]) == 12 and float(ledger.tally["pests#nb"]) == 48
    assert after.ahead[:4, 0, 0].tolist() == [20, 0, 0, 0] and int(after.on_host[0, 0, 0]) == 3


def test_a_forecast_is_a_share() -> None:
    """However much it errs: of no wave, or of one on every plot."""
    for frequency in (0.0, 1.0):
        vague = sure(error=jnp.float32(100.0), frequency=jnp.float32(frequency), least=jnp.int32(1))
        found = np.stack([vague.init(jax.random.key(k), PLACE).forecast for k in range(4)])
        assert (found.min(), found.max()) == (0.0, 1.0)


def drawn(pests: Pests, place: Place) -> Draws:
    sizes = pests.sizes(place)
    keys = jax.random.split(jax.random.key(0), len(Pests.randomness))
    shapes = [sum((sizes[axis] for axis in axes), ()) for axes in Pests.randomness.values()]
    pairs = zip(Pests.randomness, keys, shapes, strict=True)
    return {use: jax.random.uniform(key, shape) for use, key, shape in pairs}


class Evening(Pytree):
    """Number of pests on a plot, effects on each target, birds over the field, degrees."""

    population: Any = 10
    grams: Any = (0.0, 0.0)
    eaters: Any = 0.0
    t: Any = 20.0


@jax.jit
def _evening(pests: Pests, place: Place, now: Evening) -> tuple[PestsState, Ledger]:
    state = replace(pests.init(jax.random.key(0), place), population=jnp.full(place.shape, now.population, jnp.int32))
    said = [
        ("Weather-0", replace(air(wind=20), t_mean=now.t)),
        ("Soil-0", bare(place, now.grams[:, None, None])),
        ("Plant-0", message(Canopy, place, alive=10)),
        ("Birds-0", message(Flock, place, pest_eaters=now.eaters)),
    ]
    draws = drawn(pests, place)
    load = pests.load(state, place, board(place, "Pests-0", *said), draws)
    return pests.update(state, place, board(place, "Pests-0", *said, ("Pests-0", load)), draws)


def evening(pests: Pests, place: Place, **now: Any) -> tuple[PestsState, Ledger]:
    """Return a day among ten plants a plot, with 10 pests on each unless said."""
    numbers = {name: jnp.asarray(value, jnp.float32) for name, value in vars(Evening(**now)).items()}
    return _evening(pests, place, Evening(**numbers))


def left(pests: Pests = BASIC, place: Place | None = None, **now: Any) -> int:
    """Return the pests on the whole field after a day."""
    return int(evening(pests, place or PLACE, **now)[0].population.sum())


PLACE = field((20, 20), targets=("pests", "soil"))


def test_pesticide_drives_them_away_and_the_day_is_booked() -> None:
    quiet, ledger = evening(BASIC, PLACE)
    check_ranges(quiet)
    assert 1600 < int(quiet.population.sum()) < 3600
    assert float(ledger.tally["pests#nb"]) == int(quiet.population.sum()) and not ledger.flows
    np.testing.assert_array_equal(quiet.on_host, np.full((1, 20, 20), 10), err_msg="those of the morning")
    assert left(grams=(4, 0)) == 0
    np.testing.assert_array_equal(evening(BASIC, PLACE, grams=(0, 4))[0].population, quiet.population)


def test_birds_eat_them_and_the_cold_makes_them_leave() -> None:
    assert left(eaters=1) == left()
    assert left(eaters=3) < 0.05 * left()
    assert left(t=0) < 0.3 * left()


def test_a_larger_plot_takes_more_pesticide() -> None:
    one, four = (replace(PLACE, scale=np.float32(scale)) for scale in (1, 2))  # pyright: ignore[reportArgumentType]
    assert left(place=four, grams=(0.4, 0)) == left(place=one, grams=(0.1, 0)) < 0.9 * left(place=one)


@pytest.mark.parametrize("name", SETS)
def test_a_single_plot_draws_nothing_for_steps(name: str) -> None:
    pests, place = Pests.named(name), field(targets=("pests", "soil"))
    assert drawn(pests, place)["pull"].size == drawn(pests, place)["step"].size == 0
    state, _ = evening(pests, place, population=PESTS_MAX)
    check_ranges(state)
    assert 0 < int(state.population[0, 0]) < PESTS_MAX


def test_a_set_is_named_as_the_reference_spells_it() -> None:
    with pytest.raises(ConfigError, match="agressive"):
        Pests.named("aggressive")


def test_every_parameter_matters() -> None:
    """Perturbed one by one, each changes the pests of a crowded field in the frost, heat, poison or among birds."""
    weather = jnp.asarray([20, 9.9, 36, 29, 14.5, 20, 20], jnp.float32)
    grams, eaters = jnp.zeros((7, 2)).at[5].set(0.02), jnp.zeros(7).at[6].set(1.5)
    days = Evening(population=jnp.full(7, 60), grams=grams, eaters=eaters, t=weather)
    names, changed = perturbed(AGGRESSIVE)
    sets = jax.tree.map(lambda *rows: jnp.stack(rows), AGGRESSIVE, *changed)
    day = lambda pests, now: jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(_evening(pests, PLACE, now)[0])])  # noqa: E731
    found = jax.vmap(jax.vmap(day, (None, 0)), (0, None))(sets, days)
    same = (np.asarray(found) == np.asarray(found[0])).all((1, 2))
    assert [name for name, quiet in zip(names, same[1:], strict=True) if quiet] == []


def test_forecast_without_error_gives_the_coming_waves() -> None:
    """And who is announced for tomorrow is at the edge tomorrow; the far end of the forecast is new each day."""
    sure = replace(AGGRESSIVE, error=jnp.float32(0.0), least=jnp.int32(1))
    first = sure.init(jax.random.key(1), PLACE)
    reported = np.asarray(first.ahead > 0)
    np.testing.assert_allclose(first.forecast, reported.mean((1, 2)), rtol=1e-6)
    assert reported.mean() == pytest.approx(float(sure.frequency), abs=4 * (0.1 * 0.9 / reported.size) ** 0.5)
    later, _ = evening(sure, PLACE)
    before = sure.init(jax.random.key(0), PLACE).ahead
    np.testing.assert_array_equal(later.ahead[:-1], before[1:])
    np.testing.assert_allclose(later.forecast, (np.asarray(later.ahead) > 0).mean((1, 2)), rtol=1e-6)


def test_the_error_of_a_forecast_grows_with_the_lead() -> None:
    """Its variance is that of the parameter times the lead: 4000 forecasts of half of 400 plots, hardly clipped."""
    vague = replace(BASIC, frequency=jnp.float32(0.5), least=jnp.int32(1), error=jnp.float32(0.004))
    reported = jax.vmap(lambda key: vague.init(key, PLACE).forecast)(jax.random.split(jax.random.key(2), 4000))
    wanted = 0.004 * np.arange(1, 6) + 0.25 / 400
    np.testing.assert_allclose(np.var(reported, axis=0), wanted, rtol=0.12)


@long
def test_keeps_the_contract_among_weeds() -> None:
    check_entity(AGGRESSIVE, (Weather.named("seattle"), Soil.named("clay"), Weeds.named("base_weed")), days=20)


@pytest.mark.parametrize("hosts", [(), ("Reed-0", "Reed-1")])
def test_without_a_canopy_nobody_is_loaded(hosts: tuple[str, ...]) -> None:
    """On a field without hosts, or with hosts that do not say what stands there."""
    place = replace(field((2, 2), targets=("pests",)), hosts=hosts)
    state = replace(BASIC.init(jax.random.key(0), place), population=jnp.full((2, 2), 5, jnp.int32))
    load = BASIC.load(state, place, board(place, "Pests-0"), drawn(BASIC, place))
    assert isinstance(load, Load) and load.pests.shape == (len(hosts), 2, 2) and not load.pests.any()


@long
def test_pests_take_crops_but_not_all() -> None:
    """Shares of 200 seasons of a bean plot, watered and harvested by its expert, that pests end."""
    lost = []
    for name in SETS:
        entities = [["Weather", "seattle"], ["Soil", "clay"], ["Plant", "bean"], ["Pests", name]]
        env = make("bean-1x1-v0", fields={"Field-0": {"entities": entities}})
        episodes = evaluate(env, policies(env)["expert"], jax.random.key(5), 200, 230)
        lost.append(float(np.mean(np.asarray(episodes.info["total/harvest#kg"]) == 0)))
    nice, basic, aggressive = lost[1], lost[0], lost[2]
    assert nice < 0.15 < 0.25 < basic < 0.55 < aggressive + 0.05 < 0.9
