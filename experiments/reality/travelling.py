"""Rules whose thresholds are shares: of the water that a soil holds for a crop, and of the season of a place.

A farm's expert keeps its form. A share becomes a number when the rule is built for a place, so that the same shares
give other dates in another climate:

- available water: wilting point + share x (capacity - wilting point);
- a date: the mean first day + share x season;
- a pause: share x season, at least a day.

The season is the time that the farm's slowest crop needs from the mean first day to be ripe, by its clock and the mean
temperatures of the place's development or generated years; at most the horizon. All other numbers stay numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.plant.clock import thermal_time
from harvestgym.farm.entities.plant.plant import Plant
from harvestgym.farm.entities.soil.soil import Soil
from harvestgym.farm.policies.rule_numbers import PAUSE, make_rule_families
from harvestgym.farm.weather_data.table import YEAR, Day

from .places import Place

WATER, DATE = "Soil-0.available_Water#L", "Weather-0.day#int365"
MOST_WATER = 1.2
"""Largest share of the available water in a search; above 1 a rule waters every day."""
AROUND = 0.5
"""Shares of a season before and after a date that a search tries; days in the package's own search."""


@dataclass(frozen=True)
class Season:
    """The reference values of shares at a place: mean first day, days of the season, and the soil's water in L."""

    first: float
    days: float
    wilting: float
    capacity: float

    def to_number(self, name: str, share: float) -> float:
        """Return the number of a rule for a share; a number without a share is returned unchanged."""
        if WATER in name:
            return float(f"{self.wilting + share * (self.capacity - self.wilting):.5g}")
        if DATE in name:
            return float(round(self.first + share * self.days))
        return float(max(round(share * self.days), 1)) if name.endswith(PAUSE) else share

    def to_share(self, name: str, number: float) -> float:
        """Return the share for the number of a rule."""
        if WATER in name:
            return (number - self.wilting) / (self.capacity - self.wilting)
        if DATE in name:
            return (number - self.first) / self.days
        return number / self.days if name.endswith(PAUSE) else number


def measure_season(env: FarmModel, place: Place) -> Season:
    """Measure the season of a farm with one field at a place, from the mean of each day over the place's years."""
    (field,) = env.params.fields
    (soil,) = (entity for entity in field.entities if isinstance(entity, Soil))
    capacity, wilting = soil.bucket(field.place)
    first, horizon = mean_first_day(env), int(env.params.horizon)
    mean = place.years[..., Day._fields.index("t_mean")].mean(0)
    temperatures = jnp.asarray(mean[(round(first) - 1 + np.arange(horizon)) % YEAR])
    days = [_days_to_ripe(crop, temperatures) for crop in field.entities if isinstance(crop, Plant)]
    return Season(first, float(max(days)), float(wilting), float(capacity))


def mean_first_day(env: FarmModel) -> float:
    """Return the mean of the first days from which the farm's seasons draw."""
    (start,) = (values for begun, values in zip(env.starts, env.params.starts, strict=True)
                if begun.variable.attr == "day")  # fmt: skip
    return float(np.mean(np.asarray(start)))


def _days_to_ripe(crop: Any, temperatures: Any) -> int:
    passed = np.cumsum(np.asarray(thermal_time(crop.clock, temperatures)))
    return int(np.sum(passed < float(np.sum(np.asarray(crop.clock.sums))))) + 1


def make_travelling_family(
    env: FarmModel, home: Season
) -> tuple[RuleFamily, Callable[[Mapping[str, float], Season], Policy]]:
    """Make the expert's family with shares for numbers, and the function that builds its rule for a place.

    The search starts from the expert's numbers as shares at its home.
    """
    plain = make_rule_families(env)["expert"]
    ranges = {name: _share_range(name, found, home) for name, found in plain.numbers.items()}

    make = build_fast(plain)

    def build(shares: Mapping[str, float], season: Season) -> Policy:
        return make({name: season.to_number(name, share) for name, share in shares.items()})

    return RuleFamily(ranges, lambda shares: build(shares, home)), build


def build_fast(family: RuleFamily) -> Callable[[Mapping[str, float]], Policy]:
    """Return a function that builds the policies of a family, in which only new amounts compile the rules again.

    A search over twelve places needs thousands of policies. A threshold or a pause is an entry of a policy's arrays; it
    is found by changing the number once.
    """
    choices = [name for name, found in family.numbers.items() if found.choices]
    start = family.start
    free = {name: value for name, value in start.items() if name not in choices}

    @cache
    def make_leaves(amounts: tuple[float, ...]) -> list[np.ndarray]:
        policy = family.build(start | dict(zip(choices, amounts, strict=True)))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(policy.traced())]

    tree = jax.tree.structure(family.build(start).traced())
    first = make_leaves(tuple(start[name] for name in choices))
    places = {
        name: _find_entries(first, family.build(start | {name: value + 1}), value) for name, value in free.items()
    }

    def build(numbers: Mapping[str, float]) -> Policy:
        leaves = [leaf.copy() for leaf in make_leaves(tuple(numbers[name] for name in choices))]
        for name, entries in places.items():
            for i, where in entries:
                leaves[i][where] = numbers[name]
        return jax.tree.unflatten(tree, leaves)

    return build


def _find_entries(first: list[np.ndarray], changed: Policy, value: float) -> list[tuple[int, np.ndarray]]:
    """Return the leaves, and a mask of the entries in each, that hold a number: `value`, and one more in `changed`."""
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(changed.traced())]
    found = [(i, a != b) for i, (a, b) in enumerate(zip(first, after, strict=True)) if np.any(a != b)]
    for i, where in found:
        np.testing.assert_allclose(first[i][where], value, rtol=1e-6)
        np.testing.assert_allclose(after[i][where], value + 1, rtol=1e-6)
    return found


def _share_range(name: str, found: NumberRange, home: Season) -> NumberRange:
    start = home.to_share(name, found.start)
    if WATER in name:
        return NumberRange(0.0, MOST_WATER, min(start, MOST_WATER))
    if DATE in name:
        return NumberRange(start - AROUND, start + AROUND, start)
    return NumberRange(0.0, 3 * start, start) if name.endswith(PAUSE) else replace(found)
