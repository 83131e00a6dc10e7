"""A fishery as a functional environment with five parts, each a function that a subclass may override.

Each year, a quota is set from the last observation; the fleet catches about that much, but never more than the stock;
the rest grows, with noise; and the stock is surveyed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import gymnasium
import jax
import jax.numpy as jnp

from harvestgym.core.checks import Checked
from harvestgym.core.env import Env, Timestep
from harvestgym.core.pytree import iterate_metas, par, pytree, replace, var
from harvestgym.core.random import key_for
from harvestgym.core.tuning.rule_family import TunedRule
from harvestgym.core.xla.fusion import add_up, find_highest

from .growth import MAX_BIOMASS, GrowthLaw
from .noise import Noise
from .parameter_drift import AnyLaw, Drift, Spread
from .units import Units

YearOrder = Literal["harvest first", "growth first"]

MAX_YEARS = 2**24
"""Longest episode in years; float32 counts exactly up to this number."""


@pytree
class FishingParams(Checked):
    """Parameters of a fishery."""

    law: GrowthLaw
    noise: Noise
    survey_error: Noise
    quota_error: Noise
    drift: Drift | None
    vary: Spread | AnyLaw | None
    start: Any = par("start", "stock at the start, in the unit of K", low=0.0, high=MAX_BIOMASS)
    horizon: Any = par("Tmax", "years after which an episode is truncated", low=1, high=MAX_YEARS, dtype="int")
    price: Any = par("price", "price of a unit of catch", low=0.0, high=MAX_BIOMASS)
    cost: Any = par("cost", "cost of a unit of effort, effort being -ln(1 - catch/stock)", low=0.0, high=MAX_BIOMASS)
    discount: Any = par("discount", "factor per year of the discounted return", low=0.0, high=1.0)
    collapse: Any = par("collapse", "biomass at or below which the fishery ends", low=0.0)
    b_low: Any = par("b_low", "biomass below which a stock is counted as low (0.2 K)", low=0.0)
    b_msy: Any = par("b_msy", "biomass before harvest that gives the maximum sustainable yield", low=0.0)


@pytree
class EpisodeTally:
    """Sums over an episode, from which metrics are computed."""

    catch: jax.Array = var("total_catch", "catch so far, over all stocks", axes=())
    change: jax.Array = var("catch_change", "sum of the yearly changes of catch, in absolute value", axes=())
    worth: jax.Array = var("discounted_return", "rewards so far, discounted", low=-jnp.inf, axes=())
    lowest: jax.Array = var("lowest_biomass", "lowest biomass so far", axes=())
    low: jax.Array = var("years_low", "years that ended with biomass below b_low", dtype="int", axes=())
    under: jax.Array = var("years_below_bmsy", "years that ended with biomass below b_msy", dtype="int", axes=())
    closed: jax.Array = var("years_closed", "years with hardly any catch", dtype="int", axes=())


@pytree
class FishingState:
    """Stock, catch and tally, and the episode's law if laws vary between episodes."""

    law: GrowthLaw | None
    tally: EpisodeTally
    stock: jax.Array = var("stock", "biomass of each stock, at the start of the year", axes=("stock",))
    catch: jax.Array = var("catch", "last year's actual catch, by target", axes=("target",))
    rate: jax.Array = var("rate", "catch as a share of the stock", high=1.0, axes=("target",))
    year: jax.Array = var("year", "years since the start", dtype="int", axes=())


CLOSED = 1e-3
"""A year with a catch below this fraction of the bound counts as closed."""


def find_effort(rate: Any) -> jax.Array:
    """Return the effort that catches a fraction of a stock, -ln(1 - rate) (Clark 1990); rates are clipped at 99.9 %."""
    return -jnp.log(jnp.maximum(1 - rate, 1e-3))


