"""Rotation: three crops take turns on a plot over three years, each sown, grown, harvested and followed by another."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.policy import Policy, constant_policy, together
from harvestgym.farm.build import build
from harvestgym.farm.entities.plant.state import GLOBAL_STAGES, Stage, global_stage
from harvestgym.farm.make import make
from harvestgym.farm.model import FarmModel
from harvestgym.farm.policies.rules import rule_policy
from harvestgym.farm.spec import farm_spec

YEAR, SEASONS = 365, 32
DAYS = 3 * YEAR
BEAN, CORN, CARROTS = range(3)
END = [[[["Field-0", "Plant-2", "global_stage", []], "value", "in", ["harvested"]]]]
"""A game that is over when carrots are harvested; here its days go on."""


def scripted(carry: Any, obs: Any, key: jax.Array) -> Any:
    """The orders of a list, one a day."""
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


@pytest.fixture(scope="module")
def seasons() -> dict[str, Any]:
    """Three years under the expert of the catalogue, and three under orders that sow corn and beans at once."""
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
    """Where a bare plot was sown and where one in fruit or ripe was cleared; (season, evening), the first left out."""
    stage = crop.stage[..., 0, 0]
    was, now = stage[:, :-1], stage[:, 1:]
    return (was == Stage.NONE) & (now != Stage.NONE), np.isin(was, (Stage.FRUIT, Stage.RIPE)) & (now == Stage.NONE)


def years(happens: np.ndarray) -> np.ndarray:
    """How often in each year of each season; (season, 3)."""
    whole = np.concatenate([np.zeros_like(happens[:, :1]), happens], axis=1)
    return whole.reshape(SEASONS, 3, YEAR).sum(2)


def kilograms(crop: Any) -> np.ndarray:
    """The harvest of each day; (season, evening)."""
    return np.diff(crop.harvest_weight.sum((2, 3)), axis=1, prepend=0)


def test_the_expert_sows_each_crop_in_its_years(crops: list[Any]) -> None:
    """Carrots in the first and the third, and in the second beans and then corn: in every one of the seasons."""
    bean, corn, carrots = (years(events(crop)[0]) for crop in crops)
    assert (bean == [0, 1, 0]).all()
    assert (corn[:, [0, 2]] == 0).all() and (corn[:, 1] <= 1).all()
    assert (carrots[:, [0, 2]] >= 1).all() and (carrots <= 2).all()
    instead = carrots[:, 1] > 0
    assert not (instead & (corn[:, 1] > 0)).any(), "carrots in the second year are for beans that bore nothing"


def test_the_expert_harvests_all_three(crops: list[Any]) -> None:
    """In 24 seasons of 32 or more: 91 % of 256 did. An expert of whom only half do would pass once in 300 times."""
    bean, corn, carrots = (years(kilograms(crop)[:, 1:] > 0) for crop in crops)
    whole = (bean[:, 1] > 0) & (corn[:, 1] > 0) & (carrots[:, [0, 2]] > 0).all(1)
    assert whole.sum() >= 24
    first = [kilograms(crop).argmax(1) for crop in (crops[BEAN], crops[CORN])]
    assert (first[0] < first[1])[whole].all(), "beans before corn"


def test_what_is_harvested_is_what_counts(seasons: dict[str, Any], crops: list[Any]) -> None:
    total = sum(kilograms(crop).sum(1) for crop in crops)
    np.testing.assert_allclose(seasons["expert"].totals["harvest#kg"][:, -1], total, rtol=1e-5)
    for crop in crops:
        kg = kilograms(crop)
        assert (kg >= 0).all(), "the weight of all harvests, which sowing does not clear"
        assert not (kg[:, 1:] > 0)[~events(crop)[1]].any()


def test_a_plot_remembers_its_harvest_until_it_is_sown(crops: list[Any]) -> None:
    """Each evening of each season: as on the evening before, unless it was harvested or sown that day."""
    for crop in crops:
        sown, cleared = events(crop)
        told = crop.harvested[..., 0, 0]
        np.testing.assert_array_equal(told[:, 1:], (told[:, :-1] | cleared) & ~sown)
        assert told.any() and not told.all()


def test_nothing_of_a_crop_is_left_for_the_next(crops: list[Any]) -> None:
    for crop in crops:
        empty = crop.stage == Stage.NONE
        for name in ("population", "size", "fruits", "water", "age_seed", "age_ripe", "nogrow"):
            assert not getattr(crop, name)[empty].any(), name
        assert not crop.nutrients.sum(2)[empty].any() and not crop.nutrient_stress.sum(2)[empty].any()


def test_a_game_that_ends_with_a_harvest_ends_with_the_first(seasons: dict[str, Any], crops: list[Any]) -> None:
    """`harvested` is the stage of the carrots until they are sown again; a game that is over stays over."""
    carrots = crops[CARROTS]
    first = events(carrots)[1].argmax(1) + 1
    shown = np.asarray(jax.vmap(jax.vmap(global_stage))(carrots))
    rows = np.arange(SEASONS)
    assert (shown[rows, first] == GLOBAL_STAGES.index("harvested")).all()
    assert (shown[rows, -1] == GLOBAL_STAGES.index("harvested")).mean() > 0.8
    again = events(carrots)[0] & (np.arange(DAYS - 1) > first[:, None])
    assert again.any(1).all() and not (shown[:, 1:] == GLOBAL_STAGES.index("harvested"))[again].any()
    ended = np.arange(DAYS) > first[:, None]
    np.testing.assert_array_equal(seasons["expert"].over, ended)


def test_two_crops_share_a_plot(seasons: dict[str, Any]) -> None:
    """Sown on two days that follow; a month later both stand, out of the seed, in all but a few seasons."""
    bean, corn, _ = seasons["both at once"].fields[0][2:5]
    assert (bean.population[:, 61] == 15).all() and (corn.population[:, 61] == 5).all()
    assert ((bean.size[:, 91] > 0) & (corn.size[:, 91] > 0)).mean() > 0.7


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
