"""Restarts of some environments of a batch, and restarts in the steps of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import harvestgym
from harvestgym.core.autoreset import (
    Advance,
    Batched,
    RunState,
    advance,
    restart_episode,
    restart_some,
    select,
    split_key,
    start_episode,
)
from harvestgym.core.env import Timestep
from harvestgym.core.errors import ConfigError
from harvestgym.core.wrappers import Log, TimeLimit
from tests.toy_env import Stock

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


def steps(mode: AutoresetMode, number: int) -> Iterator[tuple[RunState, Advance, RunState, Timestep]]:
    """The run before each of `number` steps of moderate fishing, the step, and the same step without a restart."""
    params, action = Stock().params, jnp.int32(1)
    step, plain = (jax.jit(partial(advance, Stock(), mode=each)) for each in (mode, AutoresetMode.DISABLED))
    run, _ = start_episode(Stock(), jax.random.key(0), params)
    for _ in range(number):
        done = step(run, action, params)
        alone = plain(run, action, params)
        yield run, done, alone.run, alone.last
        run = done.run


def same(one: object, other: object) -> None:
    jax.tree.map(_assert_same, one, other)


def test_disabled_never_restarts() -> None:
    for run, done, _, _ in steps(AutoresetMode.DISABLED, 16):
        later, now = split_key(run.key)
        state, last = Stock().step(now, run.state, jnp.int32(1), Stock().params)
        over = last.terminated | last.truncated
        same(done, Advance(RunState(later, state, over), last, last))


def test_same_step_shows_a_real_new_episode_and_keeps_the_last() -> None:
    ends = 0
    for _, done, stepped, last in steps(AutoresetMode.SAME_STEP, 40):
        over = bool(last.terminated | last.truncated)
        ends += over
        later, now = split_key(stepped.key)
        state, first = Stock().reset(now, Stock().params) if over else (stepped.state, last)
        same(done.run, RunState(later if over else stepped.key, state, jnp.asarray(False)))
        same((done.shown, done.last), (last._replace(obs=first.obs, info=first.info), last))
    assert ends >= 3


def test_next_step_is_refused() -> None:
    with pytest.raises(ConfigError, match="mode: expected DISABLED or SAME_STEP, got NEXT_STEP"):
        next(steps(AutoresetMode.NEXT_STEP, 1))


def test_a_batch_in_a_scan_is_each_alone() -> None:
    env = Log(TimeLimit(Stock(), 6))

    def live(key: jax.Array) -> Timestep:
        run, _ = start_episode(env, key, env.params)

        def one(run: RunState, _: None) -> tuple[RunState, Timestep]:
            action = jnp.ones(key.shape, jnp.int32)
            after, shown, _ = advance(env, run, action, env.params, AutoresetMode.SAME_STEP)
            return after, shown

        return jax.lax.scan(one, run, None, 15)[1]

    keys = jax.random.split(jax.random.key(7), 3)
    together, alone = jax.jit(live)(keys), jax.jit(live)
    assert bool(jnp.any(together.truncated))
    for i in range(3):
        same(jax.tree.map(lambda leaf: leaf[:, i], together), alone(keys[i]))  # noqa: B023
