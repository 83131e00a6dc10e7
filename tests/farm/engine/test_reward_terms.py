"""Reward terms in addition to BasicScore: leaching, prices, the life of the soil."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest

from harvestgym import make
from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError
from harvestgym.core.risk import CVaR, Entropic
from harvestgym.farm import BasicRule, BasicScore, Farm, Field, FilesWritten
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.reward_terms import SCORE_TERMS, Market, RewardContext, Score, SoilHealth
from harvestgym.farm.entities.soil import equations
from harvestgym.farm.family import from_yaml, risk
from harvestgym.farm.schema import json_schema
from tests.farm.entities.soil.test_soil import LOAM, full, state_of, tomorrow
from tests.farm.messages import air
from tests.farm.one_field import LILLE, make_farm
from tests.farm.soil_plant_day import field

PRICES = {"water#L": -0.002, "leached_N#g": -0.5, "leached_cide#g": -20.0}


def test_the_nitrogen_that_is_tallied_is_what_the_flows_say() -> None:
    place = field((2, 3), scale=2.0)
    _, ledger = tomorrow(LOAM, state_of(place), place, air(rain=30, rain_intensity=0.4))
    reported = float(ledger.tally["leached_N#g"])
    assert reported == pytest.approx(-float(ledger.flows["nutrients:leaching"][0].sum()), rel=1e-6) and reported > 0


def test_rain_and_decay_share_what_is_lost_of_a_cide_as_their_rates_do() -> None:
    """A thousand small steps of a day, and in each both take their part of the rest."""
    strength, decay, life = np.float32(0.3), np.float32(0.8), np.float32(0.5)
    left, washed = 5.0, 0.0
    for _ in range(1000):
        rain, rot = strength / 1000 * left, decay * life / 1000 * left
        left, washed = left - rain - rot, washed + rain
    after = equations.cide_left(jnp.float32(5.0), *map(jnp.asarray, (strength, decay, life)))
    reported = equations.cide_leached(5.0 - after, *map(jnp.asarray, (strength, decay, life)))
    assert float(after) == pytest.approx(left, rel=1e-3) and float(reported) == pytest.approx(washed, rel=1e-3)


def test_cide_is_kept_without_rain_or_life() -> None:
    place = field(targets=("soil", "weeds"))
    sprayed = state_of(place, cide=full(place, 2.0, 2))
    _, dry = tomorrow(LOAM, sprayed, place, air())
    assert float(dry.tally["leached_cide#g"]) == 0.0
    _, wet = tomorrow(LOAM, sprayed, place, air(rain_intensity=0.4))
    assert 0 < float(wet.tally["leached_cide#g"]) < 4.0
    assert float(equations.cide_leached(jnp.float32(0), jnp.float32(0), LOAM.cide_decay, jnp.float32(0))) == 0.0


def test_the_life_of_the_soil_is_paid_once_above_what_is_wanted() -> None:
    context = RewardContext({}, {}, {"soil": jnp.float32(0.7)}, lambda *_: jnp.zeros(()), jnp.int32(0))
    term = SoilHealth(weight=np.float32(10.0), wanted=np.float32(0.5))  # pyright: ignore[reportArgumentType]
    assert float(term.final(context)) == pytest.approx(2.0, rel=1e-6) and float(term.daily(context)) == 0.0


def test_each_crop_fetches_its_own_price() -> None:
    kilograms = {"Plant-0": jnp.float32([[0.5, 0.25]]), "Plant-1": jnp.float32([[2.0, 1.0]])}
    context = RewardContext({}, {}, {}, lambda field, plant, key: kilograms[plant], jnp.int32(0))
    term = Market(prices={"Field-0/Plant-0": jnp.float32(4.0), "Field-0/Plant-1": jnp.float32(-0.5)})
    assert float(term.final(context)) == 0.75 * 4 - 3 * 0.5 and float(term.daily(context)) == 0.0


@pytest.mark.parametrize(
    ("term", "unit", "worth"),
    [
        ("resource", "water#L", -1.0), ("resource", "fertilizer#kg", -1.0), ("resource", "cide#g", -0.001),
        ("bio", "birds#nb", 1.0), ("bio", "pollinators#nb", 0.5), ("bio", "weeds#nb", 0.1), ("bio", "pests#nb", 0.01),
        ("yield", "harvest#kg", 1.0),
    ],
)  # fmt: skip
def test_what_a_unit_of_a_tally_is_worth(term: str, unit: str, worth: float) -> None:
    """The weights of the reference implementation."""
    none: Any = np.zeros(0)
    weights: Any = np.ones(len(SCORE_TERMS))
    score = Score(intervention_costs=none, observation_costs=none, stage=np.float32(0), weights=weights, terms={})
    context = RewardContext({}, {unit: jnp.float32(2.0)}, {}, lambda *_: jnp.zeros(()), jnp.int32(0))
    assert float(score.final(context)[term]) == pytest.approx(2 * worth)


def score(terms: dict[str, Any] | None = None, **numbers: Any) -> Score:
    """Return a score of numbers that differ, with two rows of actions."""
    costs, weights = np.float32([2.0, 5.0]), np.float32([0.5, 0.25, 1.0, 0.75, 0.1])
    plain: dict[str, Any] = {
        "intervention_costs": costs,
        "observation_costs": np.zeros(0),
        "stage": np.float32(3),
        "weights": weights,
    }
    return Score(**(plain | numbers), terms=terms or {})


def context(today: dict[str, float], totals: dict[str, float], indices: dict[str, float]) -> RewardContext:
    numbers: Any = [{name: jnp.float32(v) for name, v in part.items()} for part in (today, totals, indices)]
    return RewardContext(*numbers, lambda *_: jnp.zeros(()), jnp.int32(0))


def test_a_farm_on_which_nothing_happened_is_worth_nothing() -> None:
    empty = context({}, {}, {})
    assert {name: float(v) for name, v in score().final(empty).items()} == dict.fromkeys(SCORE_TERMS, 0.0)
    assert {name: float(v) for name, v in score().daily(empty).items()} == {"stage": 0.0}


def test_a_score_is_its_weights_times_what_happened() -> None:
    """In the order biodiversity, resources, soil, yield, plants; two stages passed pay three each."""
    happened = context({"stages#nb": 2}, {"birds#nb": 4, "water#L": 8, "harvest#kg": 6}, {"soil": 0.5, "plant": 0.2})
    found = score({"health": SoilHealth(weight=np.float32(10.0), wanted=np.float32(0.25))}).final(happened)  # pyright: ignore
    wanted = {"bio": 2.0, "resource": -2.0, "soil": 0.5, "yield": 4.5, "plant": 0.02, "health": 2.5}
    assert {name: float(v) for name, v in found.items()} == pytest.approx(wanted)
    assert float(score().daily(happened)["stage"]) == 6.0


def test_an_order_costs_its_row_and_doing_nothing_is_free() -> None:
    orders = Orders(kind=jnp.asarray([0, 1, 2, 0]), **{n: jnp.zeros(4) for n in Orders._fields if n != "kind"})
    assert score().prices(orders).tolist() == [0, 2, 5, 0]


@pytest.mark.parametrize(
    ("plant", "words"),
    [
        ("Field-0/Plant-7", "scoring > terms > market: .*'Plant-7'"),
        ("Plant-0", "prices: expected a field and a plant, got 'Plant-0'"),
        ("Field-0/Soil-0", "expected a known variable, got 'harvest_weight#kg'"),
    ],
)
def test_market_without_its_crop_is_refused(plant: str, words: str) -> None:
    market = {"kind": "Market", "prices": {plant: 1.0}}
    with pytest.raises(ConfigError, match=words):
        make("farm/bean-1x1-v0", scoring={"terms": {"market": market}})


def farm(prices: dict[str, float]) -> FarmModel:
    entities = [["Weather", "rainy"], ["Soil", "sand"], ["Cide", "herbicide"]]
    money = {"kind": "Tally", "prices": prices}
    scoring = {"terms": {"money": money}, "intervention_cost": 0, "stage": 0, "yield": 0}
    return make_farm(entities, place=LILLE, scoring=scoring)


def test_a_price_list_charges_what_leaches() -> None:
    """Twenty days of rain on sand, with a bag of herbicide on the first, and the water of one watering."""
    env = farm(PRICES)
    names = [c and c.row.action.name for c in env.actions.list_orders()]
    plan = [names.index("scatter_bag"), names.index("watering_discrete"), *[0] * 18]

    def day(state: Any, today: Any) -> Any:
        after = env.transition(jax.random.fold_in(jax.random.key(0), today[0]), state, today[1], env.params)
        return after, env.gains(after, env.params)["money"]

    start = env.initial(jax.random.key(0), env.params)
    end, money = jax.jit(lambda: jax.lax.scan(day, start, (jnp.arange(20), jnp.asarray(plan))))()
    totals = {name: float(value) for name, value in end.totals.items()}
    assert min(totals["leached_N#g"], totals["leached_cide#g"], totals["water#L"]) > 0
    worth = sum(price * totals[name] for name, price in PRICES.items())
    assert float(money.sum()) == pytest.approx(worth, rel=1e-4) and worth < 0


def test_price_of_an_unknown_tally_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="scoring > terms > money: tally: expected a known name, got 'leeched_N#g'; try 'leached"
    ):
        farm({"leeched_N#g": -1.0})


def test_the_risk_of_a_score_is_said_in_python_and_kept_in_files(tmp_path: Path) -> None:
    place = {"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20.0}
    field = Field(place, {"length#nb": 1, "width#nb": 1}, [("Weather", "rainy"), ("Soil", "sand")])
    averse = BasicScore(risk=Entropic(aversion=3.0))
    farm = Farm([field], scoring=averse, rules=BasicRule(), mode="po")
    farm.to_yaml(tmp_path / "farm.yaml")
    whole = from_yaml(tmp_path / "farm.yaml")
    assert risk(farm.model) == risk(whole) == Entropic(aversion=3.0)
    jsonschema.validate(yaml_io.read_file(tmp_path / "farm.yaml"), json_schema())
    with pytest.warns(FilesWritten):
        Farm([field], scoring=BasicScore(tmp_path / "score.yaml"), rules=BasicRule(), mode="po")
    text = (tmp_path / "score.yaml").read_text(encoding="utf-8")
    (tmp_path / "score.yaml").write_text(text.replace("risk:", "risk: {measure: cvar}"), encoding="utf-8")
    again = Farm([field], scoring=BasicScore(tmp_path / "score.yaml"), rules=BasicRule(), mode="po")
    assert risk(again.model) == CVaR(level=0.1)
