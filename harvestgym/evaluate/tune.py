"""Tuning experts: search for the best numbers in their rules on the training split (`harvestgym tune`).

The search is differential evolution. All candidates of a generation run in the same seasons in one batch on the device.
The best candidates then run in fresh seasons of the training split, and these results determine the winner, because the
best of many candidates partly owes its first result to luck. A search cannot reach the test split (`splits.sealed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array
from scipy.optimize import differential_evolution

from harvestgym.core.env import Env
from harvestgym.core.episode import episode_keys
from harvestgym.core.errors import require
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import Episodes
from harvestgym.core.tuning.rule_family import RuleFamily, TunedRule
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.registry import family_function, locate_file

from . import splits
from .run import horizon, run_rows

FINALISTS = 16
"""Number of finalists per rule that run in fresh seasons."""

FRESH = 16
"""Number of fresh seasons per finalist, as a multiple of the seasons per candidate."""

CANDIDATE_BATCH = 16
"""The number of candidates in a generation is a multiple of this."""

ROWS = 768
"""Maximum number of seasons per call on the device, to limit the memory for large farms."""

PENALTY, MARGIN = 5.0, 0.97
"""Return lost per unit of a mean cost above its limit of 1, and the share of the limit that a candidate may use."""

UNTUNED = ("random", "none", "expert", "harvest", "sdp-finite")
"""Policies that cannot become the expert: baselines, the expert itself, and those that exploit the end of the horizon.
"""


Costs = Callable[[Episodes], Mapping[str, Any]]
"""A function of episodes that returns, by name, the costs of each that must be at most 1 on average."""


class Budget(NamedTuple):
    """Size of a search: the number of candidates per rule and of seasons per candidate."""

    candidates: int = 480
    seasons: int = 48


class Candidate(NamedTuple):
    """A rule with its numbers and mean return."""

    rule: str
    numbers: dict[str, float]
    mean: float


class Bench(NamedTuple):
    """The seasons in which candidates are compared.

    Attributes:
        env: the environment of the training split.
        keys: a key for each season.
        costs: the costs with limits, such as leached nitrogen.
    """

    env: Env[Any, Any]
    keys: Array
    costs: Costs = lambda episodes: {}

    def rate(self, policies: Sequence[Policy]) -> np.ndarray:
        """Return the mean return of each policy, minus a penalty for each mean cost above its limit."""
        whole = self.play(policies)
        values = np.stack([whole.returns, *self.costs(whole).values()])
        means, *costs = values.reshape(len(values), len(policies), -1).mean(2)
        return means - PENALTY * sum(np.maximum(cost - MARGIN, 0) for cost in costs)

    def run(self, policies: list[Policy]) -> np.ndarray:
        """Return the return of each policy in each season; all policies have the same structure."""
        return np.asarray(self.play(policies).returns).reshape(len(policies), -1)

    def play(self, policies: Sequence[Policy]) -> Episodes:
        """Return an episode for each policy and season, the seasons of a policy one after another."""
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *(policy.traced() for policy in policies))
        owner, season = np.divmod(np.arange(len(policies) * len(self.keys)), len(self.keys))
        steps, size = horizon(self.env), min(ROWS, len(owner))
        return run_rows(self.env, stacked, owner, lambda rows: self.keys[season[rows]], steps, size)


def make_benches(id: str, seed: int, seasons: int, split: str = "train") -> tuple[Bench, Bench]:
    """Make the seasons of a search, and fresh seasons for its finalists."""
    chosen = splits.split(id, split)
    env, key = chosen.make(), jax.random.key(chosen.seed(seed))
    first, second = (jax.random.fold_in(key, i) for i in (1, 2))
    costs = find_costs(id, env)
    return Bench(env, episode_keys(first, seasons), costs), Bench(env, episode_keys(second, seasons * FRESH), costs)


def find_costs(id: str, env: Env[Any, Any]) -> Costs:
    """Return the costs of an id that have limits."""
    return partial(family_function(id, "costs", lambda env, episodes: {}), env)


@splits.sealed()
def tune_rules(id: str, seed: int = 0, budget: Budget = Budget(), progress: Progress = ignore_progress) -> TunedRule:  # noqa: B008 (a tuple)
    """Tune the rules of an id and return the best of all rules; raise ConfigError for an id without rules.

    Args:
        id: a registered id, or the path of your own file.
        seed: index of the seed within the training split, and seed of the search.
        budget: size of the search for each rule.
        progress: receives the number of evaluated candidates.
    """
    bench, fresh = make_benches(id, seed, budget.seasons)
    families, fixed = find_rules(id, bench.env)
    require(families, id, "an environment with rules to tune", "none")
    found = [Candidate(name, {}, float(fresh.rate([policy])[0])) for name, policy in fixed.items()]
    found += [search_numbers(name, family, bench, fresh, budget, seed, progress) for name, family in families.items()]
    best = max(found, key=lambda candidate: candidate.mean)
    made: dict[str, str | float] = {
        "command": f"harvestgym tune {id} --seed {seed} --candidates {budget.candidates} --seasons {budget.seasons}",
        "date": datetime.now(UTC).date().isoformat(),
        "rules": ", ".join(dict.fromkeys([*fixed, *families])),
        "budget": f"{budget.candidates} candidates a rule on {budget.seasons} seasons, "
                  f"{FINALISTS} on {len(fresh.keys)} fresh ones",
        "training return": float(f"{best.mean:.5g}"),
    } | family_function(id, "name_numbers", lambda env, path: {})(bench.env, locate_file(id))  # fmt: skip
    return TunedRule(rule=best.rule, numbers=best.numbers, made=made)


def find_rules(id: str, env: Env[Any, Any]) -> tuple[dict[str, RuleFamily], Mapping[str, Policy]]:
    """Return the rule families of an id, and its policies without numbers."""
    families = family_function(id, "make_rule_families", lambda env: {})(env)
    named = family_function(id, "policies", lambda env: {})(env)
    fixed = {} if set(families) == {"expert"} else {k: v for k, v in named.items() if k not in UNTUNED}
    return families, fixed


@splits.sealed()
def search_numbers(
    name: str, family: RuleFamily, bench: Bench, fresh: Bench, budget: Budget, seed: int, progress: Progress
) -> Candidate:
    """Search for the best numbers of one rule family; return its best finalist on fresh seasons."""
    tried: dict[tuple[float, ...], float] = {}

    def evaluate(shares: np.ndarray) -> np.ndarray:
        """Return each candidate's loss; `shares` (numbers, candidates) are its numbers scaled to 0 to 1."""
        rows = [family.decode(row) for row in np.atleast_2d(shares.T)]
        means = bench.rate([family.build(row) for row in rows])
        tried.update((tuple(row.values()), float(mean)) for row, mean in zip(rows, means, strict=True))
        progress(len(rows))
        return -means

    width = len(family.numbers)
    population = int(np.clip(CANDIDATE_BATCH * round(8 * width / CANDIDATE_BATCH), CANDIDATE_BATCH, budget.candidates))
    rng = np.random.default_rng(seed)
    first = np.vstack([family.encode(family.start), rng.random((population - 1, width))])
    differential_evolution(
        evaluate, [(0.0, 1.0)] * width, maxiter=max(budget.candidates // population - 1, 1), init=first, tol=0, atol=0,
        polish=False, vectorized=True, updating="deferred",
        seed=rng,  # pyright: ignore[reportCallIssue] (renamed in SciPy 1.15)
    )  # fmt: skip
    best = sorted(tried, key=lambda row: -tried[row])[: FINALISTS - 1]
    rows = [dict(zip(family.numbers, row, strict=True)) for row in (*best, tuple(family.start.values()))]
    means = fresh.rate([family.build(row) for row in rows])
    return Candidate(name, rows[int(np.argmax(means))], float(np.max(means)))
