"""Kinds of users act on the soil by messages: neither the soil nor the list of kinds is edited."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.mulch import STRAW, WORMS, Mulch
from harvestgym.core.pytree import replace
from harvestgym.farm import BasicRule, BasicScore, Farm, Field, Plant, Soil, Term, Weather
from harvestgym.farm.engine.reward_terms import RewardContext
from harvestgym.farm.entities.messages import Tilth
from harvestgym.testing.entity import check_entity
from tests.farm.entities.soil.test_soil import LOAM, full, state_of, tomorrow
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import field
from tests.long_form import long

PLACE = field((1, 2))


@long
def test_both_kinds_keep_the_contract() -> None:
    company = [Weather.named("lille"), Soil.named("clay"), Plant.named("bean")]
    check_entity(STRAW, company=company)
    check_entity(WORMS, company=company)


def worked(cover: float, drainage: float, **state: Any) -> tuple[Any, Any]:
    """Return the soil of tomorrow, and its ledger, under such a tilth."""
    tilth = message(Tilth, PLACE, cover=cover, drainage=drainage)
    return tomorrow(LOAM, state_of(PLACE, **state), PLACE, air(rain=40, rain_intensity=0.0, et0=5), tilth)


def test_nothing_evaporates_under_a_cover_and_what_drains_harms_nothing() -> None:
    wet = {"wet_surface": full(PLACE, 1.0), "water": full(PLACE, 1e4)}
    (_, plain), (_, half), (_, whole) = (worked(share, 0.0, **wet) for share in (0.0, 0.5, 2.0))
    lost = [-float(ledger.flows["water:evaporation"].sum()) for ledger in (plain, half, whole)]
    assert lost[1] == np.float32(lost[0] / 2) and lost[2] == 0.0
    (left, all_lost), (drained, none_lost) = worked(0.0, 0.0, **wet), worked(0.0, 1.0, **wet)
    assert (all_lost.flows["nutrients:leaching"] < 0).any() and (none_lost.flows["nutrients:leaching"] == 0).all()
    assert (all_lost.flows["water:drainage"] == none_lost.flows["water:drainage"]).all()
    assert (drained.microlife > left.microlife).all()


class WaterTerm(Term):
    """The water of every soil, each day."""

    def daily(self, context: RewardContext) -> jax.Array:
        return sum((soil.sum() for soil in context.read_every("Soil", "available_Water#L")), jnp.float32(0.0))


def farm(stage: str) -> Farm:
    place = {"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20}
    kinds = [(Weather, "lille"), (Soil, "clay"), (Plant, "bean"), replace(STRAW, height=np.float32(10))]
    fields = [Field(place, {"length#nb": 1, "width#nb": 1}, kinds)] * 2
    start = {f"Field-{i}": {"Weather-0": {"day#int365": 130}, "Plant-0": {"stage": stage}} for i in (0, 1)}
    water = [(f"Field-{i}", "Soil-0", "available_Water#L", "*") for i in (0, 1)]
    seen = [("Field-0", "Mulch-0", "straw#kg", "*"), *water]
    score = BasicScore(stage=0, intervention_cost=0, terms={"water": WaterTerm()})
    return Farm(fields, scoring=score, rules=BasicRule(init=start, free_observations=seen), mode="po")


@long
def test_an_action_reads_the_messages_of_the_morning() -> None:
    """Straw would bury a plant that has just come up: `Mulch.spread` reads the canopy. Bare soil takes it."""
    order = ("BasicFarmer-0", "Field-0", "Mulch-0", "spread", {"plot": (0, 0), "amount#kg": 1.0})
    lying = {}
    for stage in ("none", "grow"):
        game = farm(stage)
        game.farmgym_reset(seed=0)
        lying[stage] = game.farmgym_step([order])[0][0][-1]
    assert lying["none"] > 0.9 and lying["grow"] == 0.0
    assert [action.reads_board for action in Mulch.actions] == [True]


@long
def test_a_reward_term_reads_every_soil() -> None:
    game = farm("none")
    game.farmgym_reset(seed=0)
    seen, _, _, _, info = game.farmgym_step([])
    assert info["reward/water"] == np.float32(sum(value for *_, value in seen[1:]))
