"""Rotation: crops take turns on a plot over three years, each sown, grown, harvested and followed by another."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.policy import Policy, constant_policy, together
from harvestgym.evaluate.run import evaluate_together
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.plant.stages import GLOBAL_STAGES, Stage
from harvestgym.farm.entities.plant.state import global_stage
from harvestgym.farm.family import make
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import farm_spec
from tests.long_form import long

YEAR, SEASONS = 365, 32
DAYS = 3 * YEAR
BEAN, CORN, CARROTS = range(3)
END = "Plant-2.global_stage == harvested"
"""A game that is over when carrots are harvested; here its days go on."""


def scripted(carry: Any, obs: Any, key: jax.Array) -> Any:
    """Return the orders of a list, one a day."""
    orders, now = carry
    return (orders, now + 1), orders[now]


@partial(jax.jit, static_argnums=0)
def live(env: FarmModel, policy: Policy, keys: jax.Array) -> Any:
    """Of each season the state of every evening."""

    def season(key: jax.Array) -> Any:
        def day(now: Any, t: jax.Array) -> Any:
            state, obs, carry = now
            carry, action = policy.act(carry, obs, key)
            state, step = env.step(jax.random.fold_in(key, t), state, action, env.params)
            return (state, step.obs, carry), state

        state, first = env.reset(key, env.params)
        return jax.lax.scan(day, (state, first.obs, policy.init), jnp.arange(DAYS))[1]

    return jax.vmap(season)(keys)


MONOCULTURE = pytest.mark.xfail(
    strict=True, reason="since crops develop by degree-days, carrots in every year earn as much: the game must change"
)


@pytest.fixture(scope="module")
def seasons() -> dict[str, Any]:
    """Run three years under the expert of the catalogue, and three under orders that sow corn and beans at once."""
    env = make("rotation-v0", rules={"terminal_conditions": END})
    both = [{"amount#seed": 5}, {"amount#seed": 15}]
    orders = np.zeros(DAYS, np.int32)
    orders[60:62] = [
        env.actions.index(("BasicFarmer-0", "Field-0", f"Plant-{i}", "sow", {"plot": (0, 0), "spacing#cm": 20} | seeds))
        for i, seeds in zip((CORN, BEAN), both, strict=True)
    ]
    policies = together([rule_policy(env), Policy((orders, np.int32(0)), scripted)])
    keys = jax.random.split(jax.random.key(47), SEASONS)
    found = (jax.tree.map(np.asarray, live(env, policy, keys)) for policy in policies)
    return dict(zip(("expert", "both at once"), found, strict=True))


@pytest.fixture(scope="module")
def crops(seasons: dict[str, Any]) -> list[Any]:
    """Bean, corn and carrots of the expert's seasons, every leaf (season, evening, plot ...)."""
    return seasons["expert"].fields[0][2:5]


def events(crop: Any) -> tuple[np.ndarray, np.ndarray]:
    """Find where a bare plot was sown and a plot in fruit or ripe was cleared; (season, evening), less the first."""
    stage = crop.stage[..., 0, 0]
    was, now = stage[:, :-1], stage[:, 1:]
    return (was == Stage.NONE) & (now != Stage.NONE), np.isin(was, (Stage.FRUIT, Stage.RIPE)) & (now == Stage.NONE)


def years(happens: np.ndarray) -> np.ndarray:
    """Return how often in each year of each season; (season, 3)."""
    whole = np.concatenate([np.zeros_like(happens[:, :1]), happens], axis=1)
    return whole.reshape(SEASONS, 3, YEAR).sum(2)


def kilograms(crop: Any) -> np.ndarray:
    """Return the harvest of each day; (season, evening)."""
    return np.diff(crop.harvest_weight.sum((2, 3)), axis=1, prepend=0)


@MONOCULTURE
@long
def test_the_expert_sows_carrots_and_then_beans_in_every_year(crops: list[Any]) -> None:
    """Never corn, and nothing into a crop that stands; few years have no room for beans."""
    bean, corn, carrots = (years(events(crop)[0]) for crop in crops)
    assert (carrots >= 1).all() and (corn == 0).all() and (bean >= 1).mean() > 0.8
    assert np.sum([crop.stage[..., 0, 0] != Stage.NONE for crop in crops], axis=0).max() == 1


