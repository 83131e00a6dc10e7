"""Faces of a farm for learners: one number, a number per action of a schedule, or one vector; flat observations.

Each is a functional environment, so that `GymEnv`, `VecEnv`, `vmap` and the adapters take it as they take the farm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Env, Timestep
from harvestgym.core.errors import check_name
from harvestgym.core.tree import replace
from harvestgym.core.wrappers import Flatten, Wrapper
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.model import FarmModel, FarmParams
from harvestgym.farm.engine.requests import Requests


@dataclass(frozen=True)
class _Face(Wrapper[FarmParams]):
    """A farm with other actions; its state is the farm's."""

    env: FarmModel

    def inner(self, state: Any) -> Any:
        return state

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return state, first

    def step(self, key: jax.Array, state: Any, action: Any, params: FarmParams) -> tuple[Any, Timestep]:
        return self.env.step(key, state, self.read(action), params)

    @property
    def looks(self) -> int:
        """How many observations can be asked for."""
        return len(self.env.offered.looks) if isinstance(self.env, ActiveFarm) else 0

    def _whole(self, request: Any, order: Any) -> Any:
        return {"request": request, "order": order} if isinstance(self.env, ActiveFarm) else order


@dataclass(frozen=True)
class Numbers(_Face):
    """0 is nothing (in mode "ao": done); then the observations that can be asked for; then the interventions.

    Attributes:
        several: whether an action is a number for each place of the schedule, or one.
    """

    several: bool = False

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        n = self.looks + len(self.env.actions.choices)
        return gymnasium.spaces.MultiDiscrete([n] * self.env.schedule) if self.several else gymnasium.spaces.Discrete(n)

    def read(self, action: jax.Array) -> Any:
        numbers = jnp.zeros(self.env.schedule, jnp.int32).at[: self.env.schedule if self.several else 1].set(action)
        request = (numbers[:, None] == 1 + jnp.arange(self.looks)).any(0)
        order = jnp.where(numbers > self.looks, numbers - self.looks, 0)
        return self._whole(request, order if self.env.schedule > 1 else order[0])


class TurnsState(NamedTuple):
    """The farm's state, and which observations were asked for today."""

    inner: Any
    tried: jax.Array


@dataclass(frozen=True)
class Turns(Numbers):
    """A number a turn, in mode "ao": ask for an observation and see it, or intervene, or be done with the day.

    The last two end the day, and so does asking again for what was asked for today: a day has at most
    `steps_per_day` turns.
    """

    step_unit: ClassVar[str] = "turns"

    @property
    def steps_per_day(self) -> int:
        """The most turns of a day: each observation, and the end."""
        return self.looks + 1

    def inner(self, state: TurnsState) -> Any:
        return state.inner

    def opened(self, state: Any, first: Timestep) -> tuple[TurnsState, Timestep]:
        return TurnsState(state, jnp.zeros(self.looks, bool)), first

    def step(self, key: jax.Array, state: TurnsState, action: Any, params: FarmParams) -> tuple[Any, Timestep]:
        asked = (action == 1 + jnp.arange(self.looks)) & ~state.tried
        goes_on = jnp.any(asked)
        due = replace(state.inner, acting=~goes_on)
        inner, timestep = self.env.step(key, due, self.read(action), params)
        return TurnsState(inner, (state.tried | asked) & goes_on), timestep


@dataclass(frozen=True)
class Vector(_Face):
    """A vector in [-1, 1]: for each place of the schedule which intervention, on which plot, with which values.

    A choice among n is the n-th part of the range that the number falls in (the first intervention is «nothing»), a
    continuous parameter its place between its ends; what lies outside counts as the nearer end. In mode "ao" one
    number per observation comes first: it is asked for where it is above 0.
    """

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        size = self.looks + self.env.schedule * (2 + self.env.actions.width)
        return gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float32)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each parameter of each row: whether it is continuous, and its ends; (rows, width)."""
        rows = self.env.actions.rows
        whether = np.zeros((len(rows), self.env.actions.width), bool)
        low, high = np.zeros(whether.shape, np.float32), np.zeros(whether.shape, np.float32)
        for r, row in enumerate(rows):
            for k, parameter in enumerate(row.allowed):
                whether[r, k], (low[r, k], high[r, k]) = parameter.continuous, parameter.range
        return whether, low, high

    def read(self, action: jax.Array) -> Any:
        parts = jnp.clip(jnp.nan_to_num((jnp.asarray(action) + 1) / 2), 0.0, 1.0)
        return self._whole(parts[: self.looks] > 0.5, self._orders(parts[self.looks :]))

    def _orders(self, parts: jax.Array) -> Any:
        table, parts = self.env.actions, parts.reshape(self.env.schedule, -1)
        if not table.rows:
            return table.orders(jnp.zeros(self.env.schedule, jnp.int32))
        which = _part(parts[:, 0], 1 + len(table.farmers) * len(table.rows))
        farmer, row = jnp.divmod(jnp.maximum(which - 1, 0), len(table.rows))
        sizes, plots, values = map(jnp.asarray, table.tables)
        whether, low, high = (jnp.asarray(e)[row] for e in self._ends)
        at = _part(parts[:, 2:], sizes[row, 1:])
        chosen = jnp.take_along_axis(values[row], at[..., None], axis=-1)[..., 0]
        numbers = jnp.where(whether, low + (high - low) * parts[:, 2:], chosen)
        acts = which > 0
        return Orders(
            kind=jnp.where(acts, 1 + row, 0),
            farmer=jnp.where(acts, farmer, 0),
            plot=jnp.where(acts[:, None], plots[row, _part(parts[:, 1], sizes[row, 0])], -1),
            values=jnp.where(acts[:, None], numbers, 0.0),
        )


HEAD = 4
"""Of a row of `Listed`: what, who, and the two numbers of the plot; the values follow."""


@dataclass(frozen=True)
class Listed(_Face):
    """A row of int32 for each place of the schedule: how the paper's lists reach compiled code, as one array.

    What a call costs from Python grows with the number of arrays that it takes. In a row stand 1 + the row of the
    action table, or - 1 - the number of a group of observations, or 0 for nothing; the farmer; the plot, (-1, -1) for
    the whole field; and the bits of the values, float32.
    """

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        ends = np.iinfo(np.int32)
        return gymnasium.spaces.Box(ends.min, ends.max, (self.env.schedule, HEAD + self.env.actions.width), np.int32)

    def read(self, action: Any) -> Any:
        what, farmer, plot = action[:, 0], action[:, 1], action[:, 2:HEAD]
        values = jax.lax.bitcast_convert_type(action[:, HEAD:], jnp.float32)
        order = Orders(jnp.maximum(what, 0), farmer, plot, values)
        return self._whole(Requests(farmer, jnp.maximum(-what, 0), plot), order)


def _part(where: jax.Array, n: Any) -> jax.Array:
    """The number, from 0, of the n-th part of [0, 1] that a place falls in."""
    return jnp.minimum(jnp.floor(where * n), jnp.asarray(n) - 1).astype(jnp.int32)


def _discrete(model: FarmModel) -> _Face:
    return Turns(model) if isinstance(model, ActiveFarm) and model.offered.looks else Numbers(model)


FACES = {"discrete": _discrete, "multidiscrete": lambda model: Numbers(model, several=True), "box": Vector}


def wrap_actions(model: FarmModel, actions: str, flat: bool = True) -> Env[Any, Any]:
    """A farm with `discrete`, `multidiscrete` or `box` actions; if `flat`, observation and mask are one vector."""
    check_name("face", actions, FACES)
    made = FACES[actions](model)
    return Flatten(made) if flat else made
