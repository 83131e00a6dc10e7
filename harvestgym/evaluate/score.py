"""The score of a policy on the held-out episodes of an id: 0 for doing nothing, 1 for the best known policy.

The best known policy was found by a search; where no search has been run, it is the expert.

The reference points (`reference_returns.json`) are the returns of rules, planners and optimal policies on the test
split, as on the leaderboard in the docs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from harvestgym.core.errors import require
from harvestgym.core.view.tables import ResultTable, Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.registry import spec as spec_of

from . import splits
from .run import find_policy, horizon, run_episodes
from .statistics import Summary, format_mean, summarise

REFERENCE_RETURNS = Path(__file__).with_name("reference_returns.json")

LEAST_GAP = 1e-3
"""Smallest difference between the returns for scores of 1 and 0 for which a score is defined."""

BEST = "In `harvestgym score`, `best` may gain less than 1 %, unlike in `harvestgym suite` (docs/heldout.md)"
"""The reason for two best known policies of some ids."""


class ReferenceReturn(NamedTuple):
    """Returns of a reference policy on the test split of an id.

    Attributes:
        seasons: number of episodes.
        mean, low, high: mean return and its 95 % confidence interval.
        cvar10: mean of the worst tenth of the returns; None for the foresight planner.
    """

    seasons: int
    mean: float
    low: float
    high: float
    cvar10: float | None


@dataclass(frozen=True)
class PolicyScore(ResultTable):
    """The result of a policy on held-out episodes of an id.

    Attributes:
        seasons: number of episodes.
        summary: summary of the returns.
        references: reference points of the id by name.
    """

    id: str
    policy: str
    seasons: int
    summary: Summary
    references: Mapping[str, ReferenceReturn]

    @property
    def value(self) -> float | None:
        """The score: 0 for doing nothing, 1 for the best known policy; None if the two have nearly the same return."""
        return scale_on(self.id, self.summary.mean)

    def __repr__(self) -> str:
        value = "" if self.value is None else f", score {self.value:z.2f}"
        what = f"{self.policy} on {self.id}, {self.seasons} episodes"
        return f"{type(self).__name__}({what}: return {self.summary}{value})"

    def to_table(self) -> Table:
        """Make a table with a row for the policy and one for each reference point."""
        own = self.summary
        mine = ReferenceReturn(self.seasons, own.mean, own.low, own.high, own.cvar10)
        named = {self.policy: mine} | {f"reference: {name}": point for name, point in self.references.items()}
        rows = []
        for name, point in named.items():
            numbers = format_mean(*point[1:4]), _format(point.cvar10, 3), _format(scale_on(self.id, point.mean), 2)
            rows.append((name, *numbers, str(point.seasons)))
        columns = ("policy", "return (95 % interval)", "CVaR 10 %", "score", "episodes")
        return Table(f"{self.policy} on {self.id}, held-out episodes", columns, rows)

    def describe(self) -> list[str]:
        """Return a line about the best known policy, for an id that has one."""
        return [BEST] * ("best" in self.references)


def _format(number: float | None, digits: int) -> str:
    return "" if number is None else f"{number:z.{digits}f}"


def scale_return(mean: float, means: Mapping[str, float]) -> float | None:
    """Scale a mean return so that doing nothing gives 0 and `best`, or else `expert`, gives 1.

    Returns None if the two returns are too close, or if both `best` and `expert` are missing.
    """
    # a forager has no action that does nothing, but a return of 0 means the same
    none, best = means.get("none", 0.0), means.get("best", means.get("expert"))
    return None if best is None or best - none < LEAST_GAP else (mean - none) / (best - none)


@cache
def _read_references() -> dict[str, dict[str, ReferenceReturn]]:
    found = json.loads(REFERENCE_RETURNS.read_text(encoding="utf-8"))
    return {id: {name: ReferenceReturn(**point) for name, point in points.items()} for id, points in found.items()}


def list_references(id: str) -> dict[str, ReferenceReturn]:
    """Return the reference points of an id by name; raise ConfigError if there are none, as for your own file."""
    known, full = _read_references(), spec_of(id).id
    require(full in known, id, "an id with reference points", "one without", f"`harvestgym run {id}`")
    return known[full]


def scale_on(id: str, mean: float) -> float | None:
    """Scale a return, or a mean of returns, of an id with its reference points; see `scale_return`."""
    return scale_return(mean, {name: point.mean for name, point in list_references(id).items()})


def score(
    id: str, policy: Any = "expert", episodes: int | None = None, progress: Progress = ignore_progress
) -> PolicyScore:
    """Run a policy on the first held-out episodes of an id's test split, and compare it with references.

    Args:
        id: a registered id.
        policy: a name or a `module:function` (`find_policy`), a `Policy`, a model with `predict` (SB3), or a function
            from observation to action.
        episodes: number of episodes; by default the number used for the references, 1,000 or 100.
        progress: receives the number of finished episodes.

    Raises:
        ConfigError: for an id without reference points, or an unknown policy.
    """
    references, side = list_references(id), splits.split(spec_of(id).id, "test")
    env, number = side.make(), episodes or references["expert"].seasons
    env, acting = find_policy(id, env, policy)
    whole = run_episodes(env, acting, number, side.seed(0), horizon(env), progress)
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", type(policy).__name__)
    return PolicyScore(side.id, name, number, summarise(whole.returns), references)
