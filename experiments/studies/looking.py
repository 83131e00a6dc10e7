"""Observation costs: how often is it best to observe, if every observed number has a price?

All farmers follow the same rules, based on the morning's observations, but differ in how often they observe. At one
extreme, a farmer observes everything every day; at the other, a farmer waters and harvests by the calendar and the rain
gauge, which are free. Observations do not depend on their price, so one set of seasons serves all prices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.observation_costs import TOTAL_COST, CostLog
from harvestgym.core.episode import seed_key
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.run import horizon
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.family import make
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import OrderRule

from .common.report import open_figure, write_seasons

FREE = ("day#int365", "rain/amount#mm", "consecutive_dry#day")
PRICE = 0.003
"""The price of an observed number in `paid-looks-1x1-v0`, used here for the other farms too."""

PRICES = (0.0, 0.0003, 0.001, PRICE, 0.01, 0.03)
LOOK_INTERVALS = (1, 2, 3, 5, 7, 10, 14, 21, 28)
"""Days from one observation to the next."""

NO_DAY = 365
"""A day of the year that is after every season."""

BLIND = tuple((every, harvest) for every in (3, 5, 8, 14) for harvest in (190, 205, 220, 235, 250))
"""Farmers who observe only the calendar and the rain: days between waterings, and day of harvest."""

TUNING_SEED, TEST_SEED = 61, 8_061
"""Seeds: the best farmer is chosen on seasons of the first seed; returns are from the second."""

Ref = tuple[str, str]
"""An entity and a variable."""

Gate = tuple[int, int]
"""First day of the year, and number of dry days, from which observing a variable can be useful."""


class PaidFarm(NamedTuple):
    """A catalogue farm on which observations have a price.

    Attributes:
        needed: variables that the rules use, each with its gate.
        other: other observable variables.
        water: litres per watering by the calendar.
        acts: rules that act on observations; None for the expert's rules.
    """

    needed: dict[Ref, Gate]
    other: tuple[Ref, ...]
    water: int
    acts: tuple[dict[str, Any], ...] | None = None


ALWAYS = (1, 0)
WATER, STAGE, WEEDS = ("Soil-0", "available_Water#L"), ("Plant-0", "stage"), ("Weeds-0", "grow#nb")
SIZES = (("Plant-0", "size#cm"), ("Plant-0", "fruit_weight#g"))
HARVEST = {"do": "Plant-0.harvest"}
POUR: dict[str, Any] = {"do": "Soil-0.watering_discrete", "duration#min": 60}
PAID_FARMS = {
    "paid-looks-1x1-v0": PaidFarm(
        {WATER: (1, 3), STAGE: (165, 0), WEEDS: (130, 0)},
        (*SIZES, ("Weeds-0", "flowers#nb")),
        20,
        (  # the expert waters and weeds by the calendar
            {"when": "Plant-0.stage == ripe", **HARVEST},
            {"when": "Weeds-0.grow#nb > 1", "do": "Weeds-0.remove"},
            {"when": "Soil-0.available_Water#L < 162", **POUR, "amount#L": 20},
        ),
    ),
    "tomato-1x1-v0": PaidFarm({WATER: (1, 3), STAGE: (165, 0)}, SIZES, 10),
}


class Arm(NamedTuple):
    """A farmer, with days between observations of needed variables, of other variables, and between calendar waterings.

    `harvest` is the day of the year on which the farmer harvests by the calendar.
    """

    name: str
    needed: int | None = None
    other: int | None = None
    water: int | None = None
    harvest: int = NO_DAY


class ArmSeasons(NamedTuple):
    """The seasons of an arm: returns before observation costs, and counts of observed numbers, each (replicates,)."""

    game: str
    arm: Arm
    gross: np.ndarray
    seen: np.ndarray

    def at(self, price: float) -> np.ndarray:
        """Compute the returns if each observed number costs `price`."""
        return self.gross - price * self.seen


def run(
    replicates: int = 200,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    games: Sequence[str] = tuple(PAID_FARMS),
    days: Sequence[int] = LOOK_INTERVALS,
    blind: Sequence[tuple[int, int]] = BLIND,
    seed: int = TEST_SEED,
) -> Table:
    """Tabulate the best farmer at each price, and the farmers who observe everything daily or nothing.

    Args:
        replicates, out, progress: as in every study; progress counts farmers.
        games: names of farms.
        days: days from one observation to the next.
        blind: days between waterings and day of harvest, for farmers who observe nothing.
        seed: seed of the reported seasons; the best farmer is chosen on other seasons.
    """
    arms = [Arm("everything, daily", 1, 1), *(Arm(f"needed, every {n} days", n) for n in days)]
    arms += [Arm(f"nothing; water every {w} days, harvest on day {h}", water=w, harvest=h) for w, h in blind]
    tuned, found = (
        [_run_arms(game, arms, split_seed, replicates, progress) for game in games]
        for split_seed in (TUNING_SEED, seed)
    )
    rows = [_make_row(mine, theirs, price) for mine, theirs in zip(tuned, found, strict=True) for price in PRICES]
    if out is not None:
        _write_seasons([each for of_game in found for each in of_game], out / "looking.parquet")
        _draw(tuned, found, out / "looking.png")
    columns = ("farm", "price", "best", "numbers seen", "return (95 %)", "all, daily (95 %)", "none (95 %)")
    return Table(f"the value of an observation, {replicates} seasons", columns, rows)


def find_best_arm(tuned: Sequence[ArmSeasons], price: float) -> int:
    """Find the position of the arm with the highest mean at a price."""
    return int(np.argmax([each.at(price).mean() for each in tuned]))


def find_best_blind_arm(tuned: Sequence[ArmSeasons]) -> int:
    """Find the position of the best arm that observes nothing."""
    blind = [i for i, each in enumerate(tuned) if each.arm.needed is None]
    return max(blind, key=lambda i: tuned[i].gross.mean())


def make_paid_farm(name: str) -> FarmModel:
    """Make a catalogue farm on which observations have a price."""
    game = PAID_FARMS[name]
    free, paid = (
        [f"{entity}.{key}" for entity, key in refs]
        for refs in ([("Weather-0", key) for key in FREE], [*game.needed, *game.other])
    )
    rules = {"free_observations": free, "observations": paid}
    return make(name, mode="ao", rules=rules, scoring={"observation_cost": PRICE})


def make_farmer(name: str, env: FarmModel, arm: Arm) -> Policy:
    """Make a farmer, a list of rules: observations, rules that act on them (by default, the expert's), the calendar."""
    game = PAID_FARMS[name]
    acts = [rule for rule in env.spec.expert if rule.do]
    if game.acts is not None:
        acts = [OrderRule.model_validate(act) for act in game.acts]
    gates = {ref: ALWAYS if arm.other else gate for ref, gate in game.needed.items()}
    looks = [_observe(ref, arm.needed, *gate) for ref, gate in gates.items()]
    looks += [_observe(ref, arm.other, *ALWAYS) for ref in game.other]
    by_date = [
        _make_rule(HARVEST, arm.harvest),
        _make_rule(POUR | {"amount#L": game.water}, _start_day(arm.water), every=arm.water or 1),
    ]
    spec = env.spec.model_copy(update={"expert": [*looks, *acts, *by_date]})
    return rule_policy(dataclasses.replace(env, spec=spec))


def _observe(ref: Ref, every: int | None, day: int, dry: int) -> OrderRule:
    return _make_rule({"observe": ".".join(ref)}, _start_day(every, day), dry, every or 1)


def _start_day(every: int | None, day: int = 1) -> int:
    """Return the first day of the year for a regular action; `NO_DAY` if it is never done."""
    return NO_DAY if every is None else day


def _make_rule(what: dict[str, Any], day: int, dry: int = 0, every: int = 1) -> OrderRule:
    """Make a rule by calendar and rain gauge: from `day` on, after `dry` dry days, every `every` days."""
    when = f"Weather-0.day#int365 >= {day} and Weather-0.consecutive_dry#day >= {dry}"
    return OrderRule.model_validate({"when": when, "every#day": every, **what})


def _run_arms(game: str, arms: Sequence[Arm], seed: int, replicates: int, progress: Progress) -> list[ArmSeasons]:
    """Run the same seasons with each arm; the farms share one compiled program."""
    env, found = make_paid_farm(game), []
    for arm in arms:
        seasons = evaluate(CostLog(env), make_farmer(game, env, arm), seed_key(seed), replicates, horizon(env))
        spent = np.asarray(seasons.info[TOTAL_COST])
        found.append(ArmSeasons(game, arm, np.asarray(seasons.returns) + spent, spent / PRICE))
        progress(1)
    return found


def _make_row(tuned: Sequence[ArmSeasons], found: Sequence[ArmSeasons], price: float) -> tuple[str, ...]:
    best = found[find_best_arm(tuned, price)]
    cells = [str(summarise(each.at(price))) for each in (best, found[0], found[find_best_blind_arm(tuned)])]
    return best.game, f"{price:g}", best.arm.name, f"{best.seen.mean():.0f} of {found[0].seen.mean():.0f}", *cells


def _write_seasons(found: Sequence[ArmSeasons], path: Path) -> None:
    labels = {"farm": [each.game for each in found], "farmer": [each.arm.name for each in found]}
    seen, gross = np.stack([each.seen for each in found]), np.stack([each.gross for each in found])
    write_seasons(path, labels, {"numbers_seen": seen, "return_looks_not_paid": gross})


def _draw(tuned: Sequence[Sequence[ArmSeasons]], found: Sequence[Sequence[ArmSeasons]], out: Path) -> None:
    with open_figure(out, 9.5, 3.4 * len(found)) as figure:
        for (left, right), mine, theirs in zip(
            figure.subplots(len(found), 2, squeeze=False), tuned, found, strict=True
        ):
            _draw_arms(left, mine, theirs)
            _draw_prices(right, mine, theirs)


def _draw_arms(axes: Any, tuned: Sequence[ArmSeasons], found: Sequence[ArmSeasons]) -> None:
    """Draw the return against the count of observed numbers, at several prices."""
    looking = [i for i in range(len(found) - 1, 0, -1) if found[i].arm.needed]
    shown = [find_best_blind_arm(tuned), *looking, 0]
    seen = [found[i].seen.mean() for i in shown]
    for price in PRICES[1:-1]:
        summaries = [summarise(found[i].at(price)) for i in shown]
        mean, half = [s.mean for s in summaries], [s.mean - s.low for s in summaries]
        line = axes.errorbar(seen, mean, half, marker=".", label=f"{price:g}")
        best = find_best_arm([tuned[i] for i in shown], price)
        axes.plot(seen[best], mean[best], "o", mfc="none", ms=11, color=line[0].get_color())
    top = max(each.gross.mean() for each in found)
    axes.set(ylim=(-0.4 * top, 1.1 * top))
    axes.set(
        title=found[0].game, xlabel="numbers seen in a season", ylabel="return", xscale="symlog", xlim=(-0.3, 1000)
    )
    axes.legend(title="price of a number", frameon=False, fontsize=8, loc="lower left")


def _draw_prices(axes: Any, tuned: Sequence[ArmSeasons], found: Sequence[ArmSeasons]) -> None:
    """Draw how many numbers the best farmer observes, by price."""
    prices = np.geomspace(1e-4, 0.1, 61)
    best = [found[find_best_arm(tuned, price)].seen.mean() for price in prices]
    axes.step(prices, best, where="mid")
    axes.axhline(found[0].seen.mean(), color="#8a8a8a", ls=":")
    axes.axvline(PRICE, color="#8a8a8a", ls="--", lw=0.8)
    axes.set(
        xscale="log",
        yscale="symlog",
        ylim=(-0.3, 1000),
        xlabel="price of a number",
        ylabel="numbers that the best farmer sees",
    )
    axes.set_title(f"dotted: everything, daily; dashed: a price of {PRICE:g}", fontsize=9)
