"""Control rules that people use, as policies: each turns the biomass that was seen into a catch.

A rule sees what an agent sees (a survey, clipped to the bound) and nothing else. With growth first the
harvest comes after growth, so that rules reckon with the mean stock that will be there by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.fishing.analysis.dynamic_programming import Solution, solve

from .growth import Law
from .model import FishingModel

Rule = Callable[[Any, jax.Array], jax.Array]
"""`rule(numbers, there) -> catch`: shapes (targets,); `numbers` is a tuple of traced numbers."""


@dataclass(frozen=True)
class _Act:
    """A rule as the `act` of a policy; `numbers` and the law come first, as weights do."""

    env: FishingModel
    rule: Rule

    def __call__(self, numbers: Any, law: Law, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        survey = self.env.units.survey(obs)
        there = survey if self.env.order == "harvest first" else law(survey)
        there = there[: self.env.units.targets]
        catch = self.rule(numbers, there)
        rate = self.env.units.control == "rate"
        return carry, self.env.units.action(catch / jnp.maximum(there, 1e-12) if rate else catch)


def policy(env: FishingModel, rule: Rule, *numbers: Any) -> Policy:
    """A policy that does what `rule` says; other `numbers` of the same shapes compile nothing new."""
    weights = jax.tree.map(lambda v: jnp.asarray(v, jnp.float32), numbers)
    law = jax.tree.map(jnp.asarray, env.params.law)
    return Policy((), Partial(_Act(env, rule), weights, law))


def _escape(numbers: Any, there: jax.Array) -> jax.Array:
    return jnp.maximum(there - numbers[0], 0.0)


def _quota(numbers: Any, there: jax.Array) -> jax.Array:
    return jnp.broadcast_to(numbers[0], there.shape)


def _rate(numbers: Any, there: jax.Array) -> jax.Array:
    return numbers[0] * there


def _ramp(numbers: Any, there: jax.Array) -> jax.Array:
    rate, closed, full = numbers
    return rate * jnp.clip((there - closed) / (full - closed), 0.0, 1.0) * there


def _catch_ramp(numbers: Any, there: jax.Array) -> jax.Array:
    rate, closed, full = numbers
    slope = rate * full / (full - closed)
    return jnp.where(there < full, slope * jnp.maximum(there - closed, 0.0), rate * there)


def _lift(numbers: Any, there: jax.Array) -> jax.Array:
    return jnp.maximum(numbers[0] - there, 0.0)


def escapement(env: FishingModel, target: Any) -> Policy:
    """Leave `target` of each stock, take the rest (Reed 1979)."""
    return policy(env, _escape, target)


def quota(env: FishingModel, catch: Any) -> Policy:
    """The same catch every year, as MSY management had it."""
    return policy(env, _quota, catch)


def rate(env: FishingModel, share: Any) -> Policy:
    """The same share of what is there every year: constant F, with share = 1 - exp(-F)."""
    return policy(env, _rate, share)


def ramp(env: FishingModel, share: Any, closed: Any, full: Any, on: str = "rate") -> Policy:
    """A rate of `share` above a biomass of `full`, nothing below `closed`, and a ramp between.

    With `on="rate"` the rate is a straight line between the two (and the catch a curve), with `on="catch"`
    the catch is: the two readings of the Pacific 40-10 rule. 40-10 itself is closed = 0.1 K, full = 0.4 K; the rule
    of Fisheries and Oceans Canada is closed = 0.4 B_MSY, full = 0.8 B_MSY.
    """
    return policy(env, _ramp if on == "rate" else _catch_ramp, share, closed, full)


def lift(env: FishingModel, target: Any) -> Policy:
    """Where an action adds to the stock (translocation): add what is missing to `target`."""
    return policy(env, _lift, target)


@dataclass(frozen=True)
class _Dated:
    """A table for each year, the last one for all later years; what is carried is the year."""

    env: FishingModel

    def __call__(self, tables: Any, year: jax.Array, obs: jax.Array, key: jax.Array) -> tuple[Any, Any]:
        seen, units = self.env.units.survey(obs), self.env.units
        grid, there, target = tables
        now = jnp.minimum(year, len(target) - 1)
        most = jnp.interp(seen, grid, there[now]) + jnp.maximum(seen - grid[-1], 0.0)
        catch = jnp.maximum(most - jnp.interp(seen, grid, target[now]), 0.0)
        return year + 1, units.action(catch / jnp.maximum(most, 1e-12) if units.control == "rate" else catch)


def table(env: FishingModel, solution: Solution) -> Policy:
    """The optimum found by dynamic programming (for a finite horizon: that of its first year, every year)."""
    there, target = (jnp.atleast_2d(v)[:1] for v in (solution.there, solution.target))
    return Policy(jnp.int32(0), Partial(_Dated(env), (solution.grid, there, target)))


def dated_table(env: FishingModel, solution: Solution) -> Policy:
    """The optimum of a finite horizon, year by year: it sees the end coming."""
    return Policy(jnp.int32(0), Partial(_Dated(env), (solution.grid, solution.there, solution.target)))


def optimal(env: FishingModel, **options: Any) -> Policy:
    """The policy of dynamic programming for a single stock; `options` as in `sdp.solve`."""
    solution = solve(env, **options)
    return dated_table(env, solution) if solution.target.ndim > 1 else table(env, solution)


def user(env: FishingModel, ask: Callable[[float], float]) -> Callable[[Any], Any]:
    """A person as a function from observation to action: `ask` is shown the biomass and gives the catch."""

    def act(obs: Any) -> Any:
        seen = np.asarray(env.units.survey(jnp.asarray(obs)))
        wanted = float(ask(float(seen[0])))
        if not np.isfinite(wanted) or wanted < 0:
            raise ValueError(f"wanted a catch of 0 or more, found {wanted}")
        share = jnp.full((env.units.targets,), wanted)
        if env.units.control == "rate":
            share = share / max(float(seen[0]), 1e-12)
        return np.asarray(env.units.action(share))

    return act


def tune(
    env: FishingModel,
    build: Callable[..., Policy],
    low: tuple[float, ...],
    high: tuple[float, ...],
    *,
    key: jax.Array,
    rounds: int = 6,
    candidates: int = 32,
    episodes: int = 64,
) -> tuple[tuple[float, ...], float]:
    """The numbers of a rule that give the best mean return, by the cross-entropy method, and that return.

    `build(env, *numbers)` makes the policy. All candidates meet the same episodes, so that their difference
    is the rule's. Returns the mean of the final elite, within [low, high].
    """
    ends = np.asarray([low, high], np.float64)
    rng = np.random.default_rng(int(jax.random.bits(key)))
    centre, spread = ends.mean(0), (ends[1] - ends[0]) / 2
    years = int(env.params.horizon)
    for round_ in range(rounds):
        given = np.clip(rng.normal(centre, spread, (candidates, len(low))), *ends)
        trial = jax.random.fold_in(key, round_)
        worth = [float(np.mean(evaluate(env, build(env, *row), trial, episodes, years).returns)) for row in given]
        elite = given[np.argsort(worth)[-candidates // 4 :]]
        centre, spread = elite.mean(0), elite.std(0) + 1e-4 * (ends[1] - ends[0])
    final = evaluate(env, build(env, *centre), jax.random.fold_in(key, rounds), episodes, years).returns
    return tuple(float(v) for v in centre), float(np.mean(final))
