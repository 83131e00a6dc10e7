"""The environment contract: a few pure functions over a state pytree.

`step` and `reset` are composed from the parts that define an environment: the initial state, the transition f(s, a),
the observation E(s, a), the reward U(s, a) and the terminal condition. The object holds the structure, parameters are
passed as an argument, and randomness comes from a key. One `vmap` therefore runs a thousand seasons, one `vmap` over
parameters runs a thousand soils, and one `grad` calibrates a model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import gymnasium
import jax
import jax.numpy as jnp
from jax import Array

from .errors import mismatch
from .pytree import cut_to_32_bits
from .random import keys_for
from .spaces import summarise_space
from .view.tables import Table

State = TypeVar("State")
Params = TypeVar("Params")

STEP_USES = ("transition", "observation", "reward")
"""The purposes for which a step draws random numbers; the name of each purpose is folded into the key."""


class Timestep(NamedTuple):
    """The outcome of one step.

    Attributes:
        obs: the observation, a pytree in the observation space.
        reward: float32 scalar.
        terminated: bool, whether a condition of the environment ended the episode.
        truncated: bool, whether the time limit ended it. The two flags are never merged.
        info: a flat dict of named arrays, for analysis.
    """

    obs: Any
    reward: Array
    terminated: Array
    truncated: Array
    info: dict[str, Any]


class Env(Generic[State, Params]):
    """A functional environment. Subclasses are hashable by structure and define the methods below.

    The object is a static argument of compiled functions: equal environments share one compiled program for all
    parameters.

    Attributes:
        family: the name of the module with `record` and `scene` for this environment; None if it has no pictures.
        step_unit: the unit of a step, in the plural.
    """

    family: ClassVar[str | None] = None
    step_unit: ClassVar[str] = "steps"

    def __copy__(self) -> Self:
        """Return the object itself, because it is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        """Return the name and spaces of the environment in one short line."""
        spaces = (f"{name} {summarise_space(getattr(self, name + '_space'), 90)}" for name in ("action", "observation"))
        summary = textwrap.shorten(self.summary, 150, placeholder=" …")
        return f"<{type(self).__name__}: {'; '.join(filter(None, (summary, *spaces)))}>"

    def _repr_html_(self) -> str:
        """Return a small table for notebooks."""
        return make_env_table(type(self).__name__, self)._repr_html_()

    @property
    def summary(self) -> str:
        """A short description of the structure."""
        return ""

    def describe(self, *batch: int) -> str:
        """Return a short description of the environment, or of a batch of environments, for messages."""
        summary = f" ({self.summary})" if self.summary else ""
        return f"{type(self).__name__}{summary}" + "".join(f", {number} at once" for number in batch)

    @property
    def params(self) -> Params:
        """The default parameters, a pytree."""
        raise NotImplementedError

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """The observation space, derived from metadata."""
        raise NotImplementedError

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """The action space."""
        raise NotImplementedError

    def initial(self, key: Array, params: Params) -> State:
        """Return the first state of an episode."""
        raise NotImplementedError

    def transition(self, key: Array, state: State, action: Any, params: Params) -> State:
        """Return the next state, f(s, a)."""
        raise NotImplementedError

    def observation(self, key: Array, state: State, action: Any, params: Params) -> Any:
        """Return the observation of `state`, E(s, a); `action` led to this state and is None after a reset."""
        raise NotImplementedError

    def reward(self, key: Array, state: State, action: Any, after: State, params: Params) -> Array:
        """Return the reward U(s, a) for `action` in `state`; `after` is the next state."""
        raise NotImplementedError

    def terminal(self, state: State, params: Params) -> Array:
        """Return whether a condition of the environment ends the episode in `state`."""
        return jnp.asarray(False)

    def truncation(self, state: State, params: Params) -> Array:
        """Return whether the time limit is reached in `state`."""
        return jnp.asarray(False)

    def info(self, state: State, params: Params) -> dict[str, Any]:
        """Return named arrays that describe `state`, for analysis; the names are the same after `reset` and `step`."""
        return {}

    def count(self, info: Mapping[str, Any], action: Any = None) -> dict[str, Array]:
        """Return named counts of the events in a step, from its info and action; an evaluation adds them up.

        The start of an episode has no action, and the same names.
        """
        return {}

    def given(self, params: Params | None) -> Params:
        """Return `params`, or the default parameters if it is None; 64-bit numbers are converted to 32 bits."""
        return jax.tree.map(cut_to_32_bits, self.params if params is None else params)

    def reset(self, key: Array, params: Params | None = None) -> tuple[State, Timestep]:
        """Start an episode, with the default parameters if none are given."""
        params = self.given(params)
        start, look = keys_for(key, ("initial", "observation"))
        return self._opened(look, self.initial(start, params), params)

    def again(self, key: Array, last: State, renew: Array, params: Params) -> tuple[State, Timestep]:
        """Start the next episode after one that ended in `last`, or the first episode where `renew` is true.

        This is the same as `reset`, unless the environment keeps something from one episode to the next.
        """
        return self.reset(key, params)

    def _opened(self, key: Array, state: State, params: Params) -> tuple[State, Timestep]:
        obs = self.observation(key, state, None, params)
        return state, self._timestep(state, obs, jnp.float32(0.0), params)

    def step(self, key: Array, state: State, action: Any, params: Params | None = None) -> tuple[State, Timestep]:
        """Take `action`, with the default parameters if none are given; return the next state and the outcome.

        This method never starts a new episode.
        """
        params = self.given(params)
        move, look, worth = keys_for(key, STEP_USES)
        after = self.transition(move, state, action, params)
        obs = self.observation(look, after, action, params)
        reward = self.reward(worth, state, action, after, params)
        return after, self._timestep(after, obs, reward, params)

    def _timestep(self, state: State, obs: Any, reward: Array, params: Params) -> Timestep:
        terminated = self.terminal(state, params)
        truncated = self.truncation(state, params) & ~terminated
        return Timestep(obs, jnp.float32(reward), terminated, truncated, self.info(state, params))


def check_core(env: object, where: str, cls: type[Env[Any, Any]] | None = None) -> None:
    """Raise ConfigError unless `env` is a functional environment of the required class."""
    if not isinstance(env, cls or Env):
        expected = f"an object of the class {(cls or Env).__name__}"
        raise mismatch(f"{where} > env", expected, repr(env), "harvestgym.make(id)")


def make_env_table(title: str, env: Env[Any, Any], **more: Any) -> Table:
    """Make a two-column table with the entries of `more`, the structure and the spaces; empty rows are omitted."""
    spaces = {name: summarise_space(getattr(env, f"{name}_space")) for name in ("action", "observation")}
    entries = {name.replace("_", " "): value for name, value in more.items()} | {"structure": env.summary} | spaces
    return Table(title, (), [(name, str(value)) for name, value in entries.items() if value])
