"""The program of a host: one step of stored states, whole episodes and a game of Gymnasium of some ids.

    python -m tests.hosts.host HOST FOLDER ID...

The host `reference` runs first and stores the states in FOLDER; every host saves its numbers there as `HOST.npz`.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROWS, STEPS, LONGEST = 64, 24, 400
"""Stored states and whole episodes of an id; the days that the last stored state is old; the steps of an episode."""
COPIES = {"large batch": 64, "JAX used before": 64}
"""How often a host repeats the stored states in its batch."""


def play(host: str, folder: Path, id: str) -> dict[str, Any]:
    """Return the arrays of an id by name."""
    import gymnasium

    import harvestgym
    from harvestgym.core.policy import sample

    env = harvestgym.make(id)
    keys = jax.random.split(jax.random.key(5), ROWS)
    step = jax.jit(jax.vmap(env.step))
    draw = jax.jit(jax.vmap(partial(sample, env.action_space)))

    state = stored = jax.jit(jax.vmap(env.reset))(keys)[0]
    returns, over = np.zeros(ROWS), np.zeros(ROWS, bool)
    for day in range(LONGEST):
        now = jax.vmap(jax.random.fold_in, (0, None))(keys, day)
        state, last = step(now, state, draw(now))
        returns += np.where(over, 0, last.reward)
        over |= np.asarray(last.terminated | last.truncated)
        grows = ~over & (day < np.arange(ROWS) % STEPS)
        stored = jax.tree.map(partial(_choose, grows), state, stored) if grows.any() else stored
        if over.all():
            break

    path = folder / f"{id.replace('/', '-')}.npz"
    leaves, structure = jax.tree.flatten(stored)
    if host == "reference":
        np.savez(path, *map(_to_numbers, leaves))
    with np.load(path) as arrays:
        leaves = [_from_numbers(arrays[name], leaf) for name, leaf in zip(arrays.files, leaves, strict=True)]
    given = keys, structure.unflatten(leaves), draw(keys)
    after = step(*jax.tree.map(lambda leaf: jnp.concatenate([leaf] * COPIES.get(host, 1)), given))
    made = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(after)}
    made = {f"{id} step {name}": _to_numbers(leaf) for name, leaf in made.items()}

    game = gymnasium.make(f"harvestgym:{id}")
    seen, ended = [game.reset(seed=3)[0]], False
    game.action_space.seed(4)
    while not ended and len(seen) < 20:
        obs, reward, terminated, truncated, _ = game.step(game.action_space.sample())
        seen, ended = [*seen, obs, reward], terminated or truncated
    return made | {f"{id} returns": returns, f"{id} game": _flatten(seen)}


def _choose(rows: Any, new: Any, old: Any) -> Any:
    return jnp.where(rows.reshape(-1, *(1,) * (old.ndim - 1)), new, old)


def _to_numbers(leaf: Any) -> Any:
    return np.asarray(jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)


def _from_numbers(array: Any, like: Any) -> Any:
    is_key = jax.dtypes.issubdtype(like.dtype, jax.dtypes.prng_key)
    return jax.random.wrap_key_data(array) if is_key else jnp.asarray(array)


def _flatten(tree: Any) -> Any:
    return np.concatenate([np.ravel(leaf).astype(np.float64) for leaf in jax.tree.leaves(tree)])


def play_all(host: str, folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of all ids, one after the other."""
    return {name: array for id in ids for name, array in play(host, folder, id).items()}


def after_other_programs(host: str, folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """JAX is imported and used before the package."""
    jax.jit(lambda x: jnp.cumsum(x) @ jnp.ones(3))(jnp.ones(3)).block_until_ready()
    return play_all(host, folder, ids)


def in_a_spawned_process(host: str, folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """A process that has used JAX spawns one that plays."""
    jax.numpy.ones(3).block_until_ready()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(play_all, (host, folder, ids))


def in_two_threads(host: str, folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """Two threads play different ids at a time."""
    with ThreadPoolExecutor(2) as pool:
        return {name: array for made in pool.map(partial(play, host, folder), ids) for name, array in made.items()}


def with_training(host: str, folder: Path, ids: Sequence[str]) -> dict[str, Any]:
    """The process trains a model of its own with optax before and after each id."""
    import optax

    x, adam = jnp.linspace(-1.0, 1.0, 256), optax.adam(0.1)

    @jax.jit
    def improve(weights: Any, moments: Any) -> Any:
        error, slope = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x * w[0]) * w[1] - x**3) ** 2))(weights)
        change, moments = adam.update(slope, moments)
        return optax.apply_updates(weights, change), moments, error

    weights, made, errors = jnp.ones(2), {}, []
    moments = adam.init(weights)
    for id in [*ids, None]:
        for _ in range(20):
            weights, moments, error = improve(weights, moments)
            errors.append(float(error))
        made |= play(host, folder, id) if id else {}
    assert errors[-1] < errors[0], errors
    return made


WAYS: dict[str, Callable[..., dict[str, Any]]] = {
    "JAX used before": after_other_programs, "spawned": in_a_spawned_process, "two threads": in_two_threads,
    "other training": with_training,
}  # fmt: skip
"""How a host plays, unless one id after the other."""


def main(host: str, folder: str, *ids: str) -> None:
    """Play all ids in this process, and save the arrays."""
    made = WAYS.get(host, play_all)(host, Path(folder), ids)
    np.savez(Path(folder) / f"{host}.npz", **made)


if __name__ == "__main__":
    main(*sys.argv[1:])
