"""The leaderboard: the return of each baseline on each id, on held-out seasons.

A score of 0 is the return for doing nothing, and 1 the expert's return; a clairvoyant planner gives the foresight
reference. Other policies are added as an `Entrant`, a function of the id and its test environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from experiments.observation_costs import OBSERVATION_COST, TOTAL_COST, CostLog
from experiments.plot_steps import count_plot_steps
from experiments.search.found import best_known, has_find
from harvestgym.core.autoreset import Batched
from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy, constant_policy, random_policy, together
from harvestgym.core.rollout import Episodes
from harvestgym.core.spaces import noop_action
from harvestgym.core.tuning.rule_family import RuleFamily
from harvestgym.core.wrappers import unwrapped
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import evaluation_keys, find_idle_action, horizon, run_episodes
from harvestgym.evaluate.statistics import estimate_mean, summarise
from harvestgym.evaluate.tune import Bench, find_rules
from harvestgym.registry import FAMILIES, family_function, ids
from harvestgym.registry import spec as spec_of

from .foresight import Plans, Search, plan_blind, plan_with_foresight
from .gradient import plan_by_gradient
from .oracle import make_oracle
from .store import (
    BEST,
    BLIND,
    FORESIGHT,
    HIGH_BY_YEAR,
    IQM,
    LOW_BY_YEAR,
    OPTIMUM,
    ORACLE,
    TRIED,
    YEARS,
    LeaderboardRow,
)
from .weather_years import find_weather_years

SEASONS, FEW_SEASONS = 1000, 100
LONG_EPISODE = 4000
"""Plots times steps of an episode above which the default is `FEW_SEASONS`."""

PLANNED_SEASONS = 16
"""Number of seasons that the foresight planner plans."""

CORRECTED_SEASONS = 100
"""Number of seasons that the foresight planner plans for continuous actions."""

PLANNED_TOGETHER = 8
"""Number of seasons planned in one call: enough to fill a device, few enough to share seasons among workers."""

RULE_BUDGET, MOST_RULES = 40_000_000, 400
"""Budget for the rules from which hindsight chooses, in plot steps of all rules, and the maximum number of rules."""

FIRST_RULES, RULES_OF_TRIAL = 8, 8
"""Best rules of a family from which a season's plan starts, in addition to the expert; rules drawn per trial."""

SEARCH_BUDGET = 80_000
"""Budget of the default search: generations times plots times steps of an episode."""

Entrant = Callable[[str, Env[Any, Any]], "Policy | tuple[Env[Any, Any], Policy] | None"]
"""Function of an id and the environment of its reported split, which returns a policy, a pair of a wrapped environment
and its policy, or None."""


def expand_ids(names: Iterable[str]) -> list[str]:
    """Expand the names of families among ids; without names, return all ids."""
    found = [id for name in names for id in (ids(name) if name in FAMILIES else [spec_of(name).id])]
    return found or ids()


def make_policy_rows(
    id: str,
    seasons: int | None = None,
    entrants: Mapping[str, Entrant] | None = None,
    planned: int = PLANNED_SEASONS,
    search: Search | None = None,
    split: str = "test",
) -> list[LeaderboardRow]:
    """Make the rows of an id: none, random, expert, entrants, and the references available for the id.

    The references are the optimum over the horizon for a fishery and the informed oracle for a forager. Where planners
    can search schedules, there is also the best blind schedule, and `plan_seasons` gives the foresight row. For
    continuous actions, foresight comes from `plan_by_gradient`; elsewhere, it is the best rule in hindsight for each
    season. `store.merge_rows` adds the scores.

    Args:
        id: a registered id, or the path of a farm file.
        seasons: number of seasons; by default 1000, or 100 if they are long.
        entrants: additional policies by name.
        planned: number of seasons for the blind schedule, at least two; 0 for no blind schedule and no choice in
            hindsight.
        search: length of its search; by default, shorter for larger farms.
        split: split of the held-out protocol; results are reported on `"test"`.
    """
    check_planned(planned)
    chosen = splits.split(id, split)
    env, seed = chosen.make(), chosen.seed(0)
    planned = 0 if has_limits(env) else planned
    number = seasons or (FEW_SEASONS if count_plot_steps(env) > LONG_EPISODE else SEASONS)
    here, apart = _make_baselines(id, env), {}
    if (oracle := make_oracle(env)) is not None:
        apart[ORACLE] = oracle
    if planned and can_plan(id, env):
        here[BLIND] = _plan_blind(id, here["expert"], planned, search or choose_search(env))
    for name, enters in (entrants or {}).items():
        match enters(id, env):
            case Policy() as policy:
                here[name] = policy
            case (Env() as own, Policy() as policy):
                apart[name] = own, policy
    acting = dict(zip(here, together(list(here.values())), strict=True))
    games = {name: (env, policy) for name, policy in acting.items()} | apart
    results = {name: _run_policy(id, own, policy, number, seed) for name, (own, policy) in games.items()}
    rows = [_make_row(id, name, result) for name, result in results.items()]
    if planned and "expert" in here and not can_plan(id, env):
        known = {name: results[name].returns for name in ("expert", OPTIMUM, ORACLE, BEST) if name in results}
        row, keys = rows[[*results].index("expert")], evaluation_keys(seed, range(number))
        if isinstance(env.action_space, gymnasium.spaces.Box):
            rows += _correct_rules(id, env, row, [here[name] for name in known], known["expert"], keys)
        else:
            rows += _choose_by_hindsight(id, env, row, [*known.values()], keys)
    return rows


