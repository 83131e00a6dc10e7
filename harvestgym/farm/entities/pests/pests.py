"""Pests: insects that come in waves from the wild edge, drift with the wind and live on plants (section 4.4.3).

Their numbers are per m2 of plot, so that results do not depend on plot size; distances to the edge are in
plots. In the morning, pests spread over the plants and weeds of their plot; in the evening some leave, others arrive,
and all move to a neighbouring plot or stay. The equations are in `equations.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Pytree, par, replace, var
from harvestgym.core.random import normal
from harvestgym.core.view.scene import Mark
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, check_order, publishes
from harvestgym.farm.entities.drawing import DrawContext
from harvestgym.farm.entities.messages import Air, Canopy, Flock, Load, Structures

from . import equations
from .equations import PESTS_MAX, Appear, Stay

LOOKAHEAD = 5
"""Number of days in the forecast, as for the weather."""


_count = partial(var, dtype="int", high=PESTS_MAX)
"""A number of pests."""


class PestsState(Pytree):
    """The locations of the pests, the forecast of attacks, and the (hidden) future waves."""

    population: Array = _count("plot_population#nb", "pests on the plot, per m2")
    on_host: Array = _count("onplant_population#nb", "pests on each host this morning", axes=("host", "plot"))
    forecast: Array = var("forecast/attack", "forecast share of plots a wave reaches, 0 to 1", high=1, axes=("lead",))
    ahead: Array = _count("ahead", "pests at the edge on the coming days", axes=("lead", "plot"), hidden=True)


class Pests(Entity):
    """A species of insect pest."""

    State: ClassVar[type] = PestsState
    counted: ClassVar[Mapping[str, tuple[str, ...]]] = {"pests": ("plot_population#nb",)}
    targets: ClassVar[tuple[str, ...]] = ("pests",)
    randomness: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "wave": ("plot",), "size": ("plot",), "stay": ("plot",), "come": ("plot",), "host": ("plot", "host"),
        "pull": ("plot", "way"), "step": ("plot", "turn"), "forecast": ("lead",),
    }  # fmt: skip

    frequency: Array = par("arrival_frequency#day-1", "chance of a wave at a plot", low=0, high=1)
    least: Array = par("min_population#nb", "fewest pests in a wave", dtype="int", low=0, high=PESTS_MAX)
    most: Array = par("max_population#nb", "most pests in a wave", dtype="int", low=0, high=PESTS_MAX)
    error: Array = par("forecast_noise_attack#day-1", "error variance of the forecast, per day ahead", low=0, high=100)
    appear: Appear
    stay: Stay

    def check(self) -> Iterator[str]:
        """Check that the minimum is not above the maximum."""
        yield from check_order("min_population#nb", self.least, "max_population#nb", self.most)

    def init(self, key: Array, place: Place) -> PestsState:
        """Start without pests and draw the waves of the coming days."""
        waves, noise = jax.random.split(key)
        ahead = self._waves(*jax.random.uniform(waves, (2, LOOKAHEAD, *place.shape), jnp.float32))
        forecast = self._forecast(ahead, jax.random.uniform(noise, (LOOKAHEAD,), jnp.float32))
        return replace(super().init(key, place), ahead=ahead, forecast=forecast)

    def sizes(self, place: Place) -> dict[str, tuple[int, ...]]:
        """Return the sizes of additional axes: days ahead, steps and their draws (none for a field of one plot)."""
        ways = (len(equations.WALKS) + 1) * (place.shape != (1, 1))
        return place.sizes | {"lead": (LOOKAHEAD,), "way": (ways,), "turn": (max(ways - 1, 0),)}

    @publishes(Load)
    def load(self, state: PestsState, place: Place, board: Board, draws: Draws) -> Load:
        """Publish this morning's number of pests on each living host on each plot."""
        canopy = board.read_hosts(Canopy)
        if not canopy.alive.shape[0]:
            return Load(pests=jnp.zeros((len(place.hosts), *place.shape), jnp.float32))
        on_host = equations.spread_over_hosts(state.population, canopy.alive, canopy.repulsion, draws["host"])
        return Load(pests=on_host.astype(jnp.float32))

    def draw(self, seen: DrawContext, place: Place) -> list[Mark]:
        """Draw the pests at the western edge of each plot."""
        return seen.marks(self.sprites()["pest"], "plot_population#nb", (0.11 + 0.1 * seen.rank, 0.33), "pests")

    def update(self, state: PestsState, place: Place, board: Board, draws: Draws) -> tuple[PestsState, Ledger]:
        """Let this morning's pests leave or stay and others arrive, and move all of them at once."""
        air, day = board.read_one(Air), self.compute_drivers(place, board)
        ahead = jnp.append(state.ahead[1:], self._waves(draws["wave"], draws["size"])[None], axis=0)
        chances = equations.p_stay(self.stay, day), equations.p_appear(self.appear, day)
        uniforms = draws["stay"], draws["come"]
        population = equations.arrive_and_leave(state.population, state.ahead[0], *chances, uniforms)
        if place.shape != (1, 1):
            weights = equations.step_weights(draws["pull"], air.wind, air.wind_x, air.wind_y)
            population = equations.walk(population, weights, draws["step"])
        on_host = board.read_own(Load).pests.astype(jnp.int32)
        tally = {"pests#nb": population.sum(dtype=jnp.int32) * place.surface}
        forecast = self._forecast(ahead, draws["forecast"])
        return PestsState(population=population, on_host=on_host, forecast=forecast, ahead=ahead), Ledger({}, tally)

    def _waves(self, happens: Array, size: Array) -> Array:
        return equations.wave_size(self.frequency, self.least, self.most, happens, size)

    def _forecast(self, ahead: Array, uniform: Array) -> Array:
        """Forecast the coming attacks with an error whose variance grows with the lead time, as for the weather."""
        attacked = jnp.mean((ahead > 0).astype(jnp.float32), axis=(1, 2))
        error = jnp.sqrt(self.error * (1.0 + jnp.arange(LOOKAHEAD, dtype=jnp.float32))) * normal(uniform)
        return jnp.clip(attacked + error, 0.0, 1.0)

    def compute_drivers(self, place: Place, board: Board) -> dict[str, Any]:
        """Compute today's drivers; temperature and birds are the same on the whole field.

        The distance to the wild edge is reduced by the lure of a hedge, in plots, for arrival and for departure.
        """
        nearer = jnp.maximum(place.distance_to_edge - board.read_sum(Structures).insect_lure, 0.0)
        return {
            "distance": nearer,
            "reach": max(place.shape) / 2,
            "temperature": board.read_one(Air).t_mean,
            "pesticide": board.toxin(self.targets[0]) / place.surface,
            "birds": board.read_sum(Flock).pest_eaters,
        }
