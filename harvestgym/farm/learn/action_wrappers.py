"""Action wrappers for learners: an action is one number, one number per scheduled action, or one vector.

Each is a functional environment, so `GymEnv`, `VecEnv`, `vmap` and the adapters accept it like a farm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from jax import Array

from harvestgym.core.env import Env, Timestep, check_core
from harvestgym.core.errors import check_name
from harvestgym.core.pytree import replace
from harvestgym.core.wrappers import Flatten, StatelessWrapper
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observation_requests import Requests
from harvestgym.farm.engine.state import FarmParams


@dataclass(frozen=True)
class ActionWrapper(StatelessWrapper[FarmParams]):
    """A farm with a different action space; the state is the state of the farm."""

    env: FarmModel

    def __post_init__(self) -> None:
        check_core(self.env, type(self).__name__, FarmModel)

    @property
    def requests(self) -> int:
        """The number of observations that can be requested."""
        return len(self.env.offered.items)


@dataclass(frozen=True)
class DiscreteActions(ActionWrapper):
    """Actions by number: 0 does nothing (in mode "ao", it ends the half-step), then requests, then interventions.

    Attributes:
        whole_schedule: whether an action has a number for each schedule slot instead of a single number.
    """

    whole_schedule: bool = False

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        n = self.requests + self.env.actions.size
        return spaces.MultiDiscrete([n] * self.env.schedule) if self.whole_schedule else spaces.Discrete(n)

    def read(self, action: Array) -> Any:
        numbers = jnp.zeros(self.env.schedule, jnp.int32).at[: jnp.size(action)].set(jnp.asarray(action, jnp.int32))
        request = (numbers[:, None] == 1 + jnp.arange(self.requests, dtype=jnp.int32)).any(0)
        order = jnp.where(numbers > self.requests, numbers - self.requests, 0)
        return self.env.make_action(request, order if self.env.schedule > 1 else order[0])

    def action_mask(self, state: Any, params: FarmParams) -> Array:
        """Return which actions are possible as the first of a step, bool, in the shape of the space.

        In mode "ao", actions of the other half-step are impossible. Every schedule slot has the mask of the first slot.
        """
        inner = self.inner(state)
        asks, acts = (~inner.acting, inner.acting) if self.env.asks else (True, True)
        first = self._first_mask(inner, params, asks, acts)
        return jnp.broadcast_to(first, (self.env.schedule, len(first))) if self.whole_schedule else first

    def _first_mask(self, inner: Any, params: FarmParams, asks: Any, acts: Any) -> Array:
        """Return the mask: action 0, the requests (possible only if `asks`), and the interventions (only if `acts`)."""
        orders = self.env.permits_first(inner, params)
        return jnp.concatenate([orders[:1], self.env.requests.news(inner, params) & asks, orders[1:] & acts])


class TurnState(NamedTuple):
    """The state of the farm, and which observations were requested today."""

    inner: Any
    requested: Array


@dataclass(frozen=True)
class TurnActions(DiscreteActions):
    """One integer per turn, in mode "ao": request an observation and see the result, intervene, or do nothing.

    Intervening, doing nothing and requesting the same observation again end the day. A day has at most
    `steps_per_day` turns.
    """

    step_unit: ClassVar[str] = "turns"

    @property
    def steps_per_day(self) -> int:
        """The largest number of turns in a day: one for each observation, and one to end the day."""
        return self.requests + 1

    def inner(self, state: TurnState) -> Any:
        return state.inner

    def opened(self, state: Any, first: Timestep) -> tuple[TurnState, Timestep]:
        return TurnState(state, jnp.zeros(self.requests, bool)), first

    def action_mask(self, state: TurnState, params: FarmParams) -> Array:
        """Return which actions are possible now, bool; a request that shows nothing new is not."""
        return self._first_mask(state.inner, params, ~state.requested, True)

    def step(self, key: Array, state: TurnState, action: Any, params: FarmParams | None = None) -> tuple[Any, Timestep]:
        asked = (action == 1 + jnp.arange(self.requests, dtype=jnp.int32)) & ~state.requested
        goes_on = jnp.any(asked)
        inner, timestep = self.env.step(key, replace(state.inner, acting=~goes_on), self.read(action), params)
        return TurnState(inner, (state.requested | asked) & goes_on), timestep


@dataclass(frozen=True)
class BoxActions(ActionWrapper):
    """A vector in [-1, 1] that holds, for each schedule slot, the intervention, the plot and the values.

    For a choice among n options, the range is divided into n equal parts (the first intervention does nothing). For a
    continuous parameter, the range maps linearly to the parameter's range. Numbers outside [-1, 1] are clipped. In mode
    "ao", the vector starts with one number per observation, which requests the observation if it is above 0.
    """

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        size = self.requests + self.env.schedule * (2 + self.env.actions.width)
        return spaces.Box(-1.0, 1.0, (size,), np.float32)

    @cached_property
    def _ranges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return whether each row's parameters are continuous, and their lower and upper bounds; each (rows, width)."""
        rows = self.env.actions.rows
        continuous = np.zeros((len(rows), self.env.actions.width), bool)
        low, high = np.zeros(continuous.shape, np.float32), np.zeros(continuous.shape, np.float32)
        for r, row in enumerate(rows):
            for k, parameter in enumerate(row.allowed):
                continuous[r, k], (low[r, k], high[r, k]) = parameter.continuous, parameter.range
        return continuous, low, high

    def read(self, action: Array) -> Any:
        parts = jnp.clip(jnp.nan_to_num((jnp.asarray(action, jnp.float32) + 1) / 2), 0.0, 1.0)
        return self.env.make_action(parts[: self.requests] > 0.5, self._orders(parts[self.requests :]))

    def _orders(self, parts: Array) -> Any:
        table, parts = self.env.actions, parts.reshape(self.env.schedule, -1)
        if not table.rows:
            return table.orders(jnp.zeros(self.env.schedule, jnp.int32))
        which = _bin(parts[:, 0], 1 + len(table.assignments))
        farmer, row = jnp.asarray(table.assignments, jnp.int32)[jnp.maximum(which - 1, 0)].T
        sizes, plots, values = map(jnp.asarray, table.tables)
        continuous, low, high = (jnp.asarray(e)[row] for e in self._ranges)
        at = _bin(parts[:, 2:], sizes[row, 1:])
        chosen = jnp.take_along_axis(values[row], at[..., None], axis=-1)[..., 0]
        numbers = jnp.where(continuous, low + (high - low) * parts[:, 2:], chosen)
        plot = plots[row, _bin(parts[:, 1], sizes[row, 0])]
        return Orders.of_rows(which > 0, farmer, row, plot, numbers)


