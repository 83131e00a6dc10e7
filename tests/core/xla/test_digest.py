"""A program's name: equal for equal programs, another for whatever computes something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.xla.digest import digest

X = jnp.arange(3.0)
TABLE = np.linspace(0.0, 1.0, 5, dtype=np.float32)


def name(function: Callable[..., Any], *args: Any) -> str | None:
    """The name of a function of `X`, or of given arguments."""
    return digest(jax.make_jaxpr(function)(*(args or (X,))))


def scanned(step: float) -> Callable[..., Any]:
    """A loop whose body holds a number."""
    return lambda x: jax.lax.scan(lambda c, i: (c * step + i, c), 0.0, x)


def mapped(level: float) -> Callable[..., Any]:
    """A function with rules of its own, whose name is its address in memory."""

    @jax.custom_jvp
    def f(x: jax.Array) -> jax.Array:
        return x * level

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return f


DIFFERENT: list[Callable[..., Any]] = [
    lambda x: x + 1,
    lambda x: x + 2,
    lambda x: x - 1,
    lambda x: 1 - x,
    lambda x: -(x + 1),
    lambda x: (x + 1, x),
    lambda x: (x, x + 1),
    lambda x: x[:, None] + 1,
    lambda x: x + TABLE[:3],
    lambda x: x + TABLE[1:4],
    lambda x: jnp.sum(x),
    lambda x: jnp.cumsum(x),
    lambda x: jnp.cumsum(x, axis=0)[::-1],
    jax.jit(lambda x: x + 1),
    jax.jit(lambda x: x + 2),
    scanned(0.5),
    scanned(0.25),
    mapped(0.5),
    mapped(0.25),
    jax.vmap(lambda x: jax.random.uniform(jax.random.key(0)) + x),
    jax.vmap(lambda x: jax.random.uniform(jax.random.key(1)) + x),
]


def test_programs_that_differ_have_different_names() -> None:
    names = [name(function) for function in DIFFERENT]
    assert None not in names and len(set(names)) == len(DIFFERENT)


def test_equal_programs_have_one_name_however_often_they_are_written() -> None:
    def again(x: jax.Array) -> jax.Array:
        return x + 1

    assert name(again) == name(DIFFERENT[0])
    assert name(scanned(0.5)) == name(scanned(0.5)) and name(mapped(0.5)) == name(mapped(0.5))


def test_types_of_arguments_matter() -> None:
    arguments = [X, X[:2], X.astype(jnp.int32), X[None], jnp.float32(1), 1.0]
    assert len({name(lambda x: x * 2, argument) for argument in arguments}) == len(arguments)


def test_a_program_that_calls_back_has_none() -> None:
    def called(x: jax.Array) -> jax.Array:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert name(called) is None and name(jax.jit(called)) is None
    assert name(lambda x: jax.lax.scan(lambda c, i: (c + called(i), c), 0.0, x)) is None
