"""A fishery as a functional environment with five parts, each a function that a subclass may override.

Each year, a quota is set from the last observation; the fleet catches about that much, but never more than the stock;
the rest grows, with noise; and the stock is surveyed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from pydantic import Field

from harvestgym.core.checks import Checked
from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import mismatch, require
from harvestgym.core.pytree import Pytree, iterate_metas, par, replace, var
from harvestgym.core.random import key_for
from harvestgym.core.tuning.rule_family import TunedRule
from harvestgym.core.xla.fusion import add_up, find_highest

from .growth import MAX_BIOMASS, GrowthLaw
from .noise import Noise
from .parameter_drift import AnyLaw, AnyStock, Drift, Spread
from .units import Units

YearOrder = Literal["harvest first", "growth first"]
ProblemKind = Literal["harvest", "recovery", "driver"]

MAX_YEARS = 2**24
"""Longest episode in years; float32 represents all integers up to this number."""


MAX_CORRELATION = 0.99
"""Largest correlation of growth noise, positive or negative; at 1, every year would have the same noise."""


_amount = partial(par, low=0.0, high=MAX_BIOMASS)
"""A biomass, or a price or cost per unit."""


class FishingParams(Checked, Pytree):
    """Parameters of a fishery."""

    law: GrowthLaw
    noise: Noise
    survey_error: Noise
    quota_error: Noise
    drift: Drift | None
    vary: Spread | AnyLaw | AnyStock | None
    start: Any = _amount("start", "biomass at the start, or its range; of several species, relative to equilibrium")
    horizon: Any = par("Tmax", "years after which an episode is truncated", low=1, high=MAX_YEARS, dtype="int")
    price: Any = _amount("price", "price of a unit of catch")
    cost: Any = _amount("cost", "cost of a unit of effort, effort being -ln(1 - catch/stock)")
    discount: Any = par("discount", "discount factor per year of the discounted return", low=0.0, high=1.0)
    collapse: Any = par("collapse", "biomass at or below which the fishery ends", low=0.0)
    b_low: Any = par("b_low", "biomass below which a stock is counted as low (0.2 K)", low=0.0)
    b_msy: Any = par("b_msy", "biomass before harvest that gives the MSY, the mean over fished stocks", low=0.0)
    correlation: Any = par(
        "correlation", "correlation of yearly growth noise", low=-MAX_CORRELATION, high=MAX_CORRELATION, default=0.0
    )
    final_price: Any = _amount("final_price", "price of a unit of stock that remains at truncation", default=0.0)


class EpisodeTally(Pytree):
    """Sums over an episode, from which metrics are computed."""

    catch: Array = var("total_catch", "catch so far, over all stocks", axes=())
    change: Array = var("catch_change", "sum of the yearly changes of catch, in absolute value", axes=())
    worth: Array = var("discounted_return", "rewards so far, discounted", low=-jnp.inf, axes=())
    lowest: Array = var("lowest_biomass", "lowest biomass so far", axes=())
    low: Array = var("years_low", "years that ended with biomass below b_low", dtype="int", axes=())
    under: Array = var("years_below_bmsy", "years that ended with biomass below b_msy", dtype="int", axes=())
    closed: Array = var("years_closed", "years with almost no catch", dtype="int", axes=())


class FishingState(Pytree):
    """Stock, catch, tally, and the values drawn for the episode: the law, and other parameters by name."""

    law: GrowthLaw | None
    drawn: dict[str, Any]
    tally: EpisodeTally
    stock: Array = var("stock", "biomass of each stock, at the start of the year", axes=("stock",))
    catch: Array = var("catch", "last year's actual catch, by target", axes=("target",))
    quota: Array = var("quota", "quota that was set last year, before errors, or amount added", axes=("target",))
    shock: Array | None = var("shock", "standard draw of growth noise", low=-jnp.inf, axes=(), hidden=True)
    rate: Array = var("rate", "catch as a share of the stock", high=1.0, axes=("target",))
    year: Array = var("year", "years since the start", dtype="int", axes=())


def copy_fields(env: FishingModel, **changes: Any) -> dict[str, Any]:
    """Return a fishery's constructor arguments except the expert, some of them changed, to make a subclass."""
    names = [field.name for field in fields(FishingModel) if field.name != "expert"]
    return {name: getattr(env, name) for name in names} | changes


CLOSED = 1e-3
"""A year with a catch below this fraction of the bound counts as closed."""


