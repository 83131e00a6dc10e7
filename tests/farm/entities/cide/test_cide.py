"""Cides: who feels what (section 4.4.5), from the bag through the soil to the targets."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.cide import Cide
from harvestgym.farm.entities.messages import Dose
from tests.farm.entities.test_spreadable import LOAM, morning, pile
from tests.farm.messages import air, message
from tests.farm.soil_plant_day import board, earth, field, share_of

TARGETS = ("pests", "pollinators", "soil", "weeds")
SETS = ("pesticide", "herbicide", "herbicide_slow", "herbicide_fast")


def dose_of(which: Any, kg: float = 1.0, targets: tuple[str, ...] = TARGETS) -> np.ndarray:
    """Grams in effect on each target, on the first day of a soil of full life."""
    cide = Cide.named(which)
    place, today = morning(cide, targets=targets)
    return np.asarray(cide.dose(pile(kg), place, today, {}).toxin)[:, 0, 0]


@pytest.mark.parametrize(
    ("which", "effects"),
    [
        ("pesticide", {"pests": 1, "pollinators": 1, "soil": 0.1}),
        ("herbicide", {"weeds": 1, "soil": 0.1}),
        ("herbicide_slow", {"weeds": 1, "soil": 0.1, "pollinators": 0.1}),
        ("herbicide_fast", {"weeds": 1, "soil": 0.1, "pollinators": 0.1}),
        ({"extends": "herbicide", "effect": {"weeds": 0, "pests": 0.5}}, {"pests": 0.5, "soil": 0.1}),
    ],
)
def test_who_feels_a_gram(which: Any, effects: dict[str, float]) -> None:
    grams = 1000 * (1 - math.exp(-float(Cide.named(which).speed) / 7))
    np.testing.assert_allclose(dose_of(which), [grams * effects.get(t, 0) for t in TARGETS], rtol=1e-5)


def test_any_amount_is_scattered_per_square_metre() -> None:
    laid = Cide.named("herbicide").scatter(pile(0.0), field(scale=2.0), jnp.asarray([[True]]), jnp.float32(0.5))
    assert float(laid.state.amount[0, 0]) == 2.0 and float(laid.ledger.tally["cide#g"]) == 2000.0


def test_targets_are_an_open_set() -> None:
    """A name of the user's own is heard where some kind declares it; names that nobody declares are passed over."""
    own = {"extends": "herbicide", "effect": {"slugs": 2, "dragons": 9}}
    weeds, slugs = dose_of(own, targets=("weeds", "slugs"))
    assert slugs == 2 * weeds > 0
    assert dose_of(own, targets=("soil",)).shape == (1,)


@pytest.mark.parametrize(("which", "felt"), [("herbicide", "weeds"), ("pesticide", "pests pollinators")])
def test_through_the_soil_it_reaches_its_targets_only(which: str, felt: str) -> None:
    place, today = morning(cide := Cide.named(which), plots=2, targets=TARGETS)
    dose = cide.dose(pile(0.0, 0.01), place, today, {})
    said = [("Weather-0", air()), ("allocator", share_of(place)), ("Cide-0", dose)]
    soil, _ = LOAM.update(earth(LOAM, place), place, board(place, "Soil-0", *said), {})
    noon = board(place, "Kind-0", ("Soil-0", LOAM.ground(soil, place, board(place, "Soil-0"), {})))
    reached = {target: np.asarray(noon.toxin(target))[0] for target in TARGETS}
    assert {t for t in ("pests", "pollinators", "weeds") if reached[t][1] > 0} == set(felt.split())
    assert reached["soil"][1] == pytest.approx(0.1 * reached[felt.split()[0]][1], rel=1e-5)
    assert all(amounts[0] == 0 for amounts in reached.values()), "the next plot is clean"