@MONOCULTURE
@long
def test_the_expert_harvests_both_in_most_years(crops: list[Any]) -> None:
    """In 64 of 96 or more, the carrots first."""
    bean, _, carrots = (kilograms(crop) > 0 for crop in crops)
    both = (years(bean[:, 1:]) > 0) & (years(carrots[:, 1:]) > 0)
    assert both.sum() >= 64
    first = [happens[:, :YEAR].argmax(1) for happens in (carrots, bean)]
    assert (first[0] < first[1])[both[:, 0]].all()


def again(
    crop: int,
    seeds: int,
    *windows: tuple[int, int],
    feed: tuple[float, float] = (6, 6),
    left: float = 0.03,
    water: tuple[float, int] = (46, 20),
) -> list[dict[str, Any]]:
    """Return the expert of one crop: that of the file, but it sows this one whenever the plot is bare in a window.

    Args:
        crop: number of the plant; `seeds` are sown at a time.
        windows: the first day of the year and the day after the last.
        feed: grams of nitrogen and potassium below which it scatters a bag, where less than `left` kilograms lie.
        water: litres below which it waters, and how many it gives.
    """
    plant, (dry, litres), (nitrogen, potassium) = f"Plant-{crop}", water, feed
    hungry = f"(Soil-0.available_N < {nitrogen} or Soil-0.available_K < {potassium}) and Fertilizer-0.amount < {left}"
    thirsty = f"Soil-0.available_Water < {dry} and {plant}.stage not in [none, ripe, dead]"
    return [
        {"when": f"{plant}.stage == ripe", "do": f"{plant}.harvest"},
        {"when": f"{plant}.stage == dead", "do": f"{plant}.remove"},
        {"when": [f"{first} <= Weather-0.day < {last} and {plant}.stage == none" for first, last in windows],
         "do": f"{plant}.sow", "amount#seed": seeds, "spacing#cm": 20},
        {"when": f"{hungry} and {plant}.stage in [grow, fruit]", "do": "Fertilizer-0.scatter_bag", "amount#bag": 1},
        {"when": thirsty, "do": "Soil-0.watering_discrete", "amount#L": litres, "duration#min": 60},
    ]  # fmt: skip


@MONOCULTURE
@long
def test_taking_turns_earns_more_than_any_crop_again_and_again() -> None:
    """In the mean, with disjoint 95 % intervals and by an eighth or more, and in the worst tenth of 1,000 seasons.

    Beans and carrots have the days, water and food of the best of 48 rules each, these among them, on seasons of
    another seed; corn, which earns least by far, was not searched. Mean and worst tenth: turns 13.4 and 8.2; carrots,
    whose second crop of a year is lost in most winters, 10.5 and 6.1; beans twice a year 7.8 and 6.3; corn 2.4 and 1.0.
    Resampled, the worst tenth of turns is 1.4 to 2.2 above that of beans, and 1.7 to 2.4 above that of carrots.
    """
    repeated = {
        "beans": again(BEAN, 15, (81, 129), (130, 230)),
        "corn": again(CORN, 5, (120, 160)),
        "carrots": again(CARROTS, 10, (34, 131), (143, 325), feed=(11, 8.2), left=0.0025, water=(51, 10)),
    }
    farmers = {"turns": make("rotation-v0")} | {n: make("rotation-v0", expert=r) for n, r in repeated.items()}
    policies = {name: rule_policy(env) for name, env in farmers.items()}
    found = evaluate_together("farm/rotation-v0", policies, 1_000, seed=2_000)
    turns, *others = found.values()
    for other in others:
        assert turns.summary.low > other.summary.high and turns.summary.mean > 1.125 * other.summary.mean, other.policy
        assert turns.summary.cvar10 > 1.05 * other.summary.cvar10, other.policy


