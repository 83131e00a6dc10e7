"""Restarts of some environments of a batch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.autoreset import Batched, restart_episode, restart_some, select, start_episode

NUMBER = 37
ENV = harvestgym.make("fishing/walleye-v0")
START, RESTART, RESTART_SOME = (jax.jit(partial(f, ENV)) for f in (start_episode, restart_episode, restart_some))


@pytest.mark.parametrize("own", [False, True], ids=["common parameters", "own parameters"])
@pytest.mark.parametrize("count", [0, 1, 17, 37])
def test_a_restart_of_some_is_that_of_all_for_these(count: int, own: bool) -> None:
    which = jnp.asarray(np.random.default_rng(count).permutation(NUMBER) < count)
    first, keys = jnp.arange(NUMBER) % 2 == 0, jax.random.split(jax.random.key(3), NUMBER)
    share = jnp.linspace(0.8, 1.0, NUMBER)
    params = (
        Batched(jax.vmap(lambda part: replace(ENV.params, start=part * ENV.params.start))(share)) if own else ENV.params
    )
    run, shown = START(keys, params)
    none = jax.tree.map(jnp.zeros_like, (run, shown))
    new, opening = RESTART_SOME(run, which, first, params, none)
    expected, all_opening = RESTART(run, first, params)
    jax.tree.map(_assert_same, new, select(which, expected, run))
    jax.tree.map(_assert_same, *(select(which, each, shown) for each in (opening, all_opening)))


def _assert_same(got: jax.Array, want: jax.Array) -> None:
    if jnp.issubdtype(got.dtype, jax.dtypes.prng_key):
        got, want = jax.random.key_data(got), jax.random.key_data(want)
    np.testing.assert_allclose(got, want, rtol=1e-6)
