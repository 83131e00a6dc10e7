"""The seeds of lives as the functional environment draws them, so that a host life is the same life."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.autoreset import split
from harvestgym.core.random import keys_for
from harvestgym.forager.jax_engine.model import words_of


@jax.jit
def _begin(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    following, now = split(key)
    start = keys_for(now, ("initial", "observation"))[0]
    return following, words_of(start)


@jax.jit
def _after(key: jax.Array, steps: Any) -> jax.Array:
    return jax.lax.fori_loop(0, steps, lambda _, k: split(k)[0], key)


class LaneSeeds:
    """The seeds of one life after another, as a lane of `core.autoreset` has them; `key` is that of all to come."""

    def __init__(self) -> None:
        self.key: jax.Array | None = None

    @property
    def begun(self) -> bool:
        """Whether there is a key to go on with."""
        return self.key is not None

    def begin(self, seed: int) -> tuple[int, int]:
        """The words of the first life of a lane with this seed, taken modulo 2^32."""
        return self._next(jax.random.key(np.uint32(seed % 2**32)))

    def again(self, steps: int) -> tuple[int, int]:
        """The words of the next life, after one of so many steps."""
        return self._next(_after(self.key, jnp.int32(steps)))

    def _next(self, key: jax.Array) -> tuple[int, int]:
        self.key, words = _begin(key)
        first, second = np.asarray(words).tolist()
        return first, second
