"""One kernel gives the numbers of many, whatever becomes of its arguments, and leaves alone what it cannot hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core import threefry
from harvestgym.core.xla.kernel import noted, obstacles, of_trace
from harvestgym.core.xla.once import once

CALLS = jax.default_backend() == "cpu" and jax.__version_info__ >= (0, 7)
marks = pytest.mark.skipif(not CALLS, reason="only a JAX of 0.7 and more marks calls, and only CPUs need it")
X, N = jnp.linspace(-1.0, 2.0, 12).reshape(3, 4), jnp.int32(3)


def one_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as `gym.driver` has it compiled."""
    inner = jax.jit(noted(function))
    return lambda *args: of_trace(inner, inner.trace(*args))(*args)


def day(x: jax.Array, n: jax.Array) -> jax.Array:
    """A reduction, a loop, a branch, an update and what the samplers are made of."""
    x = jax.lax.fori_loop(0, n, lambda i, x: jnp.where(x > i, jnp.exp(-x), x + 1), x)
    x = jax.lax.cond(n > 2, lambda: x * jax.scipy.special.ndtri(jnp.clip(x, 0.1, 0.9)), lambda: x)
    return x.at[1].set(jnp.cumsum(x[0]) + x.sum(1).max() + jax.random.uniform(jax.random.key(n), (4,)))


CASES: list[Callable[..., Any]] = [
    day,
    lambda x, n: x + 1,  # `n` is not used
    lambda x, n: x + (n & 0),  # nor here, as XLA finds out
    lambda x, n: (jnp.zeros((0, 2)), x[:0], n),
    lambda x, n: jnp.sort(x.ravel()) + jnp.linalg.inv(jnp.eye(2) * n)[0, 0],  # must be left alone
]


@pytest.mark.parametrize("function", CASES)
def test_the_numbers_are_those_of_the_function(function: Callable[..., Any]) -> None:
    got, _ = jax.jit(one_kernel(function))(X, N)
    for mine, plain in zip(jax.tree.leaves(got), jax.tree.leaves(jax.jit(function)(X, N)), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-6)


@pytest.mark.parametrize("function", CASES)
def test_what_is_done_once_gives_the_same_numbers(function: Callable[..., Any]) -> None:
    wanted = jax.tree.leaves(jax.jit(function)(X, N))
    for mine, plain in zip(jax.tree.leaves(jax.jit(once(function))(X, N)), wanted, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-6)
    mapped = jax.jit(jax.vmap(once(function), (0, None)))(jnp.stack([X, X + 1]), N)
    for mine, plain in zip(jax.tree.leaves(mapped), jax.tree.leaves(jax.jit(function)(X + 1, N)), strict=True):
        np.testing.assert_allclose(mine[1], plain, rtol=1e-6)


def hashed(key: jax.Array) -> list[jax.Array]:
    """Arrays of several shapes that all follow from the same random words, of 20 rounds each."""
    word, _ = threefry.words(key, jnp.zeros(8, jnp.uint32), jnp.arange(8, dtype=jnp.uint32))
    return [word[:n] * 3 for n in range(2, 8)]


@marks
def test_a_costly_result_is_computed_once() -> None:
    def rounds(function: Callable[..., Any]) -> int:
        text = jax.jit(function).lower(jax.random.key(0)).compile().as_text()
        assert text is not None
        return text.count(" shift-left(")

    assert rounds(once(hashed)) < 30 < 100 < rounds(hashed)


def test_empty_arguments_are_no_trouble() -> None:
    got, _ = jax.jit(one_kernel(lambda empty, x: x * 2))(jnp.zeros(0, jnp.int32), X)
    np.testing.assert_array_equal(got, X * 2)


@marks
@pytest.mark.parametrize(("function", "one"), [(day, True), (CASES[-1], False)], ids=["plain", "with a sort"])
def test_what_is_plain_is_one_call_and_nothing_else_is(function: Callable[..., Any], one: bool) -> None:
    text = jax.jit(one_kernel(function)).lower(X, N).compile().as_text()
    assert text is not None
    entry = text[text.index("\nENTRY ") :]
    assert ('inlineable="false"' in entry, " fusion(" in entry) == (one, not one)


def test_it_is_traced_once() -> None:
    traced = []

    def counted(x: jax.Array, n: jax.Array) -> jax.Array:
        traced.append(1)
        return x + n

    compiled = jax.jit(one_kernel(counted))
    compiled(X, N), compiled(X + 1, N)
    assert len(traced) == 1 and compiled._cache_size() == 1  # type: ignore[attr-defined]


@marks
@pytest.mark.parametrize("id", ["farm/full-1x1-v0", "farm/full-3x4-v0", "fishing/may-v0"])
def test_the_environments_have_nothing_that_stands_in_the_way(id: str) -> None:
    env = harvestgym.make(id)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    action = jnp.asarray(env.action_space.sample())
    assert obstacles(jax.make_jaxpr(env.step)(jax.random.key(0), state, action, env.params)) == set()
    assert obstacles(jax.make_jaxpr(env.reset)(jax.random.key(0), env.params)) == set()
    assert obstacles(jax.make_jaxpr(jnp.sort)(X)) == {"sort"}
