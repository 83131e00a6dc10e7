"""Actions as one flat vector, and the distributions from which learners draw them.

    from flat_actions import make_head

`ppo.py` and `recurrent_ppo.py` train with it. Each entry of an integer action has a softmax over its choices, and each
amount of a `Box` a normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import sample


def count_choices(space: gymnasium.Space[Any]) -> list[list[int]]:
    """Count the choices for each entry of an action, in the order of its leaves.

    Raises:
        ConfigError: unless actions are integers starting from 0.
    """
    match space:
        case gymnasium.spaces.Discrete(start=0):
            return [[int(space.n)]]
        case gymnasium.spaces.MultiDiscrete() if not np.any(space.start):
            return [[int(n) for n in space.nvec.ravel()]]
        case gymnasium.spaces.MultiBinary():
            return [[2] * int(np.prod(space.shape))]
        case gymnasium.spaces.Dict():
            return [part for name in sorted(space.spaces) for part in count_choices(space[name])]
    raise ConfigError(f"expected integer actions that start at 0, got {space}; try a wrapper with discrete actions")


def unflatten_actions(space: gymnasium.Space[Any], flat: jax.Array) -> Any:
    """Convert integers (..., entries) to actions with the same leading axes."""
    like, tree = jax.tree.flatten(jax.eval_shape(partial(sample, space), jax.random.key(0)))
    parts = jnp.split(flat, np.cumsum([leaf.size for leaf in like])[:-1], axis=-1)
    shaped = [part.reshape(*flat.shape[:-1], *leaf.shape) for part, leaf in zip(parts, like, strict=True)]
    return tree.unflatten([part.astype(leaf.dtype) for part, leaf in zip(shaped, like, strict=True)])


@dataclass(frozen=True)
class Choices:
    """Integer actions; the network's outputs are the logits of all choices."""

    space: gymnasium.Space[Any]

    @cached_property
    def sizes(self) -> list[int]:
        """The number of choices of each entry."""
        return sum(count_choices(self.space), [])

    @property
    def outputs(self) -> int:
        """The number of outputs of the network."""
        return sum(self.sizes)

    def bias(self, idle: float, spread: float) -> jax.Array:
        """Return the initial outputs, for which the first choice has log odds of `idle` against each other choice.

        `spread` is for amounts.
        """
        return jnp.asarray(np.concatenate([idle * (np.arange(n) == 0) for n in self.sizes]), jnp.float32)

    def draw(self, key: jax.Array, outputs: jax.Array) -> jax.Array:
        """Sample each entry, (..., entries)."""
        logs = self._logs(outputs)
        return jnp.stack([*map(jax.random.categorical, jax.random.split(key, len(logs)), logs)], -1)

    act = draw  # a trained agent also samples its actions

    def log_chance(self, outputs: jax.Array, drawn: jax.Array) -> jax.Array:
        """Return the log probability of an action, (...)."""
        logs = enumerate(self._logs(outputs))
        return sum(jnp.take_along_axis(log, drawn[..., i, None], -1)[..., 0] for i, log in logs)  # pyright: ignore

    def entropy(self, outputs: jax.Array) -> jax.Array:
        """Return the mean entropy of an action."""
        return -sum((jnp.exp(log) * log).sum(-1).mean() for log in self._logs(outputs))  # pyright: ignore

    def unflatten(self, drawn: jax.Array) -> Any:
        """Convert drawn entries to actions."""
        return unflatten_actions(self.space, drawn)

    def _logs(self, outputs: jax.Array) -> list[jax.Array]:
        return [jax.nn.log_softmax(part) for part in jnp.split(outputs, np.cumsum(self.sizes)[:-1], axis=-1)]


LEAST_SPREAD, MOST_SPREAD = 0.003, 0.6
"""Limits of the standard deviation of an amount, as a share of its range."""


@dataclass(frozen=True)
class Amounts:
    """Actions of a bounded `Box`, as shares of its range; the outputs are the means' logits and the log deviations.

    Shares are drawn from normal distributions and limited to 0 and 1 only when they become actions.
    """

    space: gymnasium.spaces.Box

    @property
    def outputs(self) -> int:
        """The number of outputs of the network."""
        return 2 * int(np.prod(self.space.shape))

    def bias(self, idle: float, spread: float) -> jax.Array:
        """Return the initial outputs, for which a share has a mean with log odds of -`idle` and deviation `spread`."""
        return jnp.repeat(jnp.asarray([-idle, np.log(spread)]), self.outputs // 2)

    def draw(self, key: jax.Array, outputs: jax.Array) -> jax.Array:
        """Sample the shares, (..., entries)."""
        mean, log = self._moments(outputs)
        return mean + jnp.exp(log) * jax.random.normal(key, mean.shape)

    def act(self, key: jax.Array, outputs: jax.Array) -> jax.Array:
        """Return the mean shares, which a trained agent takes."""
        return self._moments(outputs)[0]

    def log_chance(self, outputs: jax.Array, drawn: jax.Array) -> jax.Array:
        """Return the log density of the shares, (...)."""
        mean, log = self._moments(outputs)
        return jax.scipy.stats.norm.logpdf(drawn, mean, jnp.exp(log)).sum(-1)

    def entropy(self, outputs: jax.Array) -> jax.Array:
        """Return the mean differential entropy of the shares."""
        return (self._moments(outputs)[1] + 0.5 * np.log(2 * np.pi * np.e)).sum(-1).mean()

    def unflatten(self, drawn: jax.Array) -> Any:
        """Convert drawn shares to actions."""
        shares = jnp.clip(drawn, 0.0, 1.0).reshape(*drawn.shape[:-1], *self.space.shape)
        return (self.space.low + shares * (self.space.high - self.space.low)).astype(self.space.dtype)

    def _moments(self, outputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, log = jnp.split(outputs, 2, axis=-1)
        return jax.nn.sigmoid(mean), jnp.clip(log, np.log(LEAST_SPREAD), np.log(MOST_SPREAD))


def make_head(space: gymnasium.Space[Any]) -> Choices | Amounts:
    """Make the distribution for an action space; raises ConfigError unless it has integers or bounded amounts."""
    if isinstance(space, gymnasium.spaces.Box) and space.is_bounded():
        return Amounts(space)
    count_choices(space)
    return Choices(space)
