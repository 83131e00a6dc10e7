"""Rule families of fisheries for `harvestgym tune`: rules of one to four numbers, and solutions without numbers.

Numbers are shares of a stock, 0 to 1, and biomasses, 0 to the bound. If a law drifts, the numbers may change over
the years; if a few stocks are fished, each may have its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp

from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily

from . import control
from .analysis import tipping
from .conservation import DriverModel, RecoveryModel
from .model import FishingModel

FEW_TARGETS = 3
"""Largest number of stocks for which a rule may have separate numbers."""

Form = tuple[control.CatchRule, tuple[str, ...]]
"""A rule, and the names of its numbers in their order."""

HARVESTS: dict[str, Form] = {
    "quota": (control.take_quota, ("catch",)),
    "rate": (control.take_share, ("share",)),
    "escapement": (control.leave_target, ("target",)),
    "share above threshold": (control.take_share_above, ("share", "threshold")),
}
RECOVERIES: dict[str, Form] = {
    "same amount": (control.take_quota, ("amount",)),
    "lift": (control.add_missing, ("target",)),
    "share of missing": (control.add_share_of_missing, ("share", "target")),
}


def make_rule_families(env: FishingModel) -> dict[str, RuleFamily]:
    """Make the rule families of a fishery, by name."""
    if isinstance(env, DriverModel):
        push = NumberRange(0.0, env.units.bound, 0.3)
        return {"steady": RuleFamily({"action": push}, lambda numbers: tipping.steady_push(env, numbers["action"]))}
    forms = RECOVERIES if isinstance(env, RecoveryModel) else HARVESTS
    found = {name: _make_family(env, *form) for name, form in forms.items()}
    if env.params.drift is not None:
        found |= {f"{name}, moving": _make_moving_family(env, *form) for name, form in forms.items()}
    if 1 < env.units.targets <= FEW_TARGETS:
        found |= {f"{name}, by stock": _make_family_by_stock(env, *form) for name, form in forms.items()}
    return found


def _make_range(env: FishingModel, name: str) -> NumberRange:
    """Return the range of a number; where actions are rates, biomass is still in the unit of the stock."""
    high = 1.0 if name.startswith("share") else env.units.bound
    return NumberRange(0.0, high, high / 4)


def _make_family(env: FishingModel, rule: control.CatchRule, names: tuple[str, ...]) -> RuleFamily:
    def build(numbers: Mapping[str, float]) -> Policy:
        return control.policy(env, rule, *(numbers[name] for name in names))

    return RuleFamily({name: _make_range(env, name) for name in names}, build)


def _make_moving_family(env: FishingModel, rule: control.CatchRule, names: tuple[str, ...]) -> RuleFamily:
    keys = [[f"{name} {end}" for name in names] for end in ("first", "last")]

    def build(numbers: Mapping[str, float]) -> Policy:
        first, last = ([numbers[key] for key in of_end] for of_end in keys)
        return control.policy_over_years(env, rule, first, last)

    return RuleFamily({key: _make_range(env, key) for of_end in keys for key in of_end}, build)


def _make_family_by_stock(env: FishingModel, rule: control.CatchRule, names: tuple[str, ...]) -> RuleFamily:
    keys = {name: [f"{name} {i}" for i in range(env.units.targets)] for name in names}

    def build(numbers: Mapping[str, float]) -> Policy:
        return control.policy(env, rule, *(jnp.asarray([numbers[key] for key in of]) for of in keys.values()))

    return RuleFamily({key: _make_range(env, key) for of in keys.values() for key in of}, build)
