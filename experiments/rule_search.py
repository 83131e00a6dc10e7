"""Draw rules at random, and compare the best one with the expert of an id on the held-out split.

python -m experiments.rule_search fishing/patches-v0             # one or more ids or families
python -m experiments.rule_search fishing --out FILE.json        # add the results to a file

For each id, 400 rules are drawn evenly from all its rule families, with numbers uniform in their ranges. They run on
seasons of the training split that tuning has not used: 32 seasons, or 4 if a season has more than 1,000 steps. The 16
best rules run on 16 times as many other training seasons, and the winner is compared with the expert on the test split.
All seasons are complete. An expert counts as hard to beat if the winner earns at most 2 % more.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import harvestgym
from experiments.leaderboard.run import expand_ids, has_limits
from harvestgym.core.rollout import evaluate
from harvestgym.core.tuning.rule_family import RuleFamily
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate.run import horizon, policy_named
from harvestgym.evaluate.tune import FINALISTS, Bench, find_rules, make_benches

RULES, SEED = 400, 20_261_122
"""Number of rules in a search, and the seed of its training seasons and draws. Tuning starts at seed 0."""

TOLERANCE = 0.02

SEASONS, LONG_SEASON, FEW_SEASONS = 32, 1_000, 4
"""Training seasons per rule, and the steps per season above which there are only `FEW_SEASONS`."""


class SearchResult(NamedTuple):
    """The best rule of a random search and the expert, on the same held-out seasons.

    Attributes:
        gain: the rule's return minus the expert's, as a fraction of the expert's; `error` is its standard error.
        holds: whether the gain is at most the tolerance.
    """

    id: str
    rules: int
    seasons: int
    rule: str
    numbers: dict[str, float]
    rule_mean: float
    expert_mean: float
    gain: float
    error: float
    holds: bool
    seconds: float


def search(id: str, seasons: int | None, test_seasons: int) -> SearchResult:
    """Search an id's rules at random; by default, the number of training seasons depends on their length."""
    start = time.perf_counter()
    seasons = seasons or (FEW_SEASONS if horizon(harvestgym.make(id)) > LONG_SEASON else SEASONS)
    bench, fresh = make_benches(id, SEED, seasons)
    families, _ = find_rules(id, bench.env)
    rng = np.random.default_rng(SEED)
    found = [best for name, family in families.items() for best in draw_best(name, family, bench, len(families), rng)]
    finalists = sorted(found, key=lambda one: -one[2])[:FINALISTS]
    means = [fresh.run_rules(families[name], [numbers]).mean() for name, numbers, _ in finalists]
    name, numbers, _ = finalists[int(np.argmax(means))]
    test, _ = make_benches(id, 0, test_seasons, "test")
    expert = policy_named(id, test.env, "expert")
    mine, theirs = (np.asarray(evaluate(test.env, policy, test.keys, len(test.keys), horizon(test.env)).returns, float)
                    for policy in (families[name].build(numbers), expert))  # fmt: skip
    scale = max(abs(theirs.mean()), 1e-9)
    gain = (mine - theirs).mean() / scale
    error = (mine - theirs).std(ddof=1) / np.sqrt(len(mine)) / scale
    seconds = round(time.perf_counter() - start, 1)
    return SearchResult(
        id, RULES, seasons, name, numbers, float(mine.mean()), float(theirs.mean()), float(gain), float(error),
        bool(gain <= TOLERANCE), seconds,
    )  # fmt: skip


def draw_best(
    name: str, family: RuleFamily, bench: Bench, families: int, rng: np.random.Generator
) -> list[tuple[str, dict[str, float], float]]:
    """Draw a family's equal share of the rules; return the best ones with their means."""
    shares = rng.random((-(-RULES // families), len(family.numbers)))
    rows = [family.decode(row) for row in shares]
    means = bench.run_rules(family, rows).mean(1)
    return [(name, rows[i], float(means[i])) for i in np.argsort(-means)[:FINALISTS]]


def main() -> None:
    """Search each id and print a line; add the results to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", help="ids, or farm, fishing, forager; default: all")
    parser.add_argument("--seasons", type=int, help="training seasons of a rule; default: by their length")
    parser.add_argument("--test-seasons", type=int, default=400, help="held-out seasons")
    parser.add_argument("--out", type=Path, help="JSON file to which results are added")
    given = parser.parse_args()
    for id in expand_ids(given.ids):
        env = harvestgym.make(id)
        if has_limits(env) or not find_rules(id, env)[0]:
            continue
        free_programs_if_full()
        result = search(id, given.seasons, given.test_seasons)
        verdict = "holds" if result.holds else "BEATEN"
        print(f"{id}: {result.rule} {result.rule_mean:.4g}, expert {result.expert_mean:.4g}, "
              f"{result.gain:+.1%} ± {result.error:.1%}, {verdict}, {result.seconds} s", flush=True)  # fmt: skip
        if given.out is not None:
            add_result(given.out, result)


def add_result(path: Path, result: SearchResult) -> None:
    """Write a result into a file, replacing an older result for the same id."""
    kept = json.loads(path.read_text(encoding="utf-8"))["results"] if path.is_file() else []
    rest = [one for one in kept if one["id"] != result.id]
    results = sorted([*rest, result._asdict()], key=lambda one: one["id"])
    path.write_text(json.dumps({"tolerance": TOLERANCE, "results": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