def can_plan(id: str, env: Env[Any, Any]) -> bool:
    """Return whether planners can search schedules: an id needs integer actions, a no-op action and an expert."""
    whole = not has_limits(env) and noop_action(env.action_space) is not None and _find_noop(id, env) is not None
    return whole and "expert" in family_function(id, "policies")(env)


def has_limits(env: Env[Any, Any]) -> bool:
    """Return whether a farm has constraints, which planning would ignore."""
    return bool(getattr(getattr(env.params, "score", None), "constraints", None))


def choose_search(env: Env[Any, Any]) -> Search:
    """Choose the length of a search, which is shorter for larger farms."""
    return Search(generations=int(np.clip(SEARCH_BUDGET // count_plot_steps(env), 4, 60)))


def plan_seasons(id: str, numbers: Sequence[int], search: Search | None = None, split: str = "test") -> Plans:
    """Plan some seasons of a split with foresight; the plan of a season does not depend on the other seasons.

    Habitual actions are the expert's actions in the first seasons of the split. The search starts from the expert,
    the best known policy, and the best of some random rules in each season. All calls have the same size.
    """
    chosen = splits.split(id, split)
    env, seed = chosen.make(), chosen.seed(0)
    known, length, parts = _make_baselines(id, env), search or choose_search(env), []
    expert, others = known["expert"], [known[BEST]] if BEST in known else []
    for start in range(0, len(numbers), PLANNED_TOGETHER):
        rows = (list(numbers[start : start + PLANNED_TOGETHER]) * PLANNED_TOGETHER)[:PLANNED_TOGETHER]
        keys, first = (evaluation_keys(seed, each) for each in (rows, range(PLANNED_SEASONS)))
        tried = _try_rules(id, env, keys, RULES_OF_TRIAL * length.trials)
        rules = [*others, *(rule for each in tried for rule in _choose_rules(*each))]
        plans = plan_with_foresight(env, keys, expert, length, habit_keys=first, rules=rules)
        parts.append(plans._replace(tried=plans.tried + sum(len(each) for _, each, _ in tried)))
    whole: Any = jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[: len(numbers)], *parts)
    return whole._replace(**{name: np.asarray(getattr(whole, name)) for name in ("returns", "expert", "tried")})


def _choose_rules(family: RuleFamily, rules: list[dict[str, float]], returns: np.ndarray) -> list[Batched]:
    """Choose each season's best rules by their returns (rules, seasons), best first."""
    chosen = [[family.build(rules[i]).traced() for i in order] for order in np.argsort(-returns, axis=0)[:FIRST_RULES]]
    return [Batched(jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)) for each in chosen]


def check_planned(planned: int) -> int:
    """Return the number of planned seasons; raises ConfigError for a single one, which gives no interval."""
    if planned == 1:
        raise ConfigError("planned: expected two or more seasons for a foresight reference, or 0 for none, got 1")
    return planned


def _make_baselines(id: str, env: Env[Any, Any]) -> dict[str, Policy]:
    """Make the available baselines of an id: none, random, expert, optimum and the best known policy."""
    found = {} if (idle := _find_noop(id, env)) is None else {"none": constant_policy(idle)}
    found["random"] = random_policy(env)
    own = family_function(id, "policies")(env)
    names = {"expert": "expert", OPTIMUM: "sdp-finite"}
    found |= {name: own[policy] for name, policy in names.items() if policy in own}
    return found | ({BEST: best_known(id, env)} if has_find(id) else {})


def _plan_blind(id: str, expert: Policy, planned: int, search: Search) -> Policy:
    """Find the best schedule for seasons of the training split."""
    training = splits.split(id, "train")
    return plan_blind(training.make(), evaluation_keys(training.seed(0), range(planned)), expert, search)


def _choose_by_hindsight(
    id: str, env: Env[Any, Any], expert: LeaderboardRow, known: Sequence[np.ndarray], keys: jax.Array
) -> list[LeaderboardRow]:
    """Make the row of the rule that is best in hindsight in each season: the expert, another known or a random rule."""
    tried = _try_rules(id, env, keys)
    if not tried:
        return []
    found = np.concatenate([known, *(returns for *_, returns in tried)])
    return [make_planned_row(expert, found.max(0) - known[0], len(found))]


def _correct_rules(
    id: str,
    env: Env[Any, Any],
    expert: LeaderboardRow,
    known: Sequence[Policy],
    earned: np.ndarray,
    keys: jax.Array,
) -> list[LeaderboardRow]:
    """Make the row of the plans that correct the known rules and the rules that are best in hindsight.

    `earned` are the expert's returns in the seasons of the keys.
    """
    some = keys[:CORRECTED_SEASONS]
    tried = _try_rules(id, env, some)
    if not tried:
        return []
    best = max(tried, key=lambda family: family[2].max(0).mean())
    returns, plans = plan_by_gradient(env, some, [*known, _choose_rules(*best)[0]], horizon(env))
    number = plans + sum(len(each) for _, each, _ in tried)
    return [make_planned_row(expert, returns - earned[: len(some)], number)]


def _try_rules(
    id: str, env: Env[Any, Any], keys: jax.Array, most: int = MOST_RULES
) -> list[tuple[RuleFamily, list[dict[str, float]], np.ndarray]]:
    """Draw the same number of random rules from each family; return their numbers and returns (rules, seasons)."""
    families, bench, draws = find_rules(id, env)[0], Bench(env, keys), np.random.default_rng(0)
    number = int(np.clip(RULE_BUDGET // (len(keys) * count_plot_steps(env)), 1, most))
    tried = []
    for family in families.values():
        shares = draws.random((-(-number // len(families)), len(family.numbers)))
        rules = [family.decode(row) for row in shares]
        tried.append((family, rules, bench.run([family.build(numbers) for numbers in rules])))
    return tried


def _find_noop(id: str, env: Env[Any, Any]) -> Any:
    """Return the action that does nothing; None for a forager, because every action moves it."""
    return None if spec_of(id).family == "forager" else find_idle_action(id, env)


class PolicyResult(NamedTuple):
    """The returns of a policy, the means of its other columns, and the weather year of each season, if known."""

    returns: np.ndarray
    columns: dict[str, float]
    years: np.ndarray | None


def _run_policy(id: str, env: Env[Any, Any], policy: Policy, seasons: int, seed: int) -> PolicyResult:
    """Run a policy on `seasons` seasons of the environment."""
    first = jax.eval_shape(env.reset, jax.random.key(0), env.params)[1]
    game = CostLog(env) if OBSERVATION_COST in first.info else env
    inside = unwrapped(env)
    whole: Episodes = run_episodes(game, policy, seasons, seed, horizon(env))
    columns = family_function(id, "summary")(inside, whole)
    if TOTAL_COST in whole.info:
        columns = columns | {OBSERVATION_COST: np.asarray(whole.info[TOTAL_COST])}
    means = {name: float(np.mean(v)) for name, v in columns.items() if np.asarray(v).dtype.kind in "fiub"}
    years = find_weather_years(inside, evaluation_keys(seed, range(seasons)))
    return PolicyResult(np.asarray(whole.returns), means, years)


def _make_row(id: str, policy: str, result: PolicyResult) -> LeaderboardRow:
    """Make the row of a policy."""
    s, columns = summarise(result.returns), dict(result.columns)
    columns[IQM] = s.iqm
    if result.years is not None and (number := len(np.unique(result.years))) > 1:
        found = estimate_mean(result.returns, result.years)
        columns |= {YEARS: float(number), LOW_BY_YEAR: found.low, HIGH_BY_YEAR: found.high}
    seasons = len(result.returns)
    return LeaderboardRow(id, policy, seasons, s.mean, float(s.low), float(s.high), s.cvar10, None, columns)


def make_planned_row(expert: LeaderboardRow, gain: np.ndarray, tried: int) -> LeaderboardRow:
    """Make the row of the planner: the expert's mean plus the mean gain in the planned seasons, with its error."""
    n, more = len(gain), summarise(gain)
    error = np.hypot(more.high - more.mean, expert.high - expert.mean)
    mean = float(expert.mean + np.mean(gain))
    columns = {TRIED: float(tried), "gain": float(np.mean(gain))}
    return LeaderboardRow(expert.id, FORESIGHT, n, mean, float(mean - error), float(mean + error), None, None, columns)
