"""Run `EpisodeCase`s: the episodes of many cases with the same structure, in batches of one compiled size.

A row is an episode with the parameters and the policy of its case. Batches have a fixed size, and the result of a row
does not depend on its position, so a case gives the same rows on any worker and with any other cases in its batch.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.loading import group_pairs
from harvestgym.core.policy import Policy, calls_python
from harvestgym.core.rollout import Episodes
from harvestgym.core.wrappers import unwrapped
from harvestgym.registry import family_function
from harvestgym.registry import spec as spec_of
from harvestgym.sweep.cases import EpisodeCase

from . import splits
from .run import evaluation_keys, find_policy, horizon, run_rows

EPISODE_ROWS = 256
"""Episodes per compiled call; a multiple of the vector width, so that all rows use the same instructions."""

VECTOR_WIDTH = 16
"""The vector width; with a Python policy, a call has only as many rows as needed, rounded up to a multiple of it."""


class Setting(NamedTuple):
    """An environment with a policy: a case without its seed and its number of episodes.

    Attributes:
        env: the environment.
        steps: length of the longest episode.
        arrays: the parameters and the policy, as host arrays.
    """

    env: Env[Any, Any]
    steps: int
    arrays: tuple[Any, Policy]

    @property
    def structure(self) -> Hashable:
        """The part that determines the compiled program."""
        leaves, tree = jax.tree.flatten(self.arrays)
        return self.env, self.steps, tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves)


def run_episode_cases(cases: Sequence[EpisodeCase]) -> list[dict[str, np.ndarray]]:
    """Return the columns of each case, with a row per episode: return, length, how it ended, and the family's own."""
    settings = [prepare_setting(case) for case in cases]
    groups = group_pairs((setting.structure, i) for i, setting in enumerate(settings))
    found: dict[int, Episodes] = {}
    for members in groups.values():
        episodes = _run_alike([cases[i] for i in members], [settings[i] for i in members])
        found |= dict(zip(members, episodes, strict=True))
    return [_make_columns(case, settings[i].env, found[i]) for i, case in enumerate(cases)]


def prepare_setting(case: EpisodeCase) -> Setting:
    """Make the environment and the policy of a case; raise ConfigError for a mistake in either."""
    changed = tuple(path.stat().st_mtime_ns for path in case.files if path.is_file())
    return _prepare_setting(case.id, json.dumps(case.overrides, sort_keys=True), case.policy, case.split, changed)


@lru_cache(maxsize=128)
def _prepare_setting(id: str, overrides: str, policy: str, split: str | None, changed: tuple[int, ...]) -> Setting:
    chosen = spec_of(id) if split is None else splits.split(id, split)
    env = chosen.make(**json.loads(overrides))
    env, acting = find_policy(id, env, policy)
    arrays = jax.tree.map(np.asarray, (env.params, acting.traced()))
    return Setting(env, horizon(unwrapped(env)), arrays)


def _run_alike(cases: Sequence[EpisodeCase], settings: Sequence[Setting]) -> list[Episodes]:
    """Run the episodes of cases whose settings have the same structure."""
    owner = np.repeat(np.arange(len(cases)), [case.episodes for case in cases])
    number = np.concatenate([np.arange(case.episodes) for case in cases])
    seed = np.asarray([find_first_seed(case) for case in cases], np.int64)[owner]
    params, policies = jax.tree.map(lambda *leaves: np.stack(leaves), *(setting.arrays for setting in settings))
    env, steps, _ = settings[0]
    make_keys = lambda rows: evaluation_keys(seed[rows], number[rows])  # noqa: E731
    size = min(EPISODE_ROWS, -(-len(owner) // VECTOR_WIDTH) * VECTOR_WIDTH) if calls_python(policies) else EPISODE_ROWS
    whole = run_rows(env, policies, owner, make_keys, steps, size, params)
    ends = np.cumsum([case.episodes for case in cases])
    spans = [slice(end - case.episodes, end) for case, end in zip(cases, ends, strict=True)]
    return [jax.tree.map(lambda leaf: leaf[span], whole) for span in spans]  # noqa: B023


def find_first_seed(case: EpisodeCase) -> int:
    """Return the seed of the first episode of a case."""
    return case.seed if case.split is None else splits.split(case.id, case.split).seed(case.seed)


def _make_columns(case: EpisodeCase, env: Env[Any, Any], episodes: Episodes) -> dict[str, np.ndarray]:
    columns: dict[str, Any] = {"episode": np.arange(case.episodes, dtype=np.int32), "return": episodes.returns}
    columns |= {"length": episodes.length, "terminated": episodes.terminated, "truncated": episodes.truncated}
    columns |= family_function(case.id, "summary")(unwrapped(env), episodes)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    return {name: a[:, 0] if a.ndim == 2 and a.shape[1] == 1 else a for name, a in arrays.items()}
