"""The contract as a function: `check_env` says in words what an environment breaks of it.

Our own tests run it for every registered id; run it for environments of your own.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core import checkpoint
from harvestgym.core.autoreset import is_done
from harvestgym.core.env import Env, Timestep
from harvestgym.core.packing import Layout, layout_of
from harvestgym.core.policy import Policy, random_policy
from harvestgym.core.xla.compilation import jit_quickly
from harvestgym.gym.conversion import make_observation_writer

DTYPES = ("float32", "int32", "uint32", "int8", "uint8", "bool")
"""What states, observations and infos are made of, besides keys; bytes are for maps and images."""

LANES = 4


def check_env(env: Env[Any, Any], *, steps: int = 32, seed: int = 0, policy: Policy | None = None) -> None:
    """Raise AssertionError, in words, if `env` breaks the contract of `core.env`.

    It runs `steps` steps in four lanes with `policy` (of which only the first memory is used), by default
    random actions.
    """
    _check_hashable(env)
    compiled = _Compiled(env, policy) if policy else _at_random(env, layout_of(env.params))
    _check_shapes(env, compiled.act)
    run, again = (_drive(compiled, env.params, steps, seed) for _ in range(2))
    _check_values(env.observation_space, run)
    _check_same(run, again, "two runs with the same key", exact=True)
    _check_lanes(compiled, env.params, run[-1])
    _check_file(compiled, env, run[-1])
    _drive(compiled, _perturbed(env.params), 1, seed)
    for name, count in compiled.traces.items():
        assert count == 1, f"{name} was traced {count} times for values of the same shapes; wanted once"


class _Moment(NamedTuple):
    """One step of all lanes: what went in, and what came out."""

    keys: jax.Array
    state: Any
    action: Any
    after: Any
    seen: Timestep


class _Compiled:
    """The functions of an environment, compiled for one lane and for several, with a count of traces."""

    def __init__(self, env: Env[Any, Any], policy: Policy) -> None:
        self.traces: Counter[str] = Counter()
        self.act = lambda obs, key: policy.act(policy.init, obs, key)[1]
        self.step = jit_quickly(self._counted("step", env.step))
        self.resets = jit_quickly(jax.vmap(self._counted("reset under vmap", env.reset), (0, None)))
        self.steps = jit_quickly(jax.vmap(self._counted("step under vmap", env.step), (0, 0, 0, None)))
        self.acts = jit_quickly(jax.vmap(self.act))

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def traced(*args: Any) -> Any:
            self.traces[name] += 1
            return function(*args)

        return traced


@lru_cache(maxsize=8)
def _at_random(env: Env[Any, Any], params: Layout) -> _Compiled:
    """The functions with random actions, the same for all environments of one structure."""
    return _Compiled(env, random_policy(env))


def _check_hashable(env: Env[Any, Any]) -> None:
    try:
        hash(env)
    except TypeError as error:
        raise AssertionError(f"{type(env).__name__} must be hashable, as a static argument: {error}") from None


def _check_shapes(env: Env[Any, Any], act: Callable[..., Any]) -> None:
    """`reset` and `step` give the same structure, shapes and allowed dtypes; `step` never resets."""
    key, params = jax.random.key(0), env.params
    begun = jax.eval_shape(lambda: env.reset(key, params))
    for name in ("reset", "initial"):
        with patch.object(type(env), name, side_effect=AssertionError(f"step calls {name}; it must never reset")):
            stepped = jax.eval_shape(lambda s, t: env.step(key, s, act(t.obs, key), params), *begun)
    names, other = sorted(begun[1].info), sorted(stepped[1].info)
    assert names == other, f"info has the names {names} after reset, and {other} after step"
    try:
        layout_of(begun).check(stepped)
    except ValueError as error:
        raise AssertionError(f"step gives another (state, Timestep) than reset: {error}") from None
    for path, leaf in jax.tree_util.tree_leaves_with_path(begun):
        name = "state" + jax.tree_util.keystr(path[1:]) if path[0].idx == 0 else jax.tree_util.keystr(path[1:])
        assert _is_key(leaf) or leaf.dtype.name in DTYPES, f"{name} is {leaf.dtype}; wanted one of {DTYPES}"
    for name, wanted in (("reward", "float32"), ("terminated", "bool"), ("truncated", "bool")):
        leaf = getattr(begun[1], name)
        assert (leaf.shape, leaf.dtype) == ((), wanted), f"{name}: wanted one {wanted}, found {leaf}"


def _drive(compiled: _Compiled, params: Any, steps: int, seed: int) -> list[_Moment]:
    """`steps` steps of all lanes; all begin anew when one ends."""
    run: list[_Moment] = []
    state, seen = compiled.resets(_keys(seed, 0), params)
    for t in range(1, steps + 1):
        keys = _keys(seed, t)
        action = compiled.acts(seen.obs, keys)
        after, seen = compiled.steps(keys, state, action, params)
        run.append(_Moment(keys, state, action, after, seen))
        state, seen = compiled.resets(keys, params) if is_done(seen).any() else (after, seen)
    return run


def _keys(seed: int, t: int) -> jax.Array:
    return jax.random.split(jax.random.fold_in(jax.random.key(seed), t), LANES)


def _perturbed(params: Any) -> Any:
    """The parameters with every float a little larger."""

    def more(leaf: Any) -> Any:
        floats = jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        return leaf * 1.01 if floats else leaf

    return jax.tree.map(more, params)


def _check_values(space: gymnasium.Space[Any], run: list[_Moment]) -> None:
    """Finite, in the observation space, never both terminated and truncated; no state is NaN."""
    write = make_observation_writer(space)
    for t, moment in enumerate(run):
        for path, leaf in jax.tree_util.tree_leaves_with_path(_bare(moment.seen)):
            finite = not np.issubdtype(leaf.dtype, np.floating) or np.isfinite(leaf).all()
            assert finite, f"step {t}: {jax.tree_util.keystr(path)} is not finite: {leaf}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(_bare(moment.after)):
            assert not np.isnan(leaf).any(), f"step {t}: state{jax.tree_util.keystr(path)} is NaN: {leaf}"
        both = moment.seen.terminated & moment.seen.truncated
        assert not both.any(), f"step {t}: terminated and truncated are both true"
        for lane in range(LANES):
            obs = write(_row(_bare(moment.seen.obs), lane))
            assert space.contains(obs), f"step {t}: the observation is outside its space: {_outside(space, obs)}"


def _outside(space: gymnasium.Space[Any], obs: Any) -> str:
    """Where an observation leaves its space."""
    if isinstance(space, gymnasium.spaces.Dict) and obs.keys() == space.keys():
        return "; ".join(f"{k}: {_outside(s, obs[k])}" for k, s in space.items() if not s.contains(obs[k]))
    if isinstance(space, gymnasium.spaces.Box) and np.shape(obs) == space.shape:
        first = tuple(np.argwhere((obs < space.low) | (obs > space.high))[0].tolist())
        return f"entry {first} is {obs[first]}, the range is [{space.low[first]}, {space.high[first]}]"
    return f"{obs!r} is not in {space}"


def _check_lanes(compiled: _Compiled, params: Any, moment: _Moment) -> None:
    """One step of all lanes from given states is the step of each."""
    for lane in range(LANES):
        keys, state, action, *together = _row(tuple(moment), lane)
        alone = compiled.step(keys, state, action, params)
        _check_same(alone, tuple(together), f"vmap and a loop (lane {lane})", exact=False)


def _check_file(compiled: _Compiled, env: Env[Any, Any], moment: _Moment) -> None:
    """Saved before a step and loaded, all lanes take the same step, bit for bit."""
    saved = checkpoint.Snapshot(env, moment.state, moment.keys, env.params)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "moment"
        checkpoint.save(saved, path)
        found = checkpoint.load(path, None if checkpoint.describes_itself(env) else saved)
    assert found.env == env and hash(found.env) == hash(env), f"{env} was saved, and another environment was loaded"
    went_on = compiled.steps(found.key, found.state, moment.action, found.params)
    _check_same(went_on, (moment.after, moment.seen), "a step and the step after saving and loading", exact=True)


def _check_same(one: Any, other: Any, what: str, exact: bool) -> None:
    """Equal leaf by leaf; floats up to rounding unless `exact`."""
    for (path, a), b in zip(
        jax.tree_util.tree_leaves_with_path(_bare(one)), jax.tree.leaves(_bare(other)), strict=True
    ):
        floats = np.issubdtype(a.dtype, np.floating)
        rtol, atol = (1e-4, 1e-5) if floats and not exact else (0.0, 0.0)
        same = np.allclose(a, b, rtol, atol, equal_nan=bool(floats))
        assert same, f"{what} differ in {jax.tree_util.keystr(path)}: {a} and {b}"


def _row(tree: Any, lane: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[lane], tree)


def _bare(tree: Any) -> Any:
    """The tree on the host, with keys as their data."""
    return jax.tree.map(lambda leaf: np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf), tree)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
