"""Spaces tell the truth for every combination of arguments, and arguments without an effect are refused."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.fishing import FishingEnv, FishingModel
from harvestgym.fishing.family import idle_action, make
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.fishing.spec import USERS, build_law
from harvestgym.fishing.structured_growth import AgeStructured
from harvestgym.fishing.view.tables import describe

from ..long_form import ALL

CASES = 300 if ALL else 8

IDS = ("logistic-v0", "may-v0", "recovery-ricker-v0", "driver-v0", "three-species-v0", "walleye-v0", "patches-v0")

WIDE = {"kind": "lognormal", "sigma": 1.0}

CHOICES: dict[str, tuple[Any, ...]] = {
    "noise": (WIDE, {"kind": "none"}, {"kind": "uniform", "sigma": 0.5}, {"kind": "additive", "sigma": 0.3}),
    "survey_error": (WIDE,), "quota_error": (WIDE,),
    "order": ("harvest first", "growth first"), "scale": ("symmetric", "natural"), "control": ("quota", "rate"),
    "levels": (0, 2, 11), "shows_year": (True, False), "shows_driver": (True, False), "bound": (0.5, 1.0, 4.0),
    "start": (0.0, 0.3, 5.0, (0.2, 0.9)), "collapse": (0.05, 0.5), "price": (0.0, 2.0), "cost": (0.0, 0.1),
    "benefit": (5.0,), "satiation": (1.0,), "exponent": (1.0,), "loss": (0.3,), "effect": (0.01,), "rise": (0.01,),
    "Tmax": (1, 2, 50), "discount": (0.0, 1.0), "correlation": (0.0, 0.6),
    "assessment_interval": (1, 3), "catch_constraint": (0.15, None),
}  # fmt: skip
"""Arguments, each right in some fisheries."""


def draw_case(rng: random.Random) -> tuple[str, dict[str, Any]]:
    names = rng.sample([*CHOICES], rng.choice((1, 2, 4)))
    return rng.choice(IDS), {name: rng.choice(CHOICES[name]) for name in names}


def check_spaces(env: FishingModel, case: Any) -> None:
    """Step through two years without compiling; every action of the space is possible."""
    space, actions = env.observation_space, env.action_space
    actions.seed(0)
    state, first = env.reset(jax.random.key(0))
    for year, action in enumerate((idle_action(env), actions.sample())):
        assert space.contains(np.asarray(first.obs)), (case, first.obs, space)
        state, first = env.step(jax.random.key(year), state, action)
        assert np.isfinite(first.reward), case
    assert space.contains(np.asarray(first.obs)), (case, first.obs, space)


def test_spaces_hold_what_is_observed_for_every_combination_of_arguments() -> None:
    rng, counts = random.Random(0), Counter[str]()
    for _ in range(CASES):
        id, given = draw_case(rng)
        try:
            env = make(id, **given)
        except ConfigError as error:
            assert ": expected " in str(error) and ", got " in str(error), (id, given)
            counts["refused"] += 1
        else:
            check_spaces(env, (id, given))
            counts["built"] += 1
    assert min(counts.values()) > CASES / 10 and len(counts) == 2


@pytest.mark.parametrize(
    ("id", "given", "words"),
    [
        ("logistic-v0", {"shows_driver": True}, "shows_driver: expected none, .*, got True; try problem: driver"),
        ("logistic-v0", {"benefit": 2.0}, "benefit: .* try problem: recovery or problem: driver"),
        ("recovery-ricker-v0", {"price": 2.0}, "price: .* in problem 'recovery', got 2.0; try problem: harvest"),
        ("driver-v0", {"vary": {"r": 0.1}}, "vary: .* try problem: harvest or problem: recovery"),
        ("recovery-ricker-v0", {"law": {"kind": "patches", "law": {"kind": "ricker"}}}, "a law of one stock, got 5"),
        ("logistic-v0", {"collapse": 5}, "start: expected a stock above `collapse`, 5, got 0.75"),
        ("three-species-v0", {"start": 0.05}, "start: expected a stock above `collapse`, 0.05, got 0.02"),
        ("logistic-v0", {"start": (0.9, 0.2)}, "start: expected a stock from 0 to .*, or two in ascending order"),
        ("walleye-v0", {"law": {"ages": 0}}, "ages: expected greater than or equal to 1, got 0"),
        ("logistic-v0", {"correlation": 0.5, "noise": {"kind": "uniform"}}, "normal draws, got Uniform"),
        ("logistic-v0", {"correlation": 0.5, "noise": {"kind": "none"}}, "correlation: .* normal draws, got Noise"),
    ],
)  # fmt: skip
def test_arguments_without_an_effect_are_refused(id: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make(id, **given)


def test_a_law_or_noise_replaces_the_short_arguments() -> None:
    with pytest.raises(ConfigError, match="law: expected no r and K, got r=0.5"):
        FishingEnv(r=0.5, law=AgeStructured())
    with pytest.raises(ConfigError, match="expected a fishery with a harvest, got problem 'recovery'"):
        share_stock(make("recovery-ricker-v0"))


@pytest.mark.parametrize("id", ["walleye-v0", "driver-v0", "recovery-ricker-v0"])
def test_every_parameter_that_is_listed_can_be_given(id: str) -> None:
    """The growth law's own, static ones too; entries that have no effect are not listed."""
    env = make(id)
    rows = {row[0]: row[1] for table in describe(env) if table.title == "Parameters" for row in table.rows}
    law = {name.removeprefix("law."): float(value) for name, value in rows.items() if name.startswith("law.")}
    kind = {"walleye-v0": "age-structured", "driver-v0": "may", "recovery-ricker-v0": "ricker"}[id]
    law |= {"ages": 7} if "ages" in law else {}
    assert build_law({"kind": kind} | law, "law").stocks == law.get("ages", 0) + 1
    assert not [name for name in rows if env.problem not in USERS.get(name, (env.problem,))]


def test_a_law_is_changed_by_the_names_in_its_table() -> None:
    assert make("walleye-v0", ages=7).params.law.stocks == 8
    assert float(make("walleye-v0", kappa=0.3).params.law.growth) == pytest.approx(0.3)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("id", "meaning"),
    [
        ("driver-v0", "effort A that lowers the driver of the growth law, at a cost of A**2, from 0 to 3"),
        ("logistic-v0", "catch to allow, from 0 to"),
    ],
)
def test_the_meaning_of_an_action_is_described(id: str, meaning: str) -> None:
    (table,) = (table for table in describe(make(id)) if "actions" in table.sections)
    assert table.rows[0][2].startswith(meaning)
