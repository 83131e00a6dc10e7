"""Conservation problems, in which an action adds to a stock or lowers the driver of a tipping point.

The driver problem uses May's law with consumption `a` that rises every year. An action A (at most the bound) lowers `a`
by A * effect before that year's rise; the reward is benefit x / (1 + satiation x) - A^exponent. The published figures
use effect = 1/(100 bound) and satiation 1; the paper's text uses satiation 0.

A `loss` removes a fraction of the stock each year before it grows. If it removes more than growth replaces, the stock
is a sink (Pulliam 1988, American Naturalist 132:652): it survives only as long as animals are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import par, replace

from .growth import May
from .model import FishingModel, FishingParams, FishingState

DRIVER_BOUND = 0.5
"""Upper bound on the observed consumption `a`."""


class ConservationParams(FishingParams):
    """Parameters of a conservation problem, in which actions have a cost and the stock itself has a value."""

    benefit: Any = par("benefit", "value of a unit of stock per year", default=1.0)
    satiation: Any = par("satiation", "how fast the benefit saturates with stock; 0 is linear", low=0.0, default=0.0)
    exponent: Any = par("exponent", "cost of an action A is A^exponent", low=0.0, default=2.0)
    loss: Any = par("loss", "share of the stock that is lost each year before it grows", low=0.0, high=1.0, default=0.0)
    effect: Any = par("effect", "decrease of the driver per unit of action", low=0.0, default=0.0)
    rise: Any = par("rise", "yearly rise of the driver", default=0.0)


@dataclass(frozen=True, repr=False)
class RecoveryModel(FishingModel):
    """Translocation: the action A adds to the stock before it grows, at a cost of A^exponent.

    x' = z f((1 - loss) (x + A)).
    """

    problem = "recovery"
    meaning: ClassVar[str] = "biomass A to add to the stock"

    def transition(self, key: Array, state: FishingState, action: Any, params: Any) -> FishingState:
        treated = self.intervene(state, self.units.wanted(action), params)
        law = self.law(treated, params)
        shock, _ = self._draws(key, law, state, params)
        stock = self.grow(law, (1 - params.loss) * treated.stock, shock, params)
        return replace(treated, stock=stock, quota=self.units.wanted(action), shock=shock, year=state.year + 1)

    def intervene(self, state: FishingState, action: Array, params: ConservationParams) -> FishingState:
        """Return the state after an action, before losses and growth."""
        return replace(state, stock=state.stock + action)

    def reward(self, key: Array, state: FishingState, action: Any, after: FishingState, params: Any) -> Array:
        """Return benefit s / (1 + satiation s) - A^exponent, for the stock s and the action A."""
        stock = after.stock[0]
        worth = params.benefit * stock / (1 + params.satiation * stock)
        return worth - self.units.wanted(action)[0] ** params.exponent


@dataclass(frozen=True, repr=False)
class DriverModel(RecoveryModel):
    """Tipping-point control: the action lowers the driver `a` of May's law, which rises every year.

    Attributes:
        shows_driver: whether `a` is observed in addition to the stock, which makes the observation Markov.
    """

    shows_driver: bool = False

    problem = "driver"
    meaning = "effort A that lowers the driver of the growth law"

    def initial(self, key: Array, params: FishingParams) -> FishingState:
        state = super().initial(key, params)
        return replace(state, law=jax.tree.map(lambda v: jnp.asarray(v, jnp.float32), params.law))

    def intervene(self, state: FishingState, action: Array, params: ConservationParams) -> FishingState:
        assert isinstance(state.law, May)
        return replace(state, law=replace(state.law, a=self.push_driver(state.law.a, action[0], params)))

    def push_driver(self, a: Array, action: Array, params: ConservationParams) -> Array:
        """Return next year's driver after an action."""
        return jnp.maximum(a - action * params.effect, 0.0) + params.rise

    def extras(self, state: FishingState, params: FishingParams) -> list[Array]:
        assert isinstance(state.law, May)
        driver = state.law.a * self.units.bound / DRIVER_BOUND
        return super().extras(state, params) + ([driver[None]] if self.shows_driver else [])

    def info(self, state: FishingState, params: FishingParams) -> dict[str, Any]:
        assert isinstance(state.law, May)
        return super().info(state, params) | {"driver": state.law.a}
