"""Contract test for environments: `check_env` reports violations.

The package's own tests run it for every registered id; run it for your own environments.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import is_done
from harvestgym.core.env import Env, Timestep
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.random import is_key
from harvestgym.core.saving import checkpoint
from harvestgym.core.spaces import make_observation_writer
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.gym.packed_tree import Layout, layout_of

ALLOWED_DTYPES = ("float32", "int32", "uint32", "int8", "uint8", "bool")
"""Allowed dtypes in states, observations and infos, in addition to random keys; bytes are for maps and images."""

NUM_ENVS = 4
"""Number of environments in the test batch."""


def check_env(env: Env[Any, Any], *, steps: int = 32, seed: int = 0, policy: Policy | None = None) -> None:
    """Raise AssertionError with the reason if `env` violates the contract of `core.env`.

    Args:
        env: the functional environment.
        steps: length of the test run of a batch of four environments; with 0, only the structure, shapes and dtypes are
        checked, and nothing is compiled.
        seed: the seed of the test run.
        policy: the policy for the test run, always with its initial carry; actions are random by default.
    """
    _check_hashable(env)
    functions = _CompiledFunctions(env, policy) if policy else _with_random_policy(env, layout_of(env.params))
    _check_shapes(env, functions.act)
    if steps:
        _check_run(env, functions, steps, seed)


def _check_run(env: Env[Any, Any], functions: _CompiledFunctions, steps: int, seed: int) -> None:
    """Check values, reproducibility, the batch, checkpoints and the number of traces."""
    before = functions.traces.copy()  # an equal environment may have been traced before
    run, again = (_run(functions, env.params, steps, seed) for _ in range(2))
    _check_values(env.observation_space, run)
    _check_same(run, again, "two runs with the same key", exact=True)
    _check_batch(functions, env.params, run[-1])
    _check_checkpoint(functions, env, run[-1])
    _run(functions, _perturb(env.params), 1, seed)
    for name, count in (functions.traces - before).items():
        assert count == 1, f"{name}: expected one trace for values of the same shapes, got {count}"


class _Transition(NamedTuple):
    """One step of the batch: its inputs and results."""

    keys: Array
    state: Any
    action: Any
    after: Any
    timestep: Timestep


class _CompiledFunctions:
    """The functions of an environment, compiled for a single environment and for a batch, with a trace count."""

    def __init__(self, env: Env[Any, Any], policy: Policy) -> None:
        self.traces: Counter[str] = Counter()
        self.act = lambda obs, key: policy.act(policy.init, obs, key)[1]
        jit = partial(jit_quickly, what=f"a check of {env.describe()}")
        self.step = jit(self._counted("step", env.step))
        self.resets = jit(jax.vmap(self._counted("reset under vmap", env.reset), (0, None)))
        self.steps = jit(jax.vmap(self._counted("step under vmap", env.step), (0, 0, 0, None)))
        self.acts = jit(jax.vmap(self.act))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            self.traces[name] += 1
            return function(*args)

        return traced


@lru_cache(maxsize=8)
def _with_random_policy(env: Env[Any, Any], params: Layout) -> _CompiledFunctions:
    """Compile the functions with random actions, once for all environments with the same structure."""
    return _CompiledFunctions(env, random_policy(env))


def _check_hashable(env: Env[Any, Any]) -> None:
    try:
        hash(env)
    except TypeError as error:
        raise AssertionError(f"{type(env).__name__} must be hashable, as a static argument: {error}") from None


def _check_shapes(env: Env[Any, Any], act: Callable[..., Any]) -> None:
    """Check that `reset` and `step` return the same structure, shapes and dtypes, and that `step` never resets."""
    key, params = jax.random.key(0), env.params
    begun = jax.eval_shape(lambda: env.reset(key, params))
    for name in ("reset", "initial"):
        with patch.object(type(env), name, side_effect=AssertionError(f"step calls {name}; it must never reset")):
            stepped = jax.eval_shape(lambda s, t: env.step(key, s, act(t.obs, key), params), *begun)
    names, other = sorted(begun[1].info), sorted(stepped[1].info)
    assert names == other, f"info: expected the same names as after reset, {names}, got {other} after step"
    try:
        layout_of(begun).check(stepped)
    except ValueError as error:
        raise AssertionError(f"step: expected (state, Timestep) as returned by reset: {error}") from None
    for path, leaf in jax.tree_util.tree_leaves_with_path(begun):
        name = "state" + jax.tree_util.keystr(path[1:]) if path[0].idx == 0 else jax.tree_util.keystr(path[1:])
        allowed = is_key(leaf) or leaf.dtype.name in ALLOWED_DTYPES
        assert allowed, f"{name}: expected a dtype of {ALLOWED_DTYPES}, got {leaf.dtype}"
    for name, dtype in (("reward", "float32"), ("terminated", "bool"), ("truncated", "bool")):
        leaf = getattr(begun[1], name)
        assert (leaf.shape, leaf.dtype) == ((), dtype), f"{name}: expected one {dtype}, got {leaf}"


def _run(functions: _CompiledFunctions, params: Any, steps: int, seed: int) -> list[_Transition]:
    """Step the batch `steps` times; all episodes restart when any episode ends."""
    run: list[_Transition] = []
    state, timestep = functions.resets(_make_keys(seed, 0), params)
    for t in range(1, steps + 1):
        keys = _make_keys(seed, t)
        action = functions.acts(timestep.obs, keys)
        after, timestep = functions.steps(keys, state, action, params)
        run.append(_Transition(keys, state, action, after, timestep))
        state, timestep = functions.resets(keys, params) if is_done(timestep).any() else (after, timestep)
    return run


def _make_keys(seed: int, t: int) -> Array:
    return jax.random.split(jax.random.fold_in(jax.random.key(seed), t), NUM_ENVS)


def _perturb(params: Any) -> Any:
    """Increase every float parameter slightly."""
    return jax.tree.map(lambda x: x * 1.01 if jnp.issubdtype(jnp.result_type(x), jnp.floating) else x, params)


def _check_values(space: gymnasium.Space[Any], run: list[_Transition]) -> None:
    """Check that values are finite, observations are in their space, and no step is both terminated and truncated."""
    write = make_observation_writer(space)
    for t, transition in enumerate(run):
        for path, leaf in jax.tree_util.tree_leaves_with_path(_to_host(transition.timestep)):
            finite = not np.issubdtype(leaf.dtype, np.floating) or np.isfinite(leaf).all()
            assert finite, f"step {t}: {jax.tree_util.keystr(path)} is not finite: {leaf}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(_to_host(transition.after)):
            assert not np.isnan(leaf).any(), f"step {t}: state{jax.tree_util.keystr(path)} is NaN: {leaf}"
        both = transition.timestep.terminated & transition.timestep.truncated
        assert not both.any(), f"step {t}: terminated and truncated are both true"
        for i in range(NUM_ENVS):
            obs = write(_get_row(_to_host(transition.timestep.obs), i))
            assert space.contains(obs), f"step {t}: observation outside its space: {describe_outside(space, obs)}"


def describe_outside(space: gymnasium.Space[Any], obs: Any) -> str:
    """Describe where an observation is outside its space."""
    if isinstance(space, gymnasium.spaces.Dict) and obs.keys() == space.keys():
        return "; ".join(f"{k}: {describe_outside(s, obs[k])}" for k, s in space.items() if not s.contains(obs[k]))
    if isinstance(space, gymnasium.spaces.Box) and np.shape(obs) == space.shape:
        first = tuple(np.argwhere((obs < space.low) | (obs > space.high))[0].tolist())
        return f"entry {first} is {obs[first]}, the range is [{space.low[first]}, {space.high[first]}]"
    return f"{obs!r} is not in {space}"


def _check_batch(functions: _CompiledFunctions, params: Any, transition: _Transition) -> None:
    """Check that a step of the batch equals the steps of the individual environments."""
    for i in range(NUM_ENVS):
        keys, state, action, *in_batch = _get_row(tuple(transition), i)
        alone = functions.step(keys, state, action, params)
        _check_same(alone, tuple(in_batch), f"vmap and a loop (environment {i})", exact=False)


def _check_checkpoint(functions: _CompiledFunctions, env: Env[Any, Any], transition: _Transition) -> None:
    """Check that a batch that is saved before a step takes the same step after loading, bit for bit."""
    saved = checkpoint.Snapshot(env, transition.state, transition.keys, env.params)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "moment"
        checkpoint.save(saved, path)
        found = checkpoint.load(path, None if checkpoint.describes_itself(env) else saved)
    assert found.env == env and hash(found.env) == hash(env), f"{env} was saved, but another environment was loaded"
    went_on = functions.steps(found.key, found.state, transition.action, found.params)
    _check_same(went_on, (transition.after, transition.timestep), "a step and one after saving and loading", exact=True)


def _check_same(one: Any, other: Any, what: str, exact: bool) -> None:
    """Check equality leaf by leaf; unless `exact`, floats may differ by rounding."""
    leaves = jax.tree_util.tree_leaves_with_path(_to_host(one))
    for (path, a), b in zip(leaves, jax.tree.leaves(_to_host(other)), strict=True):
        floats = np.issubdtype(a.dtype, np.floating)
        rtol, atol = (1e-4, 1e-5) if floats and not exact else (0.0, 0.0)
        same = np.allclose(a, b, rtol, atol, equal_nan=bool(floats))
        assert same, f"{what} differ in {jax.tree_util.keystr(path)}: {a} and {b}"


def _get_row(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _to_host(tree: Any) -> Any:
    """Copy the tree to the host, with keys replaced by their data."""
    return jax.tree.map(lambda leaf: np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf), tree)
