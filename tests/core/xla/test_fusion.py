"""Rewritten programs give the numbers of plain `jax.jit`; a single kernel is one call; a failure falls back."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harvestgym
from harvestgym.core.random import threefry_words
from harvestgym.core.xla import fallback, fusion, library_fusions
from harvestgym.core.xla.fusion import CompiledFunction, avoid_recomputation, find_obstacles
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.toy import Stock

CALLS = jax.default_backend() == "cpu" and fusion.MARKS_CALLS
marks = pytest.mark.skipif(not CALLS, reason="only a JAX of 0.7 and more marks calls, and only CPUs need it")
X, N = jnp.linspace(-1.0, 2.0, 12).reshape(3, 4), jnp.int32(3)


def day(x: jax.Array, n: jax.Array) -> jax.Array:
    """Return a reduction, a loop, a branch, an update and what the samplers are made of."""
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


def assert_close(found: Any, expected: Any) -> None:
    for mine, plain in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-6)


@pytest.mark.parametrize("function", CASES)
def test_a_single_kernel_gives_the_same_numbers(function: Callable[..., Any]) -> None:
    assert_close(CompiledFunction(function, as_single_kernel=True)(X, N), jax.jit(function)(X, N))


@pytest.mark.parametrize("function", CASES)
def test_avoiding_recomputation_gives_the_same_numbers(function: Callable[..., Any]) -> None:
    assert_close(jax.jit(avoid_recomputation(function))(X, N), jax.jit(function)(X, N))
    mapped = jax.jit(jax.vmap(avoid_recomputation(function), (0, None)))(jnp.stack([X, X + 1]), N)
    assert_close(jax.tree.map(lambda leaf: leaf[1], mapped), jax.jit(function)(X + 1, N))


def hashed(key: jax.Array) -> list[jax.Array]:
    """Arrays of several shapes that all follow from the same random words, of 20 rounds each."""
    word, _ = threefry_words(key, jnp.zeros(8, jnp.uint32), jnp.arange(8, dtype=jnp.uint32))
    return [word[:n] * 3 for n in range(2, 8)]


@marks
def test_a_costly_result_is_computed_once() -> None:
    def rounds(function: Callable[..., Any]) -> int:
        return CompiledFunction(function, as_single_kernel=False).text(jax.random.key(0)).count(" shift-left(")

    assert rounds(avoid_recomputation(hashed)) < 30 < 100 < rounds(hashed)


def test_empty_arguments_are_allowed() -> None:
    doubled = CompiledFunction(lambda empty, x: x * 2, as_single_kernel=True)
    np.testing.assert_array_equal(doubled(jnp.zeros(0, jnp.int32), X), X * 2)


@marks
@pytest.mark.parametrize(("function", "one"), [(day, True), (CASES[-1], False)], ids=["plain", "with a sort"])
def test_only_inline_operations_become_one_call(function: Callable[..., Any], one: bool) -> None:
    text = CompiledFunction(function, as_single_kernel=True).text(X, N)
    entry = text[text.index("\nENTRY ") :]
    assert ('inlineable="false"' in entry, " fusion(" in entry) == (one, not one)


def test_a_function_is_traced_once() -> None:
    traced = []

    def counted(x: jax.Array, n: jax.Array) -> jax.Array:
        traced.append(1)
        return x + n

    compiled = CompiledFunction(counted, as_single_kernel=True)
    compiled.compile(jax.ShapeDtypeStruct(X.shape, X.dtype), N)
    compiled(X, N), compiled(X + 1, N)
    assert len(traced) == 1


def test_a_function_that_is_lowered_first_is_traced_once() -> None:
    traced = []
    compiled = CompiledFunction(lambda x: (traced.append(1), x + 1)[1], as_single_kernel=True)
    compiled.lower(jax.ShapeDtypeStruct(X.shape, X.dtype))
    compiled.compile(jax.ShapeDtypeStruct(X.shape, X.dtype))
    np.testing.assert_array_equal(compiled(X), X + 1)
    assert len(traced) == 1


def test_an_error_in_a_trace_is_raised_by_compile_and_not_by_lower() -> None:
    def wrong(x: jax.Array) -> jax.Array:
        raise ValueError("wrong")

    compiled = CompiledFunction(wrong, as_single_kernel=True)
    compiled.lower(X)
    with pytest.raises(ValueError, match="wrong"):
        compiled.compile(X)


@marks
@pytest.mark.parametrize("id", ["farm/full-1x1-v1", "farm/full-10x10-v1", "fishing/may-v0"])
def test_the_environments_have_no_obstacle_to_a_single_kernel(id: str) -> None:
    env = harvestgym.make(id)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)
    action = jnp.asarray(env.action_space.sample())
    assert find_obstacles(jax.make_jaxpr(env.step)(jax.random.key(0), state, action, env.params)) == set()
    assert find_obstacles(jax.make_jaxpr(env.reset)(jax.random.key(0), env.params)) == set()
    assert find_obstacles(jax.make_jaxpr(jnp.sort)(X)) == {"sort"}


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return the warnings logged so far; none has been reported before."""
    monkeypatch.setattr(fallback, "reported", set())
    caplog.set_level(logging.WARNING, "harvestgym")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "harvestgym"]


LIBRARY_CASES = {
    "sum": (lambda x: x.sum(1), (2, 2048)), "max": (lambda x: x.max(1), (2, 2048)),
    "min": (lambda x: x.min(), (64, 64)),
    "product of matrices": (lambda x: x @ x, (8, 8)), "small product": (lambda x: x[:2] @ x[:, :2], (8, 8)),
}  # fmt: skip
"""Functions that XLA gives to a library, with the shape of the argument."""


