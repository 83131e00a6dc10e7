"""Integer actions as one flat vector, for learners with a softmax over the choices of each entry.

    from flat_actions import count_choices, unflatten_actions

`ppo.py` and `recurrent_ppo.py` train with it.
"""

from __future__ import annotations

from functools import partial
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
