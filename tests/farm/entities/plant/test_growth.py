"""Choices written out agree with `jnp.select` and `argmax`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.farm.entities.plant.growth import choose, largest


def test_the_first_case_that_holds_is_chosen() -> None:
    x = jnp.arange(6)
    cases = [(x < 2, 10), (x < 4, x * 100), (x == 4, -1)]
    wanted = jnp.select([c for c, _ in cases], [v for _, v in cases], 7)
    np.testing.assert_array_equal(choose(cases, 7), wanted)


def test_the_largest_is_that_of_argmax_also_among_equals() -> None:
    rows = jnp.round(3 * jax.random.uniform(jax.random.key(0), (5, 40)))
    at, best = largest(list(rows))
    np.testing.assert_array_equal(at, jnp.argmax(rows, axis=0))
    np.testing.assert_array_equal(best, rows.max(0))
    assert at.dtype == jnp.int32
