"""Harvest control rules as policies, which map the observed biomass to a catch.

A rule has the same information as an agent: the survey, clipped to the bound. If growth comes before the harvest, rules
use the expected stock after growth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial

from harvestgym.core.env import check_core
from harvestgym.core.errors import check_name, require
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily
from harvestgym.core.xla.tracing import is_traced
from harvestgym.fishing.analysis import tipping
from harvestgym.fishing.analysis.commons import Strategy
from harvestgym.fishing.analysis.dynamic_programming import Solution

from .conservation import DriverModel, RecoveryModel
from .growth import GrowthLaw
from .model import FishingModel
from .shared_stock import CommonsModel

FEW_TARGETS = 3
"""Maximum number of stocks for which a rule may have separate numbers."""

CatchRule = Callable[[Any, Array], Array]
"""Function `rule(numbers, stock) -> catch` on arrays of shape (targets,); `numbers` is a tuple of traced numbers."""


@dataclass(frozen=True)
class _ByRule:
    """A rule as the `act` function of a policy; its numbers and the law are weights.

    If the weights have numbers for the first and for the last year, the carry is the year.

    Attributes:
        stocks: number of observed stocks that the rule is given, starting with those that are fished.
    """

    env: FishingModel
    rule: CatchRule
    stocks: int

    def __call__(self, ends: Any, law: GrowthLaw, carry: Any, obs: Array, key: Array) -> tuple[Any, Any]:
        numbers, *later = ends
        if later:
            share = jnp.minimum(carry / jnp.float32(self.env.params.horizon), 1.0)
            numbers = jax.tree.map(lambda first, last: first + share * (last - first), numbers, *later)
            carry = carry + 1
        units, survey = self.env.units, self.env.units.survey(obs)
        survey = survey[:-1] if self.env.shows_year else survey
        there = (survey if self.env.order == "harvest first" else law(survey))[: self.stocks]
        catch, fished = self.rule(numbers, there), there[: units.targets]
        return carry, units.action(catch / jnp.maximum(fished, 1e-12) if units.control == "rate" else catch)


def policy(
    env: FishingModel, rule: CatchRule, *numbers: Any, last: Sequence[Any] | None = None, stocks: int | None = None
) -> Policy:
    """Make a policy that follows `rule`; other `numbers` of the same shapes reuse the compiled program.

    The numbers change linearly over the horizon if the `last` ones are given. The rule sees the first `stocks` values
    of a survey, by default one for each target.
    """
    check_core(env, "control", FishingModel)
    ends = tuple(tuple(map(_to_weight, end)) for end in (numbers, last) if end is not None)
    law = jax.tree.map(jnp.asarray, env.params.law)
    start = () if last is None else jnp.int32(0)
    return Policy(start, Partial(_ByRule(env, rule, stocks or env.units.targets), ends, law))


def _to_weight(number: Any, name: str = "") -> Array:
    """Return a number of a rule, or one for each stock; those with a name must be finite and 0 or more."""
    if is_traced(number):
        return jnp.asarray(number, jnp.float32)
    try:
        value = np.asarray(number, np.float32)
    except (TypeError, ValueError):
        value = np.float32(np.nan)
    if name:
        fits = np.isfinite(value) & (value >= 0)
        require(fits.all(), f"control > {name}", "a finite number, 0 or more, or one for each stock", repr(number))
    require(not np.isnan(value).any(), "control", "a number, or numbers by stock", repr(number))
    return jnp.asarray(value)


def leave_target(numbers: Any, there: Array) -> Array:
    """Catch everything above a target (constant escapement)."""
    return jnp.maximum(there - numbers[0], 0.0)


def take_quota(numbers: Any, there: Array) -> Array:
    """Catch a constant amount."""
    return jnp.broadcast_to(numbers[0], there.shape)


def take_share(numbers: Any, there: Array) -> Array:
    """Catch a fraction of the stock."""
    return numbers[0] * there


def take_share_above(numbers: Any, there: Array) -> Array:
    """Catch part of the excess over a threshold (proportional threshold harvesting; Engen, Lande, Saether 1997)."""
    share, threshold = numbers
    return share * jnp.maximum(there - threshold, 0.0)


def take_share_unless_scarce(numbers: Any, there: Array) -> Array:
    """Catch part of the excess over a threshold, but nothing while the last stock, a predator, is scarce."""
    share, threshold, least = numbers
    return take_share_above((share, threshold), there[:-1]) * (there[-1] > least)


def _ramp_rate(numbers: Any, there: Array) -> Array:
    rate, closed, full = numbers
    return rate * jnp.clip((there - closed) / (full - closed), 0.0, 1.0) * there


def _ramp_catch(numbers: Any, there: Array) -> Array:
    rate, closed, full = numbers
    slope = rate * full / (full - closed)
    return jnp.where(there < full, slope * jnp.maximum(there - closed, 0.0), rate * there)


RAMPS: dict[str, CatchRule] = {"rate": _ramp_rate, "catch": _ramp_catch}


def add_missing(numbers: Any, there: Array) -> Array:
    """Add what the stock lacks to reach a target."""
    return jnp.maximum(numbers[0] - there, 0.0)


def add_share_of_missing(numbers: Any, there: Array) -> Array:
    """Add a fraction of the gap between the stock and a target."""
    share, target = numbers
    return share * jnp.maximum(target - there, 0.0)


def escapement(env: FishingModel, target: Any) -> Policy:
    """Catch everything above the biomass `target` of each stock (Reed 1979)."""
    return policy(env, leave_target, _to_weight(target, "target"))


def quota(env: FishingModel, catch: Any) -> Policy:
    """Take the same catch every year, as in management at the maximum sustainable yield (MSY)."""
    return policy(env, take_quota, _to_weight(catch, "catch"))


def rate(env: FishingModel, share: Any) -> Policy:
    """Take the same fraction of the stock every year (constant F, with share = 1 - exp(-F))."""
    return policy(env, take_share, _to_weight(share, "share"))


def ramp(env: FishingModel, share: Any, closed: Any, full: Any, on: str = "rate") -> Policy:
    """Harvest at rate `share` above biomass `full`, at rate 0 below `closed`, and along a ramp in between.

    On the ramp, the rate is linear if `on="rate"`, and the catch is linear if `on="catch"`: two interpretations of the
    Pacific 40-10 rule. That rule has closed = 0.1 K and full = 0.4 K; the Fisheries and Oceans Canada rule has closed =
    0.4 B_MSY and full = 0.8 B_MSY.
    """
    check_name("ramp", on, RAMPS, "control.ramp > on")
    numbers = [_to_weight(share, "share"), _to_weight(closed, "closed"), _to_weight(full, "full")]
    if not any(map(is_traced, numbers)):
        require(np.all(np.less(numbers[1], numbers[2])), "control > closed", f"less than full, {full!r}", repr(closed))
    return policy(env, RAMPS[on], *numbers)


def lift(env: FishingModel, target: Any) -> Policy:
    """Bring the stock up to `target`, for models in which an action adds to the stock (translocation)."""
    return policy(env, add_missing, _to_weight(target, "target"))


@dataclass(frozen=True)
class _ByTable:
    """Rule with one table per year; the last table also applies to all later years. The carry is the year."""

    env: FishingModel

    def __call__(self, tables: Any, year: Array, obs: Array, key: Array) -> tuple[Any, Any]:
        seen, units = self.env.units.survey(obs)[:1], self.env.units
        grid, there, target = tables
        now = jnp.minimum(year, len(target) - 1)
        if units.levels:
            return year + 1, units.action(self._find_level(seen, grid, there[now], target[now]))
        most = jnp.interp(seen, grid, there[now]) + jnp.maximum(seen - grid[-1], 0.0)
        catch = jnp.maximum(most - jnp.interp(seen, grid, target[now]), 0.0)
        return year + 1, units.action(catch / jnp.maximum(most, 1e-12) if units.control == "rate" else catch)

    def _find_level(self, seen: Array, grid: Array, there: Array, target: Array) -> Array:
        """Return the quota or rate at the nearest grid point, because discrete levels cannot be interpolated."""
        nearest = jnp.clip(jnp.round(seen / grid[1]).astype(jnp.int32), 0, len(grid) - 1)
        most, left = there[nearest], target[nearest]
        catch = most - left
        wanted = catch / jnp.maximum(most, 1e-12) if self.env.units.control == "rate" else catch
        # If the whole stock is taken, the table does not determine the quota: all sufficiently large quotas are
        # equivalent.
        return jnp.where((left <= 1e-6 * grid[-1]) & (most > 0), self.env.units.bound, wanted)


def follow_solution(env: FishingModel, solution: Solution) -> Policy:
    """Follow the dynamic-programming optimum; for a finite horizon, its table for each year."""
    check_core(env, "control", FishingModel)
    there, target = jnp.atleast_2d(solution.there), jnp.atleast_2d(solution.target)
    return Policy(jnp.int32(0), Partial(_ByTable(env), (solution.grid, there, target)))


@dataclass(frozen=True)
class _ByStrategy:
    """One request per year and stock, made by every fleet. The carry is the year."""

    env: CommonsModel

    def __call__(self, tables: Any, year: Array, obs: Array, key: Array) -> tuple[Any, Any]:
        grid, requests = tables
        request = jnp.interp(self.env.units.survey(obs)[0], grid, requests[jnp.minimum(year, len(requests) - 1)])
        return year + 1, self.env.units.action(jnp.full(self.env.units.targets, request))


def follow_strategy(env: CommonsModel, strategy: Strategy) -> Policy:
    """Let all fleets follow a strategy; the action of fleet i is entry i of the joint action."""
    check_core(env, "control", CommonsModel)
    return Policy(jnp.int32(0), Partial(_ByStrategy(env), (strategy.grid, strategy.request)))


# -- rule families for `harvestgym tune` -----------------------------------------------------------------------------

Form = tuple[CatchRule, tuple[str, ...]]
"""A rule and the names of its numbers, in order, each a fraction of a stock (0 to 1) or a biomass (0 to the bound)."""

HARVESTS: dict[str, Form] = {
    "quota": (take_quota, ("catch",)),
    "rate": (take_share, ("share",)),
    "escapement": (leave_target, ("target",)),
    "share above threshold": (take_share_above, ("share", "threshold")),
}
RECOVERIES: dict[str, Form] = {
    "same amount": (take_quota, ("amount",)),
    "lift": (add_missing, ("target",)),
    "share of missing": (add_share_of_missing, ("share", "target")),
}


ENDS = (" first", " last")
"""The suffixes of the names of a number for the first and the last year."""


def make_rule_families(env: FishingModel) -> dict[str, RuleFamily]:
    """Make a fishery's rule families, by name.

    If its law drifts, the numbers may change over the years. If only a few stocks are fished, each may have its own
    numbers. If a predator is observed, a rule protects it.
    """
    if isinstance(env, DriverModel):
        push = NumberRange(0.0, env.units.bound, 0.3)
        return {"steady": RuleFamily({"action": push}, lambda numbers: tipping.steady_push(env, numbers["action"]))}
    forms, law = RECOVERIES if isinstance(env, RecoveryModel) else HARVESTS, env.params.law
    found = {name: _make_family(env, *form, "") for name, form in forms.items()}
    if env.params.drift is not None:
        found |= {f"{name}, moving": _make_family(env, *form, *ENDS) for name, form in forms.items()}
    if 1 < env.units.targets <= FEW_TARGETS:
        stocks = tuple(f" {i}" for i in range(env.units.targets))
        found |= {f"{name}, by stock": _make_family(env, *form, *stocks) for name, form in forms.items()}
    if law.shows_predator:
        family = _make_family(env, take_share_unless_scarce, ("share", "threshold", "least"), "", stocks=law.seen)
        found["share unless the predator is scarce"] = family
    return found


def _make_range(env: FishingModel, name: str) -> NumberRange:
    """Return the range of a number; a biomass is in the unit of the stock, even if actions are rates."""
    high = 1.0 if name.startswith("share") else env.units.bound
    return NumberRange(0.0, high, high / 4)


def _make_family(
    env: FishingModel, rule: CatchRule, names: tuple[str, ...], *suffixes: str, stocks: int | None = None
) -> RuleFamily:
    """Make a rule's family, with several values of each number: one for each suffix of its name.

    The values apply to all stocks or one stock each or, with the suffixes in `ENDS`, to the first and the last year.
    `stocks` is the number of observed stocks that the rule is given, by default those that are fished.
    """
    keys = [[name + suffix for suffix in suffixes] for name in names]

    def build(numbers: Mapping[str, float]) -> Policy:
        values = [jnp.asarray([numbers[key] for key in of_name]) for of_name in keys]
        first, last = zip(*values, strict=True) if suffixes == ENDS else (values, None)
        return policy(env, rule, *first, last=last, stocks=stocks)

    return RuleFamily({key: _make_range(env, key) for of_name in keys for key in of_name}, build)
