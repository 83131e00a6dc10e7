"""Try to beat the best known policy of an id, with forms of policy that know nothing of its expert.

python -m experiments.adversary search farm/contexts-1x1-v0             # search on the training side
python -m experiments.adversary search ID --forms tree network --seed 7 --steps 50_000_000
python -m experiments.adversary search farm/contexts-1x1-v0 --without lille   # in the other sites
python -m experiments.adversary choose                                  # the best known policy of each id
python -m experiments.adversary confirm ID --seed 7                     # one run on the frozen test side, logged
python -m experiments.adversary table                                   # the table in docs/heldout.md

`search` tries each form (`experiments/search/forms.py`) in training seasons drawn from the seed, and stores what it
finds: the numbers in `results/adversary/`, the returns in `results/adversary.json`. Two forms start from the expert and
are not adversaries, but candidates for the best known policy: `rules` tunes the id's own rules again, and `correction`
corrects the expert's choices. `choose` compares the expert and the finds of a seed in fresh training seasons, and
writes the best of each id to `results/best-known.json`. Where the site is drawn, it judges each form in sites that a
search left out (`--without`). Both are sealed: they cannot make the test side. `confirm` compares the best adversary of
another seed with the best known policy on the test side, and stores the gain with its interval, which is over weather
years if there are several, and corrected for the number of searches (Bonferroni).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.stats import t

from experiments.leaderboard.weather_years import list_blocks
from experiments.plot_steps import count_plot_steps
from experiments.search.found import (
    BEST_KNOWN,
    CHOSEN_SEED,
    INFORMED_FORMS,
    Entry,
    best_known,
    load_entry,
    read_choices,
    read_entries,
    read_rows,
    round_numbers,
    store_entry,
    write_numbers,
    write_rows,
)
from experiments.search.optimise import POPULATION, Effort, search_player
from experiments.search.places import leave_out, list_places, make_training
from experiments.search.players import make_player
from experiments.test_side import RESULTS, log_opening
from harvestgym.core.env import Env
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import Episodes
from harvestgym.core.view.tables import Table
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import find_idle_action, horizon, policy_named, run_episodes
from harvestgym.evaluate.statistics import ConfidenceInterval, estimate_mean, summarise
from harvestgym.evaluate.suite import read_anchors
from harvestgym.evaluate.tune import Budget, find_costs, tune_rules
from harvestgym.registry import spec
from tools.docs_blocks import body, put

CONFIRMED = RESULTS / "adversary-confirmed.json"

BLIND_FORMS = ("thresholds", "relative", "tree", "calendar", "linear", "network")
"""Forms that know nothing of the expert."""

STEPS = 8_000_000
"""Days on a plot, years or steps per form, in which candidates run."""

LONG_SEASON = 2_000
"""Plot-steps per season above which a candidate runs in fewer seasons."""

TOLERANCE = 0.02
"""Largest gain over a best known policy that survives."""

LEAST_GAIN = 0.01
"""Smallest gain over the expert, as a fraction of its return, for which a find takes its place."""

CHOICE_SEED = 2**31 - 2
"""Number of the training seed whose seasons choose among candidates."""


def search(id: str, forms: Sequence[str], seed: int, steps: int, without: str = "") -> None:
    """Search each form on an id's training side, or without one of its sites; store the entries."""
    with splits.sealed():
        side = splits.split(id, "train")
        env = leave_out(id, without) if without else side.make()
        effort = choose_effort(env, steps)
        for name in forms:
            if name == "calendar" and spec(id).family != "farm":
                continue  # the outcomes of rules for fleets depend on the stock, and directions on what is near
            start = time.perf_counter()
            free_programs_if_full()
            if name == "rules":
                entry = _tune_again(id, seed, effort)
            else:
                entry = _search_form(id, env, name, side.key(seed), seed, effort, without)
            entry = entry._replace(seconds=round(time.perf_counter() - start, 1))
            store_entry(entry)
            print(f"{id} {name}: {entry.mean:.4g}, {entry.tried} tried, {entry.seconds} s", flush=True)