def check_first_stock(law: GrowthLaw, start: Any, collapse: float, where: str) -> None:
    """Raise ConfigError unless `start` is a stock, or a range of stocks, above the biomass at which a fishery ends."""
    ends = np.asarray(start, object)
    known = ends.shape in ((), (2,)) and all(isinstance(end, Real) and not isinstance(end, bool) for end in ends.flat)
    if not known or not 0 <= ends.flat[0] <= ends.flat[-1] <= MAX_BIOMASS:
        raise mismatch(where, f"a stock from 0 to {MAX_BIOMASS:g}, or two in ascending order", repr(start))
    least = float(law.biomass(law.start(jnp.float32(ends.flat[0]))))
    require(least > collapse or not collapse, where, f"a stock above `collapse`, {collapse:g}", f"{least:g}")


def find_effort(rate: Any) -> Array:
    """Return the effort that catches a fraction of a stock, -ln(1 - rate) (Clark 1990); rates are clipped at 99.9 %."""
    return -jnp.log(jnp.maximum(1 - rate, 1e-3))


@dataclass(frozen=True, repr=False)
class FishingModel(Checked, Env[FishingState, FishingParams]):
    """Functional environment for a fishery. Laws, noises and errors are small callables in `params`.

    Attributes:
        defaults: the default parameters (not part of the structure).
        units: the scale of actions and observations, and whether an action is a quota or a rate.
        shows_year: whether the year is observed after the stock, as a fraction of the horizon.
        assessment_interval: years between assessments; an action sets the quota for all of them.
        catch_constraint: the largest change of a quota at an assessment, as a fraction of the last; None for no limit.
        order: "harvest first" (Clark, Reed: x' = z f(x - h)) or "growth first" (gym_fishing: x' = z f(x) - h).
        expert: the expert's tuned rule, or None (not part of the structure).
    """

    defaults: FishingParams = field(compare=False)
    units: Units
    order: YearOrder = "harvest first"
    shows_year: bool = False
    assessment_interval: Annotated[int, Field(ge=1, le=MAX_YEARS)] = 1
    catch_constraint: Annotated[float, Field(gt=0, le=1)] | None = None
    expert: TunedRule | None = field(default=None, compare=False, kw_only=True)

    problem: ClassVar[ProblemKind] = "harvest"
    reset_options: ClassVar[tuple[str, ...]] = ("start",)
    step_unit: ClassVar[str] = "years"
    family: ClassVar[str | None] = "harvestgym.fishing.family"

    @property
    def summary(self) -> str:
        """The law, the number of stocks, the meaning of an action, and the order of events in a year."""
        law, units = self.defaults.law, self.units
        control = f"{units.levels} levels of {units.control}" if units.levels else units.control
        return f"{type(law).__name__} law, stocks {law.stocks}, {control}, {self.order}"

    @property
    def params(self) -> FishingParams:
        return self.defaults

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        return self.units.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        return self.units.action_space

    # The five parts of an environment.

    def initial(self, key: Array, params: FishingParams) -> FishingState:
        drawn = params.vary(key, params.law) if params.vary else {}
        varied = drawn.pop("law", None)
        law = varied or params.law
        start = drawn.pop("start", params.start)
        if jnp.ndim(start):  # a range
            start = start[0] + (start[1] - start[0]) * jax.random.uniform(key_for(key, "start"), dtype=jnp.float32)
        stock = law.start(start)
        none = jnp.zeros(self.units.targets, jnp.float32)
        zero, count = jnp.float32(0.0), jnp.int32(0)
        lowest = jnp.float32(law.biomass(stock))
        tally = EpisodeTally(catch=zero, change=zero, worth=zero, lowest=lowest, low=count, under=count, closed=count)
        shock = None  # the growth noise of the year before the first
        if params.noise.random:
            shock = params.noise.draw(jax.random.uniform(key_for(key, "shock"), (law.shocks,), jnp.float32))
        fished = {"catch": none, "quota": none, "rate": none}
        return FishingState(law=varied, drawn=drawn, tally=tally, stock=stock, shock=shock, year=count, **fished)

    def transition(self, key: Array, state: FishingState, action: Any, params: FishingParams) -> FishingState:
        """Apply harvest and growth in the order of this model (f); the catch never exceeds the stock."""
        law = self.law(state, params)
        shock, keep = self._draws(key, law, state, params)
        harvest_first = self.order == "harvest first"
        stock = state.stock if harvest_first else self.grow(law, state.stock, shock, params)
        quota = self.set_quota(law, stock, action, state)
        tried = quota if keep is None else params.quota_error(keep, quota, quota)
        stock, catch, rate = self.harvest(law, stock, tried)
        stock = self.grow(law, stock, shock, params) if harvest_first else stock
        return replace(state, stock=stock, catch=catch, quota=quota, shock=shock, rate=rate, year=state.year + 1)

    def observation(self, key: Array, state: FishingState, action: Any, params: FishingParams) -> Any:
        """Survey the stock, with an error (E); `action` is for subclasses in which fishing reveals information."""
        survey = self.law(state, params).survey(state.stock)
        if params.survey_error.random:
            z = params.survey_error.draw(jax.random.uniform(key, survey.shape, jnp.float32))
            survey = params.survey_error(z, survey, survey)
        return self.units.observation(jnp.concatenate([survey, *self.extras(state, params)]))

    def reward(self, key: Array, state: FishingState, action: Any, after: FishingState, params: FishingParams) -> Array:
        """Return price times the actual catch, minus the cost of effort (U), summed over targets.

        A year that truncates the episode also pays `final_price` times the remaining stock that could be caught.
        """
        return add_up(self.worth(after, params))

    def terminal(self, state: FishingState, params: FishingParams) -> Array:
        return self.law(state, params).biomass(state.stock) <= params.collapse

    # Components of the five parts.

    def extras(self, state: FishingState, params: FishingParams) -> list[Array]:
        """Return the values observed in addition to the survey, each in the unit of biomass, shape (1,)."""
        year = jnp.asarray(self.units.bound * state.year / params.horizon, jnp.float32)
        return [year[None]] if self.shows_year else []

    def truncation(self, state: FishingState, params: FishingParams) -> Array:
        return state.year >= params.horizon

    def worth(self, after: FishingState, params: FishingParams) -> Array:
        """Return price times catch, minus the cost of effort, by target, plus the value of the stock at truncation.

        With `final_price` equal to `price`, selling off a stock in the last years does not pay: constant escapement
        remains optimal until the end (Reed 1979).
        """
        truncated = self.truncation(after, params) & ~self.terminal(after, params)
        left = self.law(after, params).available(after.stock)
        final = params.final_price * left * (left.shape[-1] / self.units.targets)  # fleets share one stock equally
        earned = params.price * after.catch - params.cost * self.effort(after.rate)
        return earned + jnp.where(truncated, final, 0.0)

    def effort(self, rate: Array) -> Array:
        """Return the effort, by target (the last axis), that catches these fractions of the stocks."""
        return find_effort(rate)

    def law(self, state: FishingState, params: FishingParams) -> GrowthLaw:
        """Return the law that applies in the year of `state`."""
        law = params.law if state.law is None else state.law
        return params.drift(law, state.year) if params.drift else law

    def set_quota(self, law: GrowthLaw, stock: Array, action: Any, state: FishingState) -> Array:
        """Return the year's quota as biomass, shape (targets,): the requested quota, limited by the constraint.

        Between assessments, last year's quota applies. After a quota of 0, the constraint allows any quota.
        """
        wanted, last = self.units.wanted(action), state.quota
        quota = wanted * law.available(stock) if self.units.control == "rate" else wanted
        if self.catch_constraint is not None:
            limit = self.catch_constraint
            quota = jnp.where(last > 0, jnp.clip(quota, (1 - limit) * last, (1 + limit) * last), quota)
        held = state.year % self.assessment_interval > 0
        return quota if self.assessment_interval == 1 else jnp.where(held, last, quota)

    def harvest(self, law: GrowthLaw, stock: Array, quota: Array) -> tuple[Array, Array, Array]:
        """Harvest a stock; return the remaining stock, the catch, and the catch as a fraction of the stock."""
        there = law.available(stock)
        catch = jnp.minimum(quota, there)
        return law.harvest(stock, catch), catch, catch / jnp.maximum(there, 1e-12)

    def grow(self, law: GrowthLaw, left: Array, z: Array | None, params: FishingParams) -> Array:
        """Return next year's stock, with noise."""
        mean = law(left)
        if z is None:
            return mean
        noisy = law.noisy
        return mean.at[noisy].set(params.noise(z, mean[noisy], left[noisy])) if noisy else params.noise(z, mean, left)

    def _draws(self, key: Array, law: GrowthLaw, state: FishingState, params: FishingParams) -> tuple[Any, Any]:
        """Draw standard noise for growth (correlated with last year's) and for quota errors, in one generator call."""
        shocks = law.shocks if params.noise.random else 0
        slips = self.units.targets if params.quota_error.random else 0
        u = jax.random.uniform(key, (shocks + slips,), jnp.float32) if shocks + slips else None
        shock = params.noise.draw(u[:shocks]) if u is not None and shocks else None
        if shock is not None and state.shock is not None:
            fresh = jnp.sqrt(1 - params.correlation**2)  # keeps the variance at 1
            shock = params.correlation * state.shock + fresh * shock
        keep = params.quota_error.draw(u[shocks:]) if u is not None and slips else None
        return shock, keep

    def _count_year(
        self, before: FishingState, after: FishingState, reward: Array, params: FishingParams
    ) -> EpisodeTally:
        """Return the tally of the episode with the year from `before` to `after` and its discounted reward."""
        tally, biomass = before.tally, self.law(before, params).biomass(after.stock)
        catch, last = add_up(after.catch), add_up(before.catch)
        return EpisodeTally(
            catch=tally.catch + catch,
            change=tally.change + jnp.where(before.year > 0, jnp.abs(catch - last), 0.0),
            worth=tally.worth + params.discount ** before.year.astype(jnp.float32) * reward,
            lowest=jnp.minimum(tally.lowest, biomass),
            low=tally.low + (biomass < params.b_low),
            under=tally.under + (biomass < params.b_msy),
            closed=tally.closed + (catch < CLOSED * self.units.bound),
        )

    def step(
        self, key: Array, state: FishingState, action: Any, params: FishingParams | None = None
    ) -> tuple[FishingState, Timestep]:
        """Simulate a year like `Env.step`, but without keys for noiseless parts; tally the discounted reward.

        The parts receive the parameters that were drawn for the episode.
        """
        params = replace(self.given(params), **state.drawn)
        after = self.transition(key, state, action, params)
        obs = self.observation(key_for(key, "observation"), after, action, params)
        reward = self.reward(key_for(key, "reward"), state, action, after, params)
        after = replace(after, tally=self._count_year(state, after, reward, params))
        return after, self._timestep(after, obs, reward, params)

    def info(self, state: FishingState, params: FishingParams) -> dict[str, Any]:
        year = {
            "biomass": self.law(state, params).biomass(state.stock),
            "catch": add_up(state.catch),
            "quota": add_up(state.quota),
            "rate": find_highest(state.rate),
            "year": state.year,
        }
        return year | {meta.keys[0]: getattr(state.tally, name) for name, meta in iterate_metas(EpisodeTally)}

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        """Count a year without an action, a year with the largest possible action, and one with a catch below the
        quota.

        If a rule may change quotas, also count a year in which it did.
        """
        quota, units = info["quota"], self.units
        most = info["rate"] >= 0.999 if units.control == "rate" else quota >= 0.999 * units.highest * units.targets
        found = {"years without action": quota <= 0, "years of most": most, "years cut": info["catch"] < 0.999 * quota}
        if units.control == "quota" and (self.assessment_interval > 1 or self.catch_constraint is not None):
            asked = quota if action is None else add_up(units.wanted(action))
            found["years changed"] = jnp.abs(quota - asked) > 1e-3 * asked
        return {name: (held & (info["year"] > 0)).astype(jnp.int32) for name, held in found.items()}

    def set_options(self, params: FishingParams, options: Mapping[str, Any]) -> tuple[FishingModel, FishingParams]:
        """Return the model, and the parameters of an episode that starts with the stock `start`.

        Raises ConfigError for a wrong value.
        """
        if "start" not in options:
            return self, params
        start = options["start"]
        check_first_stock(params.law, start, float(params.collapse), "reset option 'start'")
        if np.ndim(start) > np.ndim(params.start):
            raise mismatch("reset option 'start'", "a stock", repr(start), f"make(..., start={start!r})")
        vary = params.vary
        if isinstance(vary, AnyStock) and "start" in vary.sets:
            sets = vary.sets | {"start": np.full_like(vary.sets["start"], start)}
            return self, replace(params, vary=replace(vary, sets=sets))
        return self, replace(params, start=np.broadcast_to(np.float32(start), np.shape(params.start)))