@long
def test_what_is_harvested_is_what_counts(seasons: dict[str, Any], crops: list[Any]) -> None:
    total = sum(kilograms(crop).sum(1) for crop in crops)
    np.testing.assert_allclose(seasons["expert"].totals["harvest#kg"][:, -1], total, rtol=1e-5)
    for crop in crops:
        kg = kilograms(crop)
        assert (kg >= 0).all(), "the weight of all harvests, which sowing does not clear"
        assert not (kg[:, 1:] > 0)[~events(crop)[1]].any()


@MONOCULTURE
@long
def test_a_plot_remembers_its_harvest_until_it_is_sown(crops: list[Any]) -> None:
    """Each evening of each season: as on the evening before, unless it was harvested or sown that day."""
    for crop in (crops[BEAN], crops[CARROTS]):
        sown, cleared = events(crop)
        reported = crop.harvested[..., 0, 0]
        np.testing.assert_array_equal(reported[:, 1:], (reported[:, :-1] | cleared) & ~sown)
        assert reported.any() and not reported.all()


@long
def test_nothing_of_a_crop_is_left_for_the_next(crops: list[Any]) -> None:
    for crop in crops:
        empty = crop.stage == Stage.NONE
        for name in ("population", "size", "fruits", "water", "age_seed", "age_ripe", "nogrow"):
            assert not getattr(crop, name)[empty].any(), name
        assert not crop.nutrients.sum(2)[empty].any() and not crop.nutrient_stress.sum(2)[empty].any()


@long
def test_a_game_that_ends_with_a_harvest_ends_with_the_first(seasons: dict[str, Any], crops: list[Any]) -> None:
    """`harvested` is the stage of the carrots until they are sown again; a game that is over stays over."""
    carrots = crops[CARROTS]
    first = events(carrots)[1].argmax(1) + 1
    shown = np.asarray(jax.vmap(jax.vmap(global_stage))(carrots))
    since = np.arange(DAYS) >= first[:, None]
    again = np.pad(events(carrots)[0], ((0, 0), (1, 0))) & since
    waits = since & (np.cumsum(again, axis=1) == 0)
    harvested = shown == GLOBAL_STAGES.index("harvested")
    assert waits.any(1).all() and harvested[waits].all()
    assert again.any(1).mean() > 0.8 and not harvested[again].any()
    ended = np.arange(DAYS) > first[:, None]
    np.testing.assert_array_equal(seasons["expert"].over, ended)


@long
def test_two_crops_share_a_plot(seasons: dict[str, Any]) -> None:
    """Sown on two days that follow; a month later both stand, out of the seed, in all but a few seasons."""
    bean, corn, _ = seasons["both at once"].fields[0][2:5]
    assert (bean.population[:, 61] == 15).all() and (corn.population[:, 61] == 5).all()
    assert ((bean.size[:, 91] > 0) & (corn.size[:, 91] > 0)).mean() > 0.7


@long
def test_the_weather_goes_on_from_year_to_year(seasons: dict[str, Any]) -> None:
    """Generated and replayed: a day of the year comes again after 365 days, as warm as its season, not the same day."""
    place = {"latitude#°": 47.45, "longitude#°": -122.31, "altitude#m": 132.0}
    field = {"localization": place, "shape": {"length#nb": 1, "width#nb": 1}, "entities": [["Weather", "seattle"]]}
    spec = {"fields": {"Field-0": field}, "rules": {"init": {"Field-0": {"Weather-0": {"day#int365": [60]}}}}}
    keys = jax.random.split(jax.random.key(3), 4)
    replayed = live(build(farm_spec(spec, "test")), constant_policy(np.int32(0)).traced(), keys)
    for weather in (seasons["expert"].fields[0][0], jax.tree.map(np.asarray, replayed.fields[0][0])):
        np.testing.assert_array_equal(weather.day[0], (60 + np.arange(DAYS)) % YEAR + 1)
        mean = weather.temperature.mean(2).reshape(-1, 3, YEAR)
        summer, winter = mean[:, :, 90:150].mean(2), mean[:, :, 270:330].mean(2)
        assert np.isfinite(mean).all() and (summer - winter > 6).all()
        assert (mean[:, 0] != mean[:, 1]).mean() > 0.9