@dataclass(frozen=True, repr=False)
class FishingModel(Checked, Env[FishingState, FishingParams]):
    """Functional environment for a fishery. Laws, noises and errors are small callables in `params`.

    Attributes:
        defaults: the default parameters (not part of the structure).
        units: the scale of actions and observations, and whether an action is a quota or a rate.
        shows_year: whether the year is observed after the stock, as a fraction of the horizon.
        order: "harvest first" (Clark, Reed: x' = z f(x - h)) or "growth first" (gym_fishing: x' = z f(x) - h).
        expert: the expert's tuned rule, or None (not part of the structure).
    """

    defaults: FishingParams = field(compare=False)
    units: Units
    order: YearOrder = "harvest first"
    shows_year: bool = False
    expert: TunedRule | None = field(default=None, compare=False, kw_only=True)

    step_unit: ClassVar[str] = "years"
    family: ClassVar[str | None] = "harvestgym.fishing.family"
    render_modes = ("ansi",)

    @property
    def summary(self) -> str:
        """The law, the number of stocks, the meaning of an action, and the order of events in a year."""
        law, control = self.defaults.law, f"{self.units.levels} levels of {self.units.control}"
        control = control if self.units.levels else self.units.control
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

    def initial(self, key: jax.Array, params: FishingParams) -> FishingState:
        law = params.vary(key, params.law) if params.vary else None
        stock = (law or params.law).start(params.start)
        none = jnp.zeros(self.units.targets, jnp.float32)
        zero, count = jnp.float32(0.0), jnp.int32(0)
        lowest = jnp.float32((law or params.law).biomass(stock))
        tally = EpisodeTally(catch=zero, change=zero, worth=zero, lowest=lowest, low=count, under=count, closed=count)
        return FishingState(law=law, tally=tally, stock=stock, catch=none, rate=none, year=count)

    def transition(self, key: jax.Array, state: FishingState, action: Any, params: FishingParams) -> FishingState:
        """Apply harvest and growth in this model's order (f); the catch never exceeds the stock."""
        law = self.law(state, params)
        grow, keep = self._draws(key, law, params)
        if self.order == "harvest first":
            left, catch, rate = self.harvest(law, state.stock, action, keep, params)
            stock = self.grow(law, left, grow, params)
        else:
            grown = self.grow(law, state.stock, grow, params)
            stock, catch, rate = self.harvest(law, grown, action, keep, params)
        after = FishingState(law=state.law, tally=state.tally, stock=stock, catch=catch, rate=rate, year=state.year + 1)
        return self._add_to_tally(law, state, after, params)

    def observation(self, key: jax.Array, state: FishingState, action: Any, params: FishingParams) -> Any:
        """Survey the stock, with an error (E); `action` is for subclasses in which fishing reveals information."""
        survey = self.law(state, params).survey(state.stock)
        if params.survey_error.random:
            z = params.survey_error.draw(jax.random.uniform(key, survey.shape, jnp.float32))
            survey = params.survey_error(z, survey, survey)
        seen = self.units.observation(survey)
        if not self.shows_year:
            return seen
        year = self.units.observation(self.units.bound * state.year / params.horizon)
        return jnp.append(seen, year.astype(seen.dtype))

    def reward(
        self, key: jax.Array, state: FishingState, action: Any, after: FishingState, params: FishingParams
    ) -> jax.Array:
        """Return price times the actual catch, minus the cost of effort (U), summed over targets."""
        return add_up(self.worth(after, params))

    def terminal(self, state: FishingState, params: FishingParams) -> jax.Array:
        return self.law(state, params).biomass(state.stock) <= params.collapse

    # Components of the five parts.

    def truncation(self, state: FishingState, params: FishingParams) -> jax.Array:
        return state.year >= params.horizon

    def worth(self, after: FishingState, params: FishingParams) -> jax.Array:
        """Return price times catch, minus the cost of effort, by target."""
        return params.price * after.catch - params.cost * find_effort(after.rate)

    def law(self, state: FishingState, params: FishingParams) -> GrowthLaw:
        """Return the law that applies in the year of `state`."""
        law = params.law if state.law is None else state.law
        return params.drift(law, state.year) if params.drift else law

    def quota(
        self, law: GrowthLaw, stock: jax.Array, action: Any, keep: jax.Array | None, params: FishingParams
    ) -> jax.Array:
        """Return the catch that an action allows, as biomass with the quota error, shape (targets,)."""
        wanted = self.units.wanted(action)
        quota = wanted * law.available(stock) if self.units.control == "rate" else wanted
        return quota if keep is None else params.quota_error(keep, quota, quota)

    def harvest(
        self, law: GrowthLaw, stock: jax.Array, action: Any, keep: jax.Array | None, params: FishingParams
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Harvest a stock; return the remaining stock, the catch, and the catch as a fraction of the stock."""
        quota = self.quota(law, stock, action, keep, params)
        there = law.available(stock)
        catch = jnp.minimum(quota, there)
        return law.harvest(stock, catch), catch, catch / jnp.maximum(there, 1e-12)

    def grow(self, law: GrowthLaw, left: jax.Array, z: jax.Array | None, params: FishingParams) -> jax.Array:
        """Return next year's stock, with noise."""
        mean = law(left)
        if z is None:
            return mean
        noisy = law.noisy
        return mean.at[noisy].set(params.noise(z, mean[noisy], left[noisy])) if noisy else params.noise(z, mean, left)

    def _draws(
        self, key: jax.Array, law: GrowthLaw, params: FishingParams
    ) -> tuple[jax.Array | None, jax.Array | None]:
        """Draw standard noise for growth and for quota errors, in one call to the generator."""
        shocks = law.shocks if params.noise.random else 0
        slips = self.units.targets if params.quota_error.random else 0
        u = jax.random.uniform(key, (shocks + slips,), jnp.float32) if shocks + slips else None
        grow = params.noise.draw(u[:shocks]) if u is not None and shocks else None
        keep = params.quota_error.draw(u[shocks:]) if u is not None and slips else None
        return grow, keep

    def _add_to_tally(
        self, law: GrowthLaw, before: FishingState, after: FishingState, params: FishingParams
    ) -> FishingState:
        """Add this year to the tally in `after`, except for the reward, which `step` adds."""
        tally, biomass = before.tally, law.biomass(after.stock)
        catch, last = add_up(after.catch), add_up(before.catch)
        counted = EpisodeTally(
            catch=tally.catch + catch,
            change=tally.change + jnp.where(before.year > 0, jnp.abs(catch - last), 0.0),
            worth=tally.worth,
            lowest=jnp.minimum(tally.lowest, biomass),
            low=tally.low + (biomass < params.b_low),
            under=tally.under + (biomass < params.b_msy),
            closed=tally.closed + (catch < CLOSED * self.units.bound),
        )
        return replace(after, tally=counted)

    def step(
        self, key: jax.Array, state: FishingState, action: Any, params: FishingParams | None = None
    ) -> tuple[FishingState, Timestep]:
        """Simulate a year like `Env.step`, but without keys for noiseless parts; tally the discounted reward."""
        params = self.given(params)
        after = self.transition(key, state, action, params)
        obs = self.observation(key_for(key, "observation"), after, action, params)
        reward = self.reward(key_for(key, "reward"), state, action, after, params)
        weight = params.discount ** state.year.astype(jnp.float32)
        after = replace(after, tally=replace(after.tally, worth=after.tally.worth + weight * reward))
        return after, self._timestep(after, obs, reward, params)

    def info(self, state: FishingState, params: FishingParams) -> dict[str, Any]:
        year = {
            "biomass": self.law(state, params).biomass(state.stock),
            "catch": add_up(state.catch),
            "rate": find_highest(state.rate),
            "year": state.year,
        }
        return year | {meta.keys[0]: getattr(state.tally, name) for name, meta in iterate_metas(EpisodeTally)}

    def render(self, state: FishingState, params: FishingParams, mode: str) -> str:
        """Describe the year in one line of text (mode "ansi")."""
        stock = " ".join(f"{value:.3f}" for value in state.stock)
        catch = " ".join(f"{value:.3f}" for value in state.catch)
        return f"year {int(state.year)}  stock {stock}  catch {catch}\n"
