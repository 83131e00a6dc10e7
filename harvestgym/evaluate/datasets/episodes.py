"""Demonstrations: recorded episodes of an expert, a learner or a human, for imitation and offline learning.

`demonstration_files` writes them as a Parquet file, and reads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.config import merge
from harvestgym.core.env import Env
from harvestgym.core.episode import begin_batch, scan_steps
from harvestgym.core.errors import mismatch
from harvestgym.core.policy import Policy
from harvestgym.core.spaces import make_observation_writer
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.registry import spec as spec_of

DEMONSTRATION_BATCH = 10
"""Episodes in one batch."""


@dataclass(frozen=True)
class Episode:
    """One episode of n steps; observations and actions are pytrees with the structure of their spaces.

    Attributes:
        observations: leaves with a leading axis n + 1; the first entry is from the reset.
        actions: leaves with a leading axis n.
        rewards, terminated, truncated: float64 (n,) and bool (n,).
        infos: named arrays with a leading axis n + 1.
        seed: `reset(seed=seed)` of the id's `GymEnv` and these actions reproduce the episode; None if unknown.
    """

    observations: Any
    actions: Any
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    infos: Mapping[str, np.ndarray] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        """Convert rewards and flags; an interrupted episode is marked as truncated at its last step."""
        ends, cuts = np.array(self.terminated, bool), np.array(self.truncated, bool)
        cuts[-1:] |= ~ends[-1:]
        vars(self).update(rewards=np.array(self.rewards, np.float64), terminated=ends, truncated=cuts)

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} steps, return {self.rewards.sum():.3f}, seed {self.seed})"

    @classmethod
    def of(
        cls,
        observations: Sequence[Any],
        actions: Sequence[Any],
        rewards: Sequence[float],
        terminated: Sequence[bool],
        truncated: Sequence[bool],
        infos: Sequence[Mapping[str, Any]] = (),
        seed: int | None = None,
    ) -> Episode:
        """Make an episode from lists with an entry per step; raise ConfigError if their lengths or structures differ.

        `observations` and `infos` start with the reset. Only the numbers in infos are kept. An interrupted episode is
        marked as truncated at its last step.
        """
        lengths = [len(observations) - 1, len(actions), len(rewards), len(terminated), len(truncated)]
        if len(set(lengths)) > 1 or lengths[0] < 1 or (infos and len(infos) != len(observations)):
            got = f"{len(observations)} observations, {len(infos)} infos and {lengths[1:]}"
            raise mismatch("episode", "one more observation (and info) than actions, and at least one step", got)
        paid, ends, cuts = map(np.asarray, (rewards, terminated, truncated))
        return cls(_stack_steps(observations), _stack_steps(actions), paid, ends, cuts, _stack_numbers(infos), seed)


@dataclass(frozen=True)
class Demonstrations:
    """Episodes of one id.

    Attributes:
        by: the agent: the name of a policy, "human", or other text.
        overrides: keyword arguments of `harvestgym.make(id, **overrides)`.
    """

    id: str
    by: str
    episodes: Sequence[Episode]
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.by} on {self.id}, {len(self.episodes)} episodes, {self.steps} steps)"

    @property
    def steps(self) -> int:
        """The total number of steps."""
        return sum(map(len, self.episodes))


def record_demonstrations(
    id: str,
    policy: str | Policy = "expert",
    episodes: int = 1,
    seed: int = 0,
    split: str | None = None,
    **overrides: Any,
) -> Demonstrations:
    """Record episodes of a policy; episode i, counted from 0, has the seed `seed` + i.

    With a `split` ("train" or "test", see `splits`), `seed` counts from the first seed of the split, and the overrides
    are applied to the environment of the split.
    """
    if split is not None:
        chosen = splits.split(id, split)
        overrides, seed = merge(dict(chosen.overrides), overrides), chosen.seed(seed)
    env = spec_of(id).make(**overrides)
    name, acting = policy if isinstance(policy, str) else "policy", policy_named(id, env, policy)
    return Demonstrations(id, name, list(play_episodes(env, acting, range(seed, seed + episodes))), overrides)


def play_episodes(env: Env[Any, Any], policy: Policy, seeds: Sequence[int]) -> Iterator[Episode]:
    """Run a policy from each seed; an endless episode is truncated at the horizon of evaluations."""
    steps, size = horizon(env), min(DEMONSTRATION_BATCH, len(seeds))
    for start in range(0, len(seeds), size):
        mine = seeds[start : start + size]
        filled = np.resize(np.asarray(mine, np.uint32), size)
        first, later = jax.device_get(_run_batch(env, steps, policy.traced(), filled, env.params))
        yield from (_cut_episode(env, first, later, i, s) for i, s in enumerate(mine))


@partial(jax.jit, static_argnums=(0, 1))
def _run_batch(env: Env[Any, Any], steps: int, policy: Policy, seeds: Array, params: Any) -> Any:
    """Return the first Timestep of a batch, and the actions and Timesteps of all steps, `(steps, batch, ...)`."""
    player, step, start, first = begin_batch(env, policy, jax.vmap(jax.random.key)(seeds), params)
    return first, scan_steps(player, step, start, jnp.arange(steps, dtype=jnp.int32), lambda _, *made: made)


def _cut_episode(env: Env[Any, Any], first: Any, later: Any, row: int, seed: int) -> Episode:
    """Extract the first episode in one row of a batch, with the dtypes of the spaces."""
    actions, shown = jax.tree.map(lambda leaf: leaf[:, row], later)
    over = shown.terminated | shown.truncated
    n = int(np.argmax(over)) + 1 if over.any() else len(over)
    pairs = (first.obs, first.info), (shown.obs, shown.info)
    obs, infos = jax.tree.map(lambda a, b: np.concatenate([a[None, row], b[:n]]), *pairs)
    read = make_observation_writer(env.observation_space, (n + 1,))
    done = make_observation_writer(env.action_space, (n,))(jax.tree.map(lambda leaf: leaf[:n], actions))
    paid, ends, cuts = shown.reward[:n], shown.terminated[:n], shown.truncated[:n]
    return Episode(read(obs), done, paid, ends, cuts, infos, seed)


def _stack_steps(rows: Sequence[Any]) -> Any:
    try:
        return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *rows)
    except ValueError as error:
        raise mismatch("episode", "steps of the same structure", error) from None


def _stack_numbers(infos: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Stack the entries that are numeric and have the same shape in every info, as float32, int32 or bool."""
    out: dict[str, np.ndarray] = {}
    for name in infos[0] if infos else ():
        values = [np.asarray(info[name]) if name in info else None for info in infos]
        alike = {None if value is None else (value.shape, value.dtype.kind) for value in values}
        if len(alike) == 1 and values[0] is not None and values[0].dtype.kind in "fiub":
            whole = np.stack(values)  # pyright: ignore[reportCallIssue, reportArgumentType]
            out[name] = whole.astype({"f": np.float32, "b": bool}.get(whole.dtype.kind, np.int32))
    return out