def test_several_cides_add_up() -> None:
    place, _ = morning(Cide.named("herbicide"))
    one, two = (message(Dose, place, toxin=grams) for grams in (0.3, 0.5))
    said = [("Weather-0", air()), ("allocator", share_of(place)), ("Cide-0", one), ("Cide-1", two)]
    soil, _ = LOAM.update(earth(LOAM, place), place, board(place, "Soil-0", *said), {})
    np.testing.assert_allclose(soil.cide, [[[0.8]]], rtol=1e-6)


def season(cide: Cide, kg: float, days: int) -> np.ndarray:
    """Microlife, %, and cide in effect on the soil, g, day by day after one order in dry weather."""
    place = field()

    @jax.jit
    def step(soil: Any, lying: Any) -> Any:
        ground = LOAM.ground(soil, place, board(place, "Soil-0"), {})
        dawn = board(place, "Cide-0", ("Soil-0", ground))
        said = [("Weather-0", air()), ("allocator", share_of(place)), ("Cide-0", cide.dose(lying, place, dawn, {}))]
        return LOAM.update(soil, place, board(place, "Soil-0", *said), {})[0], cide.update(lying, place, dawn, {})[0]

    soil, lying, seen = earth(LOAM, place, microlife=80.0), pile(kg), []
    for _ in range(days):
        soil, lying = step(soil, lying)
        seen.append((soil.microlife[0, 0], soil.cide[0, 0, 0]))
    return np.asarray(seen).T


def test_the_soil_life_falls_with_the_dose_and_endures_a_bag() -> None:
    """The most that an order can scatter is about the most that a soil survives; more makes a desert."""
    cide = Cide.named("herbicide_fast")
    lives = [season(cide, kg, 60)[0] for kg in (0.0, float(cide.bag), 0.02, 0.05)]
    second = [float(life[1]) for life in lives]
    assert sorted(second, reverse=True) == second and len(set(second)) == 4
    assert lives[1][-1] == 100 and 40 < lives[2].min() < 70 and lives[3][-1] < 1


def test_what_is_in_the_soil_decays_in_dry_weather() -> None:
    """Wash-out alone would leave all of it: 365 dry days after a bag, less than a thousandth is left of its peak."""
    cide = Cide.named("pesticide")
    _, there = season(cide, float(cide.bag), 365)
    assert there.argmax() < 40 and there[-1] < 1e-3 * there.max()


def test_scattered_grams_are_counted() -> None:
    cide = Cide.named("pesticide")
    where = jnp.asarray([[True, False]])
    ledger = cide.scatter_bag(pile(0.0, 0.0), field((1, 2)), where, jnp.float32(3.0)).ledger
    assert float(ledger.tally["cide#g"]) == pytest.approx(3.0) and not ledger.flows


@pytest.mark.parametrize("which", SETS)
def test_every_parameter_matters(which: str) -> None:
    cide = Cide.named(which)
    place, today = morning(cide, targets=TARGETS)

    def first_day(kind: Cide) -> np.ndarray:
        laid = kind.scatter_bag(pile(0.0), place, jnp.asarray([[True]]), jnp.float32(1.0)).state
        return np.asarray(kind.dose(laid, place, today, {}).toxin)

    base = first_day(cide)
    others = [replace(cide, effect=cide.effect | {name: np.float32(0.7)}) for name in cide.effect]
    for other in (*others, replace(cide, speed=2 * cide.speed), replace(cide, bag=2 * cide.bag)):
        assert not np.allclose(first_day(other), base)


def test_in_the_soil_of_the_paper_only_rain_ends_a_cide() -> None:
    """The paper has a soil without decay; in ours the soil life breaks some down on a dry day."""
    place = field()
    old = replace(earth(LOAM, place), cide=jnp.full((1, 1, 1), 4.0))
    said = [("Weather-0", air()), ("allocator", share_of(place))]
    paper = replace(LOAM, cide_decay=jnp.float32(0.0))
    kept = [soil.update(old, place, board(place, "Soil-0", *said), {})[0].cide for soil in (LOAM, paper)]
    np.testing.assert_allclose(np.ravel(kept), [4 * math.exp(-float(LOAM.cide_decay)), 4.0], rtol=1e-6)
