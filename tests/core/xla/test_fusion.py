"""A single kernel is one call and gives the numbers of plain `jax.jit`; a failure falls back."""

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
from harvestgym.core.xla import fusion, setup
from harvestgym.core.xla.fusion import CompiledFunction
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.long_form import long
from tests.toy_env import Stock

marks = pytest.mark.skipif(jax.default_backend() != "cpu", reason="only CPUs need marked calls")
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


def as_one(function: Callable[..., Any]) -> CompiledFunction:
    """Return a function as a single kernel with a pair of outputs: the result, and the number from the arguments."""
    return CompiledFunction(function, lambda result, number: (result, number), as_single_kernel=True)


def assert_close(found: Any, expected: Any) -> None:
    for mine, plain in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-6)


@pytest.mark.parametrize("function", CASES)
def test_a_single_kernel_gives_the_same_numbers(function: Callable[..., Any]) -> None:
    assert_close(as_one(function)(X, N)[0], jax.jit(function)(X, N))


def test_empty_arguments_are_allowed() -> None:
    doubled = as_one(lambda empty, x: x * 2)
    np.testing.assert_array_equal(doubled(jnp.zeros(0, jnp.int32), X)[0], X * 2)


@marks
@pytest.mark.parametrize(("function", "one"), [(day, True), (CASES[-1], False)], ids=["plain", "with a sort"])
def test_only_inline_operations_become_one_call(function: Callable[..., Any], one: bool) -> None:
    text = as_one(function).text(X, N)
    entry = text[text.index("\nENTRY ") :]
    assert ('inlineable="false"' in entry, " fusion(" in entry) == (one, not one)


def test_a_function_is_traced_once() -> None:
    traced = []

    def counted(x: jax.Array, n: jax.Array) -> jax.Array:
        traced.append(1)
        return x + n

    compiled = as_one(counted)
    compiled.compile(jax.ShapeDtypeStruct(X.shape, X.dtype), N)
    compiled(X, N), compiled(X + 1, N)
    assert len(traced) == 1


@marks
@pytest.mark.parametrize("id", [pytest.param("farm/full-1x1-v0", marks=long), "fishing/may-v0", "fishing/walleye-v0"])
def test_the_environments_are_single_kernels(id: str, warnings: Callable[[], list[str]]) -> None:
    env = harvestgym.make(id)
    state, _ = jax.eval_shape(env.reset, jax.random.key(0), env.params)

    def step(seed: jax.Array, state: Any, action: Any, params: Any) -> Any:
        return env.step(jax.random.key(seed), state, action, params)

    text = as_one(step).text(jnp.uint32(0), state, jnp.asarray(env.action_space.sample()), env.params)
    assert 'inlineable="false"' in text[text.index("\nENTRY ") :]
    assert warnings() == []


@long
@marks
def test_a_batch_of_foragers_is_a_single_kernel(warnings: Callable[[], list[str]]) -> None:
    env = harvestgym.make_vec("forager/two-biome-v0", 2, aperture=(3, 3))
    env.reset(seed=0)
    env.step(np.zeros(2, int))
    assert warnings() == []


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Return the warnings logged so far; none has been reported before."""
    monkeypatch.setattr(setup, "reported", set())
    caplog.set_level(logging.WARNING, "harvestgym")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "harvestgym"]


REFUSED = {
    "sort": jnp.sort, "product of matrices": lambda x: x @ x, "inverse": jnp.linalg.inv, "scatter": lambda x: x.at[
        jnp.array([0, 0, 1])].add(1.0), "callback": lambda x: jax.pure_callback(np.sin, x, x),
}  # fmt: skip
"""Functions that XLA does not write out in place in one kernel, or only some of its versions do."""


@marks
@pytest.mark.parametrize("name", REFUSED)
def test_what_xla_refuses_is_compiled_plainly_and_said_once(name: str, warnings: Callable[[], list[str]]) -> None:
    x = jnp.sin(jnp.arange(64.0, dtype=jnp.float32)).reshape(8, 8) + 3 * jnp.eye(8, dtype=jnp.float32)
    for _ in range(2):
        compiled = as_one(lambda x: REFUSED[name](x * 2) + 1)
        assert_close(compiled(x)[0], REFUSED[name](x * 2) + 1)
    said = [line.startswith(f"core.xla.fusion.single_kernel: failed on JAX {jax.__version__}") for line in warnings()]
    assert said == [True] or (name == "scatter" and said == [] and 'inlineable="false"' in compiled.text(x))


@marks
def test_products_with_a_vector_and_small_reductions_become_one_call(warnings: Callable[[], list[str]]) -> None:
    def function(x: jax.Array) -> jax.Array:
        return (x[:8, :8] @ x[0, :8]).sum() + x[:63].max() + x[0] @ x[1]

    x = jnp.sin(jnp.arange(64.0 * 64.0)).reshape(64, 64)
    compiled = as_one(function)
    assert_close(compiled(x)[0], function(x))
    assert 'inlineable="false"' in compiled.text(x) and warnings() == []


@marks
def test_only_a_batch_stores_a_value_that_is_computed_once() -> None:
    def twice(x: jax.Array) -> jax.Array:
        y, n = fusion.compute_once((jnp.sin(x), jnp.int32(2)))
        return y * n

    barrier = [" optimization_barrier" in str(jax.make_jaxpr(f)(X[0])) for f in (twice, jax.vmap(twice))]
    assert barrier == [False, True]
    slopes = [
        jax.vmap(jax.grad(twice)),
        jax.grad(lambda x: jax.vmap(twice)(x).sum()),
        jax.grad(lambda x: twice(x).sum()),
    ]
    for slope in slopes:
        np.testing.assert_allclose(slope(X[0]), 2 * jnp.cos(X[0]), rtol=1e-6)


# -- fallback and switch -------------------------------------------------------------------------------------


def fail(*args: Any, **kwargs: Any) -> Any:
    raise AttributeError("no such thing in this JAX")


@marks
def test_a_failure_falls_back_with_one_warning(
    warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, "mark_call", fail)
    for _ in range(2):
        assert_close(as_one(day)(X, N)[0], jax.jit(day)(X, N))
    assert [line.partition(":")[0] for line in warnings()] == ["core.xla.fusion.single_kernel"]


@marks
def test_environments_reset_and_step_without_marked_calls(
    warnings: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion, "mark_call", fail)
    stock = Stock(shortest=7)  # one that no other test has compiled: equal environments share their programs
    for env in (GymEnv(stock), VecEnv(stock, 3)):
        env.reset(seed=1)
        obs = env.step(env.action_space.sample())[0]
        assert env.observation_space.contains(obs)
    assert [line.partition(":")[0] for line in warnings()] == ["core.xla.fusion.single_kernel"]


def test_an_error_of_the_function_itself_is_raised_without_a_warning(warnings: Callable[[], list[str]]) -> None:
    with pytest.raises(AttributeError, match="no such thing"):
        as_one(fail)(X)
    assert warnings() == []


def test_the_switch_leaves_programs_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setup.SWITCH_VARIABLE, "off")
    monkeypatch.setattr(fusion, "mark_call", fail)
    assert_close(as_one(day)(X, N)[0], jax.jit(day)(X, N))


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


@long
@marks
@pytest.mark.parametrize(("switch", "warns"), [("", True), ("off", False)])
def test_a_jax_without_the_internals_is_enough(switch: str, warns: bool) -> None:
    environment = os.environ | {setup.SWITCH_VARIABLE: switch}
    command = [sys.executable, "-c", WITHOUT_INTERNALS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, "core.xla.fusion" in done.stdout) == (0, warns), done.stderr
