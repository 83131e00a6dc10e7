"""Evaluation of policies: complete episodes in batches on the device, one row each, and their summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Env
from harvestgym.core.episode import episode_keys
from harvestgym.core.errors import ConfigError, check_each_name, check_name, nearest, reveal_errors
from harvestgym.core.loading import load_object
from harvestgym.core.policy import Policy, constant_policy, make_policy, mixed_policy, random_policy, together
from harvestgym.core.risk import Measure
from harvestgym.core.rollout import Episodes, evaluate
from harvestgym.core.spaces import noop_action
from harvestgym.core.view.tables import ResultTable, Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.core.wrappers import find_layer, unwrapped
from harvestgym.core.yaml_io import read_file
from harvestgym.registry import family_function
from harvestgym.registry import spec as spec_of

from . import splits
from .statistics import ConfidenceInterval, Summary, summarise

BATCH = 50
"""Episodes per compiled call; progress is reported between calls."""

LONGEST = 100_000
"""Steps after which an endless episode is truncated, if the environment has no horizon."""


REPR_WIDTH = 390
"""Width of a printed `Comparison` in characters."""


@dataclass(frozen=True)
class Evaluation(ResultTable):
    """Episodes of one policy on one id.

    Attributes:
        returns, lengths: one entry per episode.
        columns: results specific to the family (yield, catch, cause of death ...); per episode, a number or one for
        each plot.
        samples: the lengths, the numeric columns, and the numbers that the family derives from them, by name.
        summary: summary of the returns.
        risk: risk measure of the environment's score, if it has one.
        notes: sentences about problems: refused orders, rules that never acted, factors that limited growth.
    """

    id: str
    policy: str
    seed: int
    returns: np.ndarray
    lengths: np.ndarray
    columns: dict[str, np.ndarray]
    samples: dict[str, np.ndarray]
    summary: Summary
    risk: Measure | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        episodes = f"{len(self.returns)} episodes, seed {self.seed}"
        return f"{type(self).__name__}({self.policy} on {self.id}, {episodes}: return {self.summary})"

    def to_json(self) -> dict[str, Any]:
        """Return the results as JSON data, as in `harvestgym run --json`."""
        out: dict[str, Any] = {"id": self.id, "policy": self.policy, "episodes": len(self.returns), "seed": self.seed}
        out["return"] = {
            "mean": self.summary.mean, "sd": self.summary.sd, "cvar10": self.summary.cvar10, "iqm": self.summary.iqm,
            "ci95": [self.summary.low, self.summary.high],
        }  # fmt: skip
        if self.risk is not None:
            out["return"]["risk"] = self.risk.model_dump() | {"value": self.risk(self.returns)}
        found = {name: summarise(values) for name, values in self.samples.items()}
        out |= {"notes": list(self.notes)} | {name: one.mean for name, one in found.items()}
        out["spread"] = {name: {"sd": one.sd, "ci95": [one.low, one.high]} for name, one in found.items()}
        return out | {name: count_labels(v) for name, v in self.columns.items() if not is_numeric(v)}

    def to_table(self, intervals: bool = False) -> Table:
        """Make a table of the results, with the 95 % interval of each mean if `intervals` is set.

        A single episode has one column of values.
        """
        many = len(self.returns) > 1
        episodes = f"{len(self.returns)} episodes" if many else "one episode"
        columns = ("", "mean", "sd", "lowest", "highest") if many else ()
        rows: list[tuple[str, ...]] = []
        for name, values in {"return": self.returns, **self.samples}.items():
            found = summarise(values)
            numbers = (found.mean, found.sd, values.min(), values.max()) if many else values
            last = (f"{found.low:z.3f} to {found.high:z.3f}",) if many and intervals else ()
            rows.append((name, *(f"{float(number):z.3f}" for number in numbers), *last))
        alone = {"CVaR 10 %": self.summary.cvar10, "interquartile mean": self.summary.iqm} if many else {}
        alone |= {} if self.risk is None else {str(self.risk): self.risk(self.returns)}
        rest = [""] * (len(rows[0]) - 2)
        rows += [(f"return, {name}", f"{number:z.3f}", *rest) for name, number in alone.items()]
        columns += ("95 % interval",) * (many and intervals)
        return Table(f"{self.policy} on {self.id}, {episodes}, seed {self.seed}", columns, rows)

    def describe(self) -> list[str]:
        """Return the lines below the table: the interval of the mean, the counts of each label column, the meanings of
        abbreviations, and the notes.

        Example: `cause of death: none in 9, pests in 3`. A single episode has no interval.
        """
        interval = f"95 % interval of the mean return: {self.summary.low:z.3f} to {self.summary.high:z.3f}"
        labels = {name: values for name, values in self.columns.items() if not is_numeric(values)}
        plots = {name: f", over {v.shape[1]} plots" * (v.shape[1:] > (1,)) for name, v in labels.items()}
        counts = [f"{name}{plots[name]}: {format_counts(count_labels(v))}" for name, v in labels.items()]
        words = read_abbreviations()
        names = [*self.columns, *["CVaR 10 %", "interquartile mean"] * (len(self.returns) > 1)]
        meanings = [f"{name}: {words[name]}" for name in names if name in words]
        return [interval] * (len(self.returns) > 1) + counts + meanings + [*self.notes]


class Comparison(ResultTable, dict[str, Evaluation]):
    """Evaluations of several policies on the same episodes, by name."""

    def __repr__(self) -> str:
        first = next(iter(self.values()), None)
        title = f"{first.id}, {len(first.returns)} episodes, seed {first.seed}: " if first else ""
        returns = ", ".join(f"{name} {one.summary}" for name, one in self.items())
        return shorten(f"{type(self).__name__}({title}{returns})", REPR_WIDTH, placeholder=" ...)")

    def to_table(self, *columns: str, intervals: bool = False) -> Table:
        """Make a table with a row per policy: its return with the 95 % interval, and the means of the columns.

        By default, the table has all numeric columns. With `intervals`, each mean has its 95 % interval.
        """
        first = next(iter(self.values()))
        check_each_name("column", columns, first.columns)
        numeric = columns or [name for name, values in first.columns.items() if is_numeric(values)]
        write = _write_interval if intervals else _write_mean
        rows = [
            (name, str(one.summary), *(write(one.columns[column]) for column in numeric)) for name, one in self.items()
        ]
        title = f"{first.id}, {len(first.returns)} episodes, seed {first.seed}"
        return Table(title, ("policy", "return (95 % interval)", *numeric), rows)


def _write_mean(values: np.ndarray) -> str:
    return f"{float(np.mean(values)):z.3g}"


def _write_interval(values: np.ndarray) -> str:
    found = summarise(values)
    return str(ConfidenceInterval(found.mean, found.low, found.high))


@cache
def read_abbreviations() -> dict[str, str]:
    """Return the names of results that need an explanation, and their meanings."""
    return read_file(Path(__file__).with_name("abbreviations.yaml"))


def is_numeric(values: np.ndarray) -> bool:
    """Return whether a column contains numbers instead of labels."""
    return values.dtype.kind in "fiub"


def count_labels(values: np.ndarray) -> dict[str, int]:
    """Count each label over episodes and plots, most frequent first."""
    return dict(Counter(map(str, np.ravel(values))).most_common())


def format_counts(counts: Mapping[str, int]) -> str:
    """Format counts of labels, such as `none in 9, pests in 3`; a single label has no count."""
    return ", ".join(f"{label} in {count}" if sum(counts.values()) > 1 else label for label, count in counts.items())


def find_idle_action(id: str, env: Env[Any, Any]) -> Any:
    """Return the action that does nothing; None if there is none."""
    return family_function(id, "idle_action", lambda env: noop_action(env.action_space))(env)


def policy_named(id: str, env: Env[Any, Any], name: Any) -> Policy:
    """Make a policy for an id from a name or an agent (see `core.policy.make_policy`); ConfigError for an unknown name.

    Valid names are the names that the family defines (none if a wrapper changes observations or actions), `random`,
    `none` (no action), and `mixed`: the expert, with random actions at a rate that differs between episodes
    (`mixed_policy`).
    """
    if not isinstance(name, str):
        return make_policy(env, name)
    inside, idle = unwrapped(env), find_idle_action(id, env)
    same = (env.observation_space, env.action_space) == (inside.observation_space, inside.action_space)
    own = family_function(id, "policies", lambda env: {})(inside) if same else {}
    known = {"random": lambda: random_policy(env)}
    if idle is not None:
        known["none"] = lambda: constant_policy(idle)
    if "expert" in own:
        known["mixed"] = lambda: mixed_policy(env, own["expert"])
    if name not in own and (reason := family_function(id, "explain_missing", lambda *_: None)(inside, name)):
        raise ConfigError(f"{id}: policy {name}: expected {reason}{nearest(name, [*known, *own])}")
    check_name("policy", name, [*known, *own], id)
    return own[name] if name in own else known[name]()


def find_policy(id: str, env: Env[Any, Any], name: Any) -> tuple[Env[Any, Any], Policy]:
    """Return an environment and its policy, by name as in `policy_named`, `module:function` or `file.py:function`.

    The function receives the id and the environment. It returns an agent (see `core.policy.make_policy`), or a pair of
    another environment, such as a wrapped one, and its agent.
    """
    if not isinstance(name, str) or ":" not in name:
        return env, policy_named(id, env, name)
    found = load_object(name)(id, env)
    played, acting = found if isinstance(found, tuple) and isinstance(found[0], Env) else (env, found)
    if acting is None:
        raise ConfigError(f"not played: expected a policy for {id} from {name}, got None")
    try:
        return played, make_policy(played, acting)
    except TypeError as error:
        raise ConfigError(f"{name}: {error}") from None


def evaluate_id(
    id: str,
    policy: str = "expert",
    episodes: int = 100,
    seed: int = 0,
    progress: Progress = ignore_progress,
    env: Env[Any, Any] | None = None,
    split: str | None = None,
) -> Evaluation:
    """Run `episodes` episodes of a policy, by name or as `file.py:function` (`find_policy`), and summarise them.

    A `split` (`"train"` or `"test"`, see `splits`) sets the seed, and the environment if none is given.
    """
    env, seed = _apply_split(id, env, seed, split)
    env, acting = find_policy(id, env, policy)
    whole = run_episodes(env, acting, episodes, seed, horizon(env), progress)
    return summarise_episodes(id, env, policy, seed, whole)


def evaluate_together(
    id: str,
    policies: Sequence[str] | Mapping[str, Any],
    episodes: int = 100,
    seed: int = 0,
    env: Env[Any, Any] | None = None,
    split: str | None = None,
    progress: Progress = ignore_progress,
) -> Comparison:
    """Evaluate several policies like `evaluate_id`, with one compiled program for all.

    `policies` are names, or a mapping from names to a `Policy`, a model with `predict` (SB3), or a function from
    observation to action. If you pass your own environment as `env`, its `id` may be any name.
    """
    env, seed = _apply_split(id, env, seed, split)
    chosen = policies.values() if isinstance(policies, Mapping) else policies
    acting = zip(policies, together([policy_named(id, env, one) for one in chosen]), strict=True)
    whole = {name: run_episodes(env, policy, episodes, seed, horizon(env), progress) for name, policy in acting}
    return Comparison({name: summarise_episodes(id, env, name, seed, of) for name, of in whole.items()})


def _apply_split(id: str, env: Env[Any, Any] | None, seed: int, split: str | None) -> tuple[Env[Any, Any], int]:
    """Return the environment and the seed of an evaluation, which come from the split if one is given."""
    if split is None and env is not None and unwrapped(env).family is None:
        return env, seed  # an environment of your own may have any name
    chosen = None if split is None else splits.split(id, split)
    known = chosen or spec_of(id)
    return env or known.make(), chosen.seed(seed) if chosen else seed


def summarise_episodes(id: str, env: Env[Any, Any], policy: str, seed: int, whole: Episodes) -> Evaluation:
    """Summarise episodes of a policy as an evaluation."""
    inside, returns, lengths = unwrapped(env), np.asarray(whole.returns), np.asarray(whole.length)
    columns = family_function(id, "summary", lambda *_: {})(inside, whole)
    numbers = {env.step_unit: lengths} | {name: values for name, values in columns.items() if is_numeric(values)}
    samples = family_function(id, "derive_samples", lambda env, numbers: numbers)(inside, numbers)
    risk = family_function(id, "risk", lambda env: None)(inside)
    of_policy = family_function(id, "explain_policy", lambda *_: [])(inside, policy)
    notes = (*family_function(id, "explain", lambda *_: [])(inside, whole), *of_policy)
    return Evaluation(id, policy, seed, returns, lengths, columns, samples, summarise(returns), risk, notes)


def run_episodes(
    env: Env[Any, Any], policy: Policy, episodes: int, seed: int, steps: int, progress: Progress = ignore_progress
) -> Episodes:
    """Run the episodes of an evaluation, each of at most `steps` steps, in batches of one compiled size."""
    parts = []
    for start in range(0, episodes, BATCH):
        keys = evaluation_keys(seed, np.arange(start, start + BATCH))
        with reveal_errors():
            parts.append(jax.device_get(evaluate(env, policy, keys, BATCH, steps, counts=True)))
        progress(min(BATCH, episodes - start))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:episodes], *parts)


def run_rows(
    env: Env[Any, Any],
    policies: Policy,
    owner: np.ndarray,
    make_keys: Callable[[np.ndarray], Array],
    steps: int,
    size: int,
    params: Any = None,
) -> Episodes:
    """Run one episode per row, with the policy of the row's owner, in batches of one compiled size.

    Args:
        env: the environment.
        policies: a policy for each owner, stacked.
        owner: the index of the owner of each row, (rows,).
        make_keys: a function that returns the keys of given rows.
        steps: length of the longest episode.
        size: rows per batch; the last batch is padded.
        params: parameters for each owner, stacked; by default those of the environment.
    """
    parts = []
    for start in range(0, len(owner), size):
        rows = np.minimum(np.arange(start, start + size), len(owner) - 1)
        acting, own = jax.tree.map(lambda leaf: leaf[owner[rows]], (policies, params))  # noqa: B023
        given = None if params is None else Batched(own)
        parts.append(jax.device_get(evaluate(env, Batched(acting), make_keys(rows), size, steps, given)))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(owner)], *parts)


def evaluation_keys(seed: int | np.ndarray, numbers: Sequence[int] | np.ndarray) -> Array:
    """Return the keys of the numbered episodes of an evaluation; `reset(seed=seed)` starts episode 0.

    `seed` is a single seed for all episodes, or an int64 array with a seed for each.
    """
    words = np.asarray(np.mod(seed, 2**32), np.uint32)
    return _make_keys(np.broadcast_to(words, np.shape(numbers)), np.asarray(numbers, np.int32))


@jax.jit
@jax.vmap
def _make_keys(seed: Array, number: Array) -> Array:
    first, place = jax.random.key(seed), number % BATCH
    later = episode_keys(jax.random.fold_in(first, number - place), BATCH)[place]
    return jnp.where(number == 0, first, later)


def horizon(env: Env[Any, Any]) -> int:
    """Return the largest number of steps of an episode: the horizon, or a limit for endless episodes."""
    days = int(getattr(env.params, "horizon", LONGEST))
    limited, daily = (find_layer(env, name) for name in ("evaluation_steps", "steps_per_day"))
    return getattr(limited, "evaluation_steps", None) or days * getattr(daily, "steps_per_day", 1)