def choose_effort(env: Env[Any, Any], steps: int) -> Effort:
    """Return the size of a search that runs about `steps` plot-steps per form, without its first and last seasons."""
    length = count_plot_steps(env)
    seasons, fresh = (16, 192) if length <= LONG_SEASON else (4, 48)
    return Effort(seasons, int(np.clip(steps / (POPULATION * seasons * length), 3, 200)), 8, fresh)


def _search_form(
    id: str, env: Env[Any, Any], name: str, key: jax.Array, seed: int, effort: Effort, without: str
) -> Entry:
    player = make_player(env)
    if name in INFORMED_FORMS:
        player = player.advised_by(policy_named(id, env, "expert"))
    say = partial(print, f"  {name}", flush=True)
    found, arrays = search_player(player, name, key, effort, find_costs(id, env), say)
    entry = Entry(id, name, seed, found.mean, found.tried, effort.seasons, 0.0, without=without)
    write_numbers(entry, arrays)
    return entry


def _tune_again(id: str, seed: int, effort: Effort) -> Entry:
    budget = Budget(POPULATION * max(effort.generations // 3, 4), 3 * effort.seasons)
    tuned = tune_rules(id, seed, budget)
    rule = {"rule": tuned.rule, "numbers": tuned.numbers}
    return Entry(id, "rules", seed, float(tuned.made["training return"]), budget.candidates, budget.seasons, 0.0, rule)


def choose(ids: Sequence[str], seed: int) -> None:
    """Choose the best known policy of each id by its returns in fresh training seasons, and write them to a file.

    The searches of other seeds are adversaries, which come after the choice. The file has the mean and the worst tenth
    of every find, and of nothing; where sites are drawn, also the means in sites that a search left out.
    """
    chosen = read_choices()
    for id in ids:
        with splits.sealed():
            side, seasons = splits.split(id, "train"), splits.list_suite()[id].seasons
            env, first, places = side.make(), side.seed(CHOICE_SEED), list_places(id)
            returns = _play_finds(id, env, seed, seasons, first)
            elsewhere = _play_elsewhere(id, places, seed, seasons // max(len(places), 1), first)
        if "expert" not in returns:
            raise SystemExit(f"{id}: expected an expert that meets the limits; try `harvestgym tune {id}`")
        if places:
            known = {name: values for name, values in elsewhere.items() if name in returns}
            best = select(known, np.repeat(places, seasons // len(places)))
        else:
            best = select(returns, list_blocks(env, first, seasons))
        means, means_elsewhere = _average(returns), _average(elsewhere)
        worst = round_numbers({name: summarise(values).cvar10 for name, values in returns.items()})
        chosen[id] = {"form": best, "seed": seed, "seasons": seasons, "training_returns": means, "worst_tenth": worst}
        chosen[id] |= {"returns_elsewhere": means_elsewhere} if places else {}
        print(f"{id}: {best} {means[best]:.4g}, expert {means['expert']:.4g}", flush=True)
        BEST_KNOWN.write_text(json.dumps(dict(sorted(chosen.items())), indent=1) + "\n", encoding="utf-8")


def _play_finds(id: str, env: Env[Any, Any], seed: int, seasons: int, first: int) -> dict[str, np.ndarray]:
    """Return the returns of nothing, the expert and the finds of a seed, except for policies that break a limit."""
    names = ["expert", *["none"] * (find_idle_action(id, env) is not None)]
    candidates = {name: policy_named(id, env, name) for name in names}
    candidates |= {entry.name: load_entry(entry, env) for entry in read_entries(id) if entry.seed == seed}
    played = {name: _run(env, policy, seasons, first) for name, policy in candidates.items()}
    return {name: np.asarray(whole.returns) for name, whole in played.items() if _meets_limits(id, env, whole)}


def _play_elsewhere(id: str, places: Sequence[str], seed: int, seasons: int, first: int) -> dict[str, np.ndarray]:
    """Return the returns, site by site, of the expert and of each form in the sites that its searches left out."""
    played = []
    for place in places:
        env = make_training(id, [place])
        finds = {f"{entry.form}-{seed}": entry for entry in read_entries(id, place) if entry.seed == seed}
        candidates = {"expert": policy_named(id, env, "expert")}
        candidates |= {name: load_entry(entry, env) for name, entry in finds.items()}
        played.append({name: _run(env, policy, seasons, first).returns for name, policy in candidates.items()})
    names = [name for name in played[0] if all(name in one for one in played)] if played else []
    return {name: np.concatenate([one[name] for one in played]) for name in names}


def select(returns: Mapping[str, np.ndarray], blocks: np.ndarray) -> str:
    """Return the name of the best policy by its returns in the same seasons; blocks are their weather years or sites.

    The best find takes the place of the expert if it gains something in every block and `LEAST_GAIN` or more in all,
    and its interval, which is over blocks if there are several, excludes 0.
    """
    best = max(returns, key=lambda name: returns[name].mean())
    more, gain = returns[best] - returns["expert"], estimate_gain(returns[best], returns["expert"], blocks)
    everywhere = all(more[blocks == block].mean() > 0 for block in np.unique(blocks))
    return best if everywhere and gain.value >= LEAST_GAIN and gain.low > 0 else "expert"


def _average(returns: Mapping[str, np.ndarray]) -> dict[str, float]:
    return round_numbers({name: float(values.mean()) for name, values in returns.items()})


def _run(env: Env[Any, Any], policy: Policy, seasons: int, seed: int) -> Episodes:
    free_programs_if_full()
    whole = run_episodes(env, policy, seasons, seed, horizon(env))
    return whole._replace(returns=np.asarray(whole.returns, float))


def _meets_limits(id: str, env: Env[Any, Any], whole: Episodes) -> bool:
    """Return whether some episodes meet the limits of a suite id on average."""
    costs, limits = find_costs(id, env)(whole), splits.list_suite()[id].limits
    return all(np.mean(costs[name]) <= most for name, most in limits.items())


class Confirmation(NamedTuple):
    """The best adversary of a seed against the best known policy, in the same test seasons.

    Attributes:
        gain: the adversary's mean return minus the mean return of the best known policy, as a fraction of the latter.
        half: half of the 95 % interval of the gain, corrected for the number of searches.
        searches: number of seeds that were searched on the id.
        allowed: whether the adversary meets the limits of the id.
    """

    id: str
    form: str
    seed: int
    mean: float
    best_known: float
    gain: float
    half: float
    searches: int
    allowed: bool

    @property
    def verdict(self) -> str:
        """Either "beaten": a gain above the tolerance and beyond chance; "holds": an interval below the tolerance; or
        "undecided"."""
        if not self.allowed or self.gain + self.half <= TOLERANCE:
            return "holds"
        return "beaten" if self.gain > TOLERANCE and self.gain - self.half > 0 else "undecided"


def compare(
    id: str, entry: Entry, mine: np.ndarray, best: np.ndarray, blocks: np.ndarray, searches: int, allowed: bool = True
) -> Confirmation:
    """Compare the returns of an adversary and of the best known policy in the same seasons.

    With several `blocks` (weather years), seasons in a block count as dependent.
    """
    found, years = estimate_gain(mine, best, blocks), len(np.unique(blocks))
    free = (years if years > 1 else len(mine)) - 1
    half = (found.high - found.value) * t.isf(0.025 / searches, free) / t.isf(0.025, free)
    means = float(mine.mean()), float(best.mean()), found.value, float(half)
    return Confirmation(id, entry.form, entry.seed, *means, searches, allowed)


def estimate_gain(mine: np.ndarray, best: np.ndarray, blocks: np.ndarray) -> ConfidenceInterval:
    """Return the gain as a fraction of the best mean; with several `blocks`, the interval is over these."""
    several = len(np.unique(blocks)) > 1
    return estimate_mean((mine - best) / max(abs(best.mean()), 1e-9), blocks if several else None)


def confirm(id: str, seed: int) -> None:
    """Compare the best adversary of a seed with the best known policy on the test side; store and print the result."""
    if seed == read_choices().get(id, {}).get("seed"):
        raise SystemExit(f"{id}: expected another seed than that of the best known policy, got {seed}; search it first")
    entries = [entry for entry in read_entries(id) if entry.form in BLIND_FORMS and entry.seed == seed]
    if not entries:
        raise SystemExit(f"{id}: expected a search with seed {seed}, got none; search it first")
    best = max(entries, key=lambda entry: entry.mean)
    log_opening(f"adversary {best.name}", [id])
    side = splits.split(id, "test")
    env, seasons, first = side.make(), splits.list_suite()[id].seasons, side.seed(0)
    mine, anchor = (_run(env, policy, seasons, first) for policy in (load_entry(best, env), best_known(id, env)))
    searches, allowed = len({entry.seed for entry in read_entries(id)}), _meets_limits(id, env, mine)
    found = compare(
        id, best, np.asarray(mine.returns), np.asarray(anchor.returns), read_anchors()[id].blocks, searches, allowed
    )
    rest = [one for one in read_confirmations() if (one.id, one.seed) != (id, seed)]
    write_rows(CONFIRMED, sorted([*rest, found]))
    returns = f"{found.form} {found.mean:.4g}, best known {found.best_known:.4g}"
    print(f"{id}: {returns}, {found.gain:+.1%} ± {found.half:.1%}, {found.verdict}", flush=True)


def read_confirmations() -> list[Confirmation]:
    """Return the stored confirmations."""
    return [Confirmation(**row) for row in read_rows(CONFIRMED)]


def make_table() -> Table:
    """Return the table of the best known policies, each with its strongest adversary on the test side, if any."""
    chosen, confirmed = read_choices(), read_confirmations()
    rows = []
    for id in splits.list_suite():
        if id not in chosen:
            continue
        returns, form = chosen[id]["training_returns"], chosen[id]["form"]
        mine = [one for one in confirmed if one.id == id]
        worst = max(mine, key=lambda one: one.gain - one.half) if mine else None
        shown = ("", "", "")
        if worst:
            rivals = [entry for entry in read_entries(id) if entry.form in BLIND_FORMS and entry.seed == worst.seed]
            tried = f"{worst.form}, best of {sum(entry.tried for entry in rivals):,}"
            shown = (tried, f"{worst.gain:+.1%} ± {worst.half:.1%}", worst.verdict)
        own = sum(entry.tried for entry in read_entries(id) if entry.seed == chosen[id]["seed"])
        rows.append(
            (id, f"{returns['expert']:.4g}", form.partition("-")[0], f"{returns[form]:.4g}", f"{own:,}", *shown)
        )
    names = ("expert", "best known policy", "its return", "tried", "adversary", "gain (test)", "verdict")
    return Table("Adversary", ("id", *names), rows)


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("search", "choose", "confirm", "table"))
    parser.add_argument("ids", nargs="*", help="ids; default: the suite")
    parser.add_argument("--forms", nargs="+", choices=(*BLIND_FORMS, *INFORMED_FORMS), default=BLIND_FORMS)
    parser.add_argument("--seed", type=int, default=CHOSEN_SEED, help="number of the training seed of a search")
    parser.add_argument("--without", default="", help="a site that the search leaves out")
    parser.add_argument("--steps", type=int, default=STEPS, help="plot-steps per form")
    given = parser.parse_args()
    ids = given.ids or list(splits.list_suite())
    match given.command:
        case "search":
            for id in ids:
                search(id, given.forms, given.seed, given.steps, given.without)
        case "choose":
            choose(ids, given.seed)
        case "confirm":
            for id in ids:
                confirm(id, given.seed)
        case "table":
            put("heldout.md", "adversary", body(make_table())[2:])


if __name__ == "__main__":
    main()
