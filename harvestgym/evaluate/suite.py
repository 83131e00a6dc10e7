"""The core suite: a policy plays the frozen test seasons of twelve ids, and gets a score on each and in total.

A score of 0 is the return of doing nothing, and 1 is the return of the best known policy, in the same seasons
(`suite_anchors.json`). A policy that breaks a limit of an id, on average over the seasons, scores at most 0 on it. The
total is the interquartile mean over the ids. Intervals come from paired bootstrap samples (`resample_means`), so they
include the sampling error of both anchors. The score of an agent that was trained several times is the mean over its
training runs, and its interval also resamples the runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import trim_mean

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, check_count, check_each_name
from harvestgym.core.loading import load_object
from harvestgym.core.policy import Policy
from harvestgym.core.view.tables import ResultTable, Table, round_number
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.core.wrappers import unwrapped
from harvestgym.registry import family_function
from harvestgym.sweep.batches import LOCAL, EngineOptions, Outcome
from harvestgym.sweep.cases import EpisodeCase, SweepCase, read_package_version
from harvestgym.sweep.engine import run_cases

from . import splits
from .run import find_policy, horizon, run_episodes
from .score import LEAST_GAP
from .statistics import ConfidenceInterval, find_interval, format_mean, resample_means

SUITE_ANCHORS = Path(__file__).with_name("suite_anchors.json")
RETURN = "return"

Seasons = Mapping[str, np.ndarray]
"""The return of each test season of an id, and its costs that have a limit, each with six significant digits.

