"""Policies on environments: whole episodes in batches on the device, one row each, and their summary."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax
import numpy as np

from ..core.env import Env
from ..core.errors import unknown
from ..core.policy import Policy, constant_policy, random_policy, together
from ..core.risk import Measure
from ..core.rollout import Episodes, evaluate
from ..registry import load
from ..registry import spec as spec_of
from .risk import Summary, summarise

BATCH = 50
"""Episodes of one compiled call; between calls the progress bar moves."""

LONGEST = 100_000
"""Steps after which an endless episode is cut, if the id gives no horizon of its own."""


@dataclass(frozen=True)
class Evaluation:
    """Episodes of one policy on one id.

    Attributes:
        returns, lengths: one entry per episode.
        columns: the family's own columns (yield, catch, cause of death ...), one entry per episode.
        summary: of the returns.
        risk: the measure of the environment's own score, if it has one.
        unit: what a step is (`days` of a farm, `steps` where nothing else is said).
    """

    id: str
    policy: str
    seed: int
    returns: np.ndarray
    lengths: np.ndarray
    columns: dict[str, np.ndarray]
    summary: Summary
    unit: str
    risk: Measure | None = None

    def to_json(self) -> dict[str, Any]:
        """The numbers of `harvestgym run --json`."""
        out: dict[str, Any] = {"id": self.id, "policy": self.policy, "episodes": len(self.returns), "seed": self.seed}
        out["return"] = {
            "mean": self.summary.mean, "sd": self.summary.sd, "cvar10": self.summary.cvar10,
            "ci95": [self.summary.low, self.summary.high],
        }  # fmt: skip
        if self.risk is not None:
            out["return"]["risk"] = self.risk.model_dump() | {"value": self.risk(self.returns)}
        out[self.unit] = float(self.lengths.mean())
        return out | {name: _told(values) for name, values in self.columns.items()}


def _told(values: np.ndarray) -> Any:
    if values.dtype.kind in "fiub":
        return float(values.mean())
    names, counts = np.unique(values, return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


def policy_named(id: str, env: Env[Any, Any], name: str) -> Policy:
    """A policy of an id by name: the family's own, `random`, or `none` (action 0); ConfigError otherwise."""
    known: dict[str, Callable[[], Policy]] = {"random": lambda: random_policy(env)}
    idle = nothing(env.action_space)
    if idle is not None:
        known["none"] = lambda: constant_policy(idle)
    own = family_function(id, "policies")(env)
    known |= {given: (lambda p=policy: p) for given, policy in own.items()}
    if name not in known:
        raise unknown("policy", name, known, id)
    return known[name]()


def nothing(space: gymnasium.Space[Any]) -> Any:
    """The action that does nothing: 0, in every part; None for a space that has no such thing."""
    match space:
        case gymnasium.spaces.Discrete():
            return np.int32(0)
        case gymnasium.spaces.MultiDiscrete() | gymnasium.spaces.MultiBinary():
            return np.zeros(space.shape, np.int32)
        case gymnasium.spaces.Dict():
            parts = {name: nothing(inside) for name, inside in space.items()}
            return None if any(part is None for part in parts.values()) else parts
    return None


def family_function(id: str, name: str) -> Callable[..., Any]:
    """A function of the module that makes an id (`policies`, `summary`, `record`, `figure`)."""
    module = spec_of(id).entry_point.partition(":")[0]
    return load(f"{module}:{name}")


def risk_of(id: str, env: Env[Any, Any]) -> Measure | None:
    """The measure by which the score of an id asks to be read, where its family has such a thing."""
    family = importlib.import_module(spec_of(id).entry_point.partition(":")[0])
    return getattr(family, "risk", lambda env: None)(env)


def evaluate_id(
    id: str,
    policy: str = "expert",
    episodes: int = 100,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
    env: Env[Any, Any] | None = None,
) -> Evaluation:
    """`episodes` episodes of a named policy on an id; `progress` is told how many more are done."""
    env = env or spec_of(id).make()
    return _evaluated(id, env, policy, policy_named(id, env, policy), episodes, seed, progress)


def evaluate_together(
    id: str, policies: Sequence[str], episodes: int = 100, seed: int = 0, env: Env[Any, Any] | None = None
) -> dict[str, Evaluation]:
    """The evaluation of each of some named policies, as `evaluate_id` gives it, by one compiled program for all."""
    env = env or spec_of(id).make()
    acting = together([policy_named(id, env, name) for name in policies])
    pairs = zip(policies, acting, strict=True)
    return {name: _evaluated(id, env, name, policy, episodes, seed, lambda done: None) for name, policy in pairs}


def _evaluated(
    id: str, env: Env[Any, Any], policy: str, acting: Policy, episodes: int, seed: int, progress: Callable[[int], None]
) -> Evaluation:
    key = jax.random.key(seed)
    parts = []
    for start in range(0, episodes, BATCH):
        part = evaluate(env, acting, jax.random.fold_in(key, start), BATCH, horizon(env))
        parts.append(jax.device_get(part))
        progress(min(BATCH, episodes - start))
    whole: Episodes = jax.tree.map(lambda *leaves: np.concatenate(leaves)[:episodes], *parts)
    columns = family_function(id, "summary")(env, whole)
    returns, lengths = np.asarray(whole.returns), np.asarray(whole.length)
    risk = risk_of(id, env)
    return Evaluation(id, policy, seed, returns, lengths, columns, summarise(returns), step_unit(env), risk)


def step_unit(env: Env[Any, Any]) -> str:
    """What a step of an environment is, for the heads of tables."""
    return getattr(env, "step_unit", "steps")


def horizon(env: Env[Any, Any]) -> int:
    """The steps of the longest episode: the env's own horizon in days, or `LONGEST`; of an endless life, a part."""
    days = int(getattr(env.params, "horizon", LONGEST))
    return getattr(env, "evaluation_steps", None) or days * getattr(env, "steps_per_day", 1)