@marks
@pytest.mark.parametrize("name", LIBRARY_CASES)
def test_a_program_that_calls_a_library_stays_in_parts(
    name: str, warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")  # as where `library_fusions` does not know the version of XLA
    monkeypatch.setattr(library_fusions, "version", lambda name: "0.10.2")
    function, shape = LIBRARY_CASES[name]
    x = jnp.sin(jnp.arange(np.prod(shape), dtype=jnp.float32)).reshape(shape)
    assert len(find_obstacles(jax.make_jaxpr(function)(x))) == 1
    assert_close(CompiledFunction(lambda x: function(x * 2) + 1, True)(x), function(x * 2) + 1)
    assert warnings() == []


@marks
@pytest.mark.skipif(library_fusions.takes_reductions(), reason="XLA gives large reductions to its library")
def test_a_large_reduction_is_part_of_the_one_call(warnings: Callable[[], list[str]]) -> None:
    x = jnp.sin(jnp.arange(2 * 4096, dtype=jnp.float32)).reshape(2, 4096)
    text = CompiledFunction(lambda x: x.sum(1) * 2, as_single_kernel=True).text(x)
    assert 'inlineable="false"' in text[text.index("\nENTRY ") :]
    assert warnings() == []


@marks
def test_products_with_a_vector_and_small_reductions_become_one_call(warnings: Callable[[], list[str]]) -> None:
    def function(x: jax.Array) -> jax.Array:
        return (x[:8, :8] @ x[0, :8]).sum() + x[:63].max() + x[0] @ x[1]

    x = jnp.sin(jnp.arange(64.0 * 64.0)).reshape(64, 64)
    compiled = CompiledFunction(function, as_single_kernel=True)
    assert_close(compiled(x), function(x))
    assert 'inlineable="false"' in compiled.text(x) and warnings() == []


# -- fallback and switch -------------------------------------------------------------------------------------


def fail(*args: Any, **kwargs: Any) -> Any:
    raise AttributeError("no such thing in this JAX")


HOOKS = ["iterate_equations", "mark_call"]


def costly(key: jax.Array) -> list[jax.Array]:
    """Costly results and a call, so that both hooks are reached."""
    return [*hashed(key), jax.jit(jnp.bitwise_not)(hashed(key)[0])]


@marks
@pytest.mark.parametrize("hook", HOOKS)
def test_a_failure_falls_back_with_one_warning(
    hook: str, warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, hook, fail)
    key = jax.random.key(0)
    for _ in range(2):
        assert_close(CompiledFunction(day, as_single_kernel=True)(X, N), jax.jit(day)(X, N))
        assert_close(CompiledFunction(avoid_recomputation(costly), False)(key), costly(key))
    assert [line.partition(":")[0] for line in warnings()] == [
        "core.xla.fusion.single_kernel", "core.xla.fusion.avoid_recomputation",
    ]  # fmt: skip


@marks
def test_environments_reset_and_step_without_the_rewriting(
    warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, "iterate_equations", fail)
    stock = Stock(shortest=7)  # one that no other test has compiled: equal environments share their programs
    for env in (GymEnv(stock), VecEnv(stock, 3)):
        env.reset(seed=1)
        obs = env.step(env.action_space.sample())[0]
        assert env.observation_space.contains(obs)
    assert len(warnings()) == 2


def test_an_option_that_the_compiler_does_not_know_is_left_out(warnings: Callable[[], list[str]]) -> None:
    compiled = CompiledFunction(day, as_single_kernel=False, options={"xla_no_such_option": True})
    assert_close(compiled(X, N), day(X, N))
    assert [line.partition(":")[0] for line in warnings()] == ["core.xla.compilation"]


def test_an_option_that_the_user_has_set_is_left_to_the_user(
    warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_no_such_option=true")  # read by now
    compiled = CompiledFunction(day, as_single_kernel=False, options={"xla_no_such_option": False})
    assert_close(compiled(X, N), day(X, N))
    assert warnings() == []


def test_an_error_of_the_function_itself_is_raised_without_a_warning(warnings: Callable[[], list[str]]) -> None:
    for wrap in (lambda f: CompiledFunction(f, True), avoid_recomputation):
        with pytest.raises(AttributeError, match="no such thing"):
            wrap(fail)(X)
    assert warnings() == []


def test_the_switch_leaves_programs_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fallback.SWITCH_VARIABLE, "off")
    monkeypatch.setattr(fusion, "iterate_equations", fail)
    assert_close(CompiledFunction(day, as_single_kernel=True)(X, N), jax.jit(day)(X, N))


WITHOUT_INTERNALS = """
import logging, sys
import gymnasium, jax
sys.modules["jax.experimental.xla_metadata"] = None  # so that an import raises ModuleNotFoundError
del jax.sharding.AxisType
logging.getLogger("harvestgym").addHandler(logging.StreamHandler(sys.stdout))
import harvestgym
from harvestgym.core.policy import random_policy
env = gymnasium.make("harvestgym:fishing/logistic-v0")
env.reset(seed=0)
env.step(env.action_space.sample())
stock = harvestgym.make("fishing/logistic-v0")
harvestgym.rollout(stock, random_policy(stock), jax.random.key(0), 2, 3, devices=jax.devices())
"""


@marks
@pytest.mark.parametrize(("switch", "warns"), [("", True), ("off", False)])
def test_a_jax_without_the_internals_is_enough(switch: str, warns: bool) -> None:
    environment = os.environ | {fallback.SWITCH_VARIABLE: switch}
    command = [sys.executable, "-c", WITHOUT_INTERNALS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, "core.xla.fusion" in done.stdout) == (0, warns), done.stderr