For an agent that was trained several times, the arrays have shape (training runs, seasons).
"""


class SuiteCase(EpisodeCase):
    """The first test seasons of an id, played by a policy in the batches of `harvestgym score`."""

    runner: ClassVar[str] = "harvestgym.evaluate.suite:run_suite_cases"


class Anchor(NamedTuple):
    """The returns that define the scores of an id.

    Attributes:
        policy: the name of the best known policy.
        digest: the SHA-256 of the test side on which the policies ran.
        expert: mean return of the expert.
        nothing, best: returns of doing nothing (0 for a forager) and of the best known policy, (seasons,).
        blocks: the weather year of each season, counted from 0; all 0 if the weather is generated, (seasons,).
    """

    policy: str
    digest: str
    expert: float
    nothing: np.ndarray
    best: np.ndarray
    blocks: np.ndarray


@dataclass(frozen=True)
class SuiteResult(ResultTable):
    """The result of a policy on the core suite.

    Attributes:
        policy: the policy.
        version: version of the package, with a hash of its sources.
        digest: SHA-256 of the test side, `splits.digest`.
        seasons: what happened in the seasons of each id that the policy played.
        failures: why the policy did not play the other ids.
    """

    policy: str
    version: str
    digest: str
    seasons: Mapping[str, Seasons]
    failures: Mapping[str, str]

    @cached_property
    def _samples(self) -> dict[str, np.ndarray]:
        """The score of each id, followed by its scores in bootstrap samples."""
        return {id: _find_scores(id, seasons) for id, seasons in self.seasons.items()}

    @property
    def scores(self) -> dict[str, ConfidenceInterval]:
        """The score of each id that the policy played."""
        return {id: find_interval(samples) for id, samples in self._samples.items()}

    @property
    def total(self) -> ConfidenceInterval | None:
        """The interquartile mean of the scores; None unless the policy played all ids."""
        if set(self._samples) != set(splits.list_suite()):
            return None
        return find_interval(trim_mean(list(self._samples.values()), 0.25, axis=0))

    def to_table(self) -> Table:
        """Make a table with a row for each id that the policy played, and the total."""
        means = {id: f"{seasons[RETURN].mean():z.4g}" for id, seasons in self.seasons.items()}
        counts = {id: str(seasons[RETURN].shape[-1]) for id, seasons in self.seasons.items()}
        rows = [(id, means[id], format_mean(*score), counts[id]) for id, score in self.scores.items()]
        rows += [] if self.total is None else [("total", "", format_mean(*self.total), "")]
        return Table(f"{self.policy} on the core suite", ("id", "return", "score (95 % interval)", "episodes"), rows)

    def describe(self) -> list[str]:
        """Return the lines below the table: the ids that were not played, broken limits, and omitted seasons."""
        lines = [f"{id}: no score: {message}" for id, message in self.failures.items()]
        for id, seasons in self.seasons.items():
            item, count = splits.list_suite()[id], seasons[RETURN].shape[-1]
            for name, limit in item.limits.items():
                for mean in np.atleast_1d(seasons[name].mean(-1)):
                    if mean > limit:
                        lines.append(f"{id}: mean {name} {mean:.3g} is over the limit; the score is at most 0")
            if count < item.seasons:
                lines.append(f"{id}: {count} of {item.seasons} episodes; not the score on the frozen test")
        return lines

    def write(self, path: Path) -> None:
        """Write the result as JSON, with a line for each id."""
        data = {name: getattr(self, name) for name in ("policy", "version", "digest", "failures")}
        data["total"] = self.total and [round_number(number) for number in self.total]
        for id, score in self.scores.items():
            value, *interval = map(round_number, score)
            mean, count = round_number(self.seasons[id][RETURN].mean()), self.seasons[id][RETURN].shape[-1]
            data[id] = {"mean": mean, "score": value, "interval": interval, "seasons": count}
            data[id] |= {name: values.tolist() for name, values in self.seasons[id].items()}
        path.write_text(format_lines(data), encoding="utf-8")


def run_suite(
    policy: str | Callable[..., Any],
    ids: Sequence[str] | None = None,
    seasons: int | None = None,
    progress: Progress = ignore_progress,
    work: Path | None = None,
    options: EngineOptions = LOCAL,
) -> SuiteResult:
    """Run a policy on the test seasons of the core suite.

    Args:
        policy: the name of a policy that every id knows, or a function of a module, or its name, `module:function` or
            `file.py:function`. The function receives the id and the environment, and returns a `Policy`, a pair of a
            wrapped environment and its `Policy`, or None for an id that it does not play.
        ids: some ids of the suite, in any order; by default, all.
        seasons: number of seasons of each id, to try a policy; by default, all of the frozen test, which is also the
            maximum.
        progress: receives the number of finished ids.
        work: folder from which an interrupted run continues; needs the extra `data`.
        options: where the seasons run.

    Raises:
        ConfigError: for an unknown id, or a policy that plays none of the ids, and within `splits.sealed`.
    """
    splits.check_open("test")
    policy = policy if isinstance(policy, str) else f"{policy.__module__}:{policy.__qualname__}"
    if ":" in policy:
        load_object(policy)  # a mistake raises one error here, instead of a failure on each id
    cases = make_cases(policy, ids, seasons)
    done: dict[SweepCase, Outcome] = {}
    for case, outcome in run_cases(list(cases.values()), work, options):
        done[case] = outcome
        progress(1)
    found = {id: columns for id, case in cases.items() if (columns := done[case].columns) is not None}
    failures = {id: done[case].error for id, case in cases.items() if id not in found}
    if not found:
        raise ConfigError(next(iter(failures.values())))
    return SuiteResult(policy, read_package_version(), splits.digest(), found, failures)


def make_cases(policy: str, ids: Sequence[str] | None = None, seasons: int | None = None) -> dict[str, SuiteCase]:
    """Make the case of each id; raise ConfigError for an unknown id."""
    suite, most = splits.list_suite(), np.inf if seasons is None else check_count("seasons", seasons)
    check_each_name("id", ids or (), suite, "suite")
    counts = {id: int(min(item.seasons, most)) for id, item in suite.items() if id in (ids or suite)}
    return {id: SuiteCase(id=id, policy=policy, episodes=count, split="test") for id, count in counts.items()}


def run_suite_cases(cases: Sequence[SuiteCase]) -> list[Seasons]:
    """Run the policy of each case on the first test seasons of its id."""
    found = [(case, *find_policy(case.id, splits.make(case.id, "test"), case.policy)) for case in cases]
    return [play_seasons(case.id, env, policy, case.episodes) for case, env, policy in found]


def play_seasons(id: str, env: Env[Any, Any], policy: Policy, seasons: int) -> Seasons:
    """Run a policy on the first test seasons of an id, in its test environment or one that wraps it."""
    whole = run_episodes(env, policy, seasons, splits.split(id, "test").seed(0), horizon(env))
    columns = {RETURN: whole.returns} | family_function(id, "summary")(unwrapped(env), whole)
    names = RETURN, *splits.list_suite()[id].limits
    return {name: np.asarray([round_number(value) for value in columns[name]]) for name in names}


def list_anchors() -> Table:
    """List the ids of the core suite: what each tests, its test seasons, and its anchors."""
    rows = []
    for id, anchor in read_anchors().items():
        item = splits.list_suite()[id]
        means = (f"{round_number(mean):z.4g}" for mean in (anchor.nothing.mean(), anchor.expert, anchor.best.mean()))
        rows.append((id, item.tests, str(item.seasons), *means, anchor.policy))
    columns = ("id", "tests", "episodes", "nothing", "expert", "best known", "its policy")
    return Table(f"Core suite, returns on the test side {splits.digest()[:12]}", columns, rows)


@cache
def read_anchors() -> dict[str, Anchor]:
    """Read the anchors of each id."""
    arrays = ("nothing", "best", "blocks")
    found = json.loads(SUITE_ANCHORS.read_text(encoding="utf-8"))
    return {id: Anchor(**anchor | {name: np.asarray(anchor[name]) for name in arrays}) for id, anchor in found.items()}


def _find_scores(id: str, seasons: Seasons) -> np.ndarray:
    """Return the score on an id, followed by its scores in bootstrap samples, (1 + samples,)."""
    limits, anchor, number = splits.list_suite()[id].limits, read_anchors()[id], [*splits.list_suite()].index(id)
    played = np.stack([np.atleast_2d(seasons[name]) for name in (RETURN, *limits)])  # (names, trainings, seasons)
    trainings, count = played.shape[1:]
    rows = np.stack([anchor.nothing[:count], anchor.best[:count], *played.reshape(-1, count)])
    samples = np.column_stack([rows.mean(1), resample_means(rows, anchor.blocks[:count], number)])
    (nothing, best), (mine, *costs) = samples[:2], samples[2:].reshape(len(played), trainings, -1)
    scores = (mine - nothing) / np.maximum(best - nothing, LEAST_GAP)
    for cost, limit in zip(costs, limits.values(), strict=True):
        scores = np.where(cost > limit, np.minimum(scores, 0), scores)
    drawn = np.random.default_rng([number, trainings]).integers(trainings, size=scores.shape)
    drawn[:, 0] = np.arange(trainings)  # the score itself is of all trainings
    return np.take_along_axis(scores, drawn, 0).mean(0)


def format_lines(data: Mapping[str, Any]) -> str:
    """Return an object as JSON, with a line for each entry."""
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(value)}" for name, value in data.items()) + "\n}\n"