ORDER_WIDTH = 4
"""Number of entries before the values in a `ScheduleActions` row: the action, the farmer, and the plot (x, y)."""


@dataclass(frozen=True)
class ScheduleActions(ActionWrapper):
    """The paper's lists as one int32 array with a row per schedule slot; with several arrays, calls would be slower.

    A row holds the action (1 + the row of the action table, -1 - the number of an observation group, or 0 for nothing),
    the farmer, the plot ((-1, -1) for the whole field), and the bits of the float32 values.
    """

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        ends = np.iinfo(np.int32)
        return spaces.Box(ends.min, ends.max, (self.env.schedule, ORDER_WIDTH + self.env.actions.width), np.int32)

    def read(self, action: Any) -> Any:
        action = jnp.asarray(action, jnp.int32)
        what, farmer, plot = action[:, 0], action[:, 1], action[:, 2:ORDER_WIDTH]
        values = jax.lax.bitcast_convert_type(action[:, ORDER_WIDTH:], jnp.float32)
        order = Orders(jnp.maximum(what, 0), farmer, plot, values)
        return self.env.make_action(Requests(farmer, jnp.maximum(-what, 0), plot), order)


def _bin(position: Array, n: Any) -> Array:
    """Divide [0, 1] into n equal parts and return the index (from 0) of the part that contains a position."""
    return jnp.minimum(jnp.floor(position * n), jnp.asarray(n) - 1).astype(jnp.int32)


WRAPPERS = {
    "discrete": lambda model: (TurnActions if model.offered.items else DiscreteActions)(model),
    "multidiscrete": lambda model: DiscreteActions(model, whole_schedule=True),
    "box": BoxActions,
}


def wrap_actions(model: FarmModel, actions: str, flat: bool = True) -> Env[Any, Any]:
    """Wrap a farm for `discrete`, `multidiscrete` or `box` actions; if `flat`, observation and mask are one vector."""
    check_name("actions", actions, WRAPPERS)
    made = WRAPPERS[actions](model)
    return Flatten(made) if flat else made
