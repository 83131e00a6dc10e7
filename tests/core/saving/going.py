"""Digests of what becomes of an environment, here or in another process."""

from __future__ import annotations

import hashlib
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from harvestgym import Snapshot


def played(env: Any, steps: int, seed: int) -> str:
    """Return a digest of all that some steps gave; episodes that end begin again."""
    env.action_space.seed(seed)
    digest = hashlib.sha256()
    for _ in range(steps):
        seen = env.step(env.action_space.sample())
        update_digest(digest, seen)
        if not isinstance(env, gymnasium.vector.VectorEnv) and (seen[2] or seen[3]):
            update_digest(digest, env.reset())
    return digest.hexdigest()


def update_digest(digest: Any, tree: Any) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        array = np.asarray(leaf)
        digest.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape}".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())


def goes_on(found: Any) -> str:
    """Return a digest of what becomes of an environment, or of a moment of a functional one."""
    if not isinstance(found, Snapshot):
        return played(found, 40, 5)
    keys = jax.vmap(jax.random.fold_in, (0, None))(found.key, 1)
    actions = jnp.zeros((len(keys), *found.env.action_space.shape))
    after = jax.jit(jax.vmap(found.env.step, (0, 0, 0, None)))(keys, found.state, actions, found.params)
    digest = hashlib.sha256()
    update_digest(digest, after)
    return digest.hexdigest()
