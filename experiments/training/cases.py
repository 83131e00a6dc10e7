"""Training runs as cases of a sweep, each with a key that changes if its result might.

The key is the hash of the id's files and overrides, the agent's settings and sources, and the returns of the random
policy, which change if the environment does. Training, settings and learning curves use the training split only.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import time
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from pydantic import JsonValue

from harvestgym.core.config import TUNED_FOLDER
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named, run_episodes
from harvestgym.evaluate.suite import round_number
from harvestgym.registry import locate_file
from harvestgym.sweep.cases import SweepCase, hash_file, list_user_files

from .agents import ROOT, Agent, change, choose_settings, find_agent, make_school

CHOOSING = 70_001
"""The index, within the training split, of the seed for the seasons on which settings may be compared."""

POINTS = 20
"""Number of points of a stored learning curve."""


@cache
def describe_world(id: str) -> str:
    """Return the mean return and length of the random policy in some training seasons, which identify an environment.

    Three digits, because the last ones differ between machines.
    """
    env, number = make_school(id), 16
    whole = run_episodes(env, policy_named(id, env, "random"), number, _choosing(id), horizon(env))
    return f"{np.mean(whole.returns):.3g} in {np.mean(whole.length):.3g} steps"


def _choosing(id: str) -> int:
    return splits.split(id, "train").seed(CHOOSING)


class TrainingCase(SweepCase):
    """A training run.

    Attributes:
        settings: the agent's settings.
        seasons: number of training seasons that evaluate the final weights.
        world: the description of the environment.
    """

    runner: ClassVar[str] = "experiments.training.cases:run_training_cases"

    id: str
    agent: str
    seed: int
    settings: dict[str, JsonValue]
    seasons: int
    world: str

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "agent": self.agent, "seed": self.seed}

    @property
    def learner(self) -> Agent:
        """The learner of the agent."""
        agent = find_agent(self.agent, self.id)
        assert agent is not None
        return agent

    @property
    def options(self) -> Any:
        """The settings as the learner's own class."""
        return change(self.learner.settings(self.id, make_school(self.id)), self.settings)

    @property
    def files(self) -> list[Path]:
        own = list_user_files(str(locate_file(self.id)))
        expert = self.learner.uses_expert
        return [
            *(path for path in own if expert or path.parent.name != TUNED_FOLDER),
            *(ROOT / name for name in self.learner.files),
        ]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 hash of the case, its files, the overrides of the training split, and the agent's class.

        Unlike other cases, it does not cover the package, most of whose changes do not affect a training run.
        """
        overrides = json.dumps(dict(splits.split(self.id, "train").overrides), sort_keys=True, default=str)
        parts = [self.text, overrides, self.learner.source, *(hash_file(path) for path in self.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def list_cases(
    ids: Sequence[str], agents: Sequence[str], seeds: int, steps: int, changes: Mapping[str, Any]
) -> list[TrainingCase]:
    """List the training runs of the agents that can play an id."""
    cases = []
    for id in ids:
        for name in agents:
            if (agent := find_agent(name, id)) is None:
                continue
            settings = choose_settings(agent, id, steps, changes)
            about = {"settings": settings, "seasons": splits.list_suite()[id].seasons, "world": describe_world(id)}
            cases += [TrainingCase(id=id, agent=name, seed=seed, **about) for seed in range(seeds)]
    return cases


RECORD, WEIGHTS = "record", "weights"


def run_training_cases(cases: Sequence[TrainingCase]) -> list[dict[str, np.ndarray]]:
    """Train, and evaluate on fresh training seasons; return the records as JSON text, and the weights."""
    return [_run_training(case) for case in cases]


def _run_training(case: TrainingCase) -> dict[str, np.ndarray]:
    free_programs_if_full()
    learner, settings, env = case.learner, case.options, make_school(case.id)
    start = time.process_time()
    curve, weights = jax.device_get(jax.block_until_ready(learner.train(case.id, env, settings, case.seed)))
    seconds = time.process_time() - start
    own, policy = learner.enter(case.id, env, settings, weights)
    returns = run_episodes(own, policy, case.seasons, _choosing(case.id), horizon(own)).returns
    record = {
        "id": case.id, "agent": case.agent, "seed": case.seed, "key": case.digest, "world": case.world,
        "steps": learner.count_steps(env, settings), "cpu": round(seconds, 1),
        "parameters": sum(np.size(leaf) for leaf in jax.tree.leaves(weights)), "settings": case.settings,
        "curve": shorten(curve), "train": round_number(float(np.mean(returns))),
    }  # fmt: skip
    packed = base64.b64encode(pickle.dumps(weights)).decode()
    return {RECORD: np.asarray([json.dumps(record)]), WEIGHTS: np.asarray([packed])}


def unpack_weights(packed: np.ndarray) -> Any:
    """Return the weights of a result's column."""
    return pickle.loads(base64.b64decode(packed[0]))


def shorten(curve: Sequence[float]) -> list[float | None]:
    """Return the means of equal parts of a learning curve, without updates in which no season ended (0)."""
    parts = [np.asarray(part) for part in np.array_split(np.asarray(curve, float), min(POINTS, len(curve)))]
    return [round_number(part[part != 0].mean()) if part.any() else None for part in parts]
