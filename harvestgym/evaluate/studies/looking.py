"""When is a look worth its price? Farms on which every number seen costs, and farmers who look more or less often.

Each farmer acts by the rules of the game's own expert, on what was seen this morning; they differ in how often they
look. At one end somebody looks at everything every day, at the other somebody waters and harvests by the calendar and
the rain gauge, which are free. What is seen does not depend on its price, so that one set of seasons serves them all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.env import Timestep
from harvestgym.core.policy import Policy
from harvestgym.core.rollout import evaluate
from harvestgym.core.tables import Table
from harvestgym.core.wrappers import Wrapper
from harvestgym.evaluate.run import horizon
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.family import make
from harvestgym.farm.policies.expert_rules import rule_policy
from harvestgym.farm.schema import ExpertRule

FREE = ("day#int365", "rain/amount#mm", "consecutive_dry#day")
PRICE = 0.003
"""Of a number seen in `paid-looks-1x1-v0`, and here in the other games."""

PRICES = (0.0, 0.0003, 0.001, PRICE, 0.01, 0.03)
DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 28)
"""Between two looks."""

NEVER = 999
"""A day of the year that does not come."""

BLIND = tuple((every, harvest) for every in (3, 5, 8, 14) for harvest in (190, 205, 220, 235, 250))
"""Of farmers who see nothing but the calendar and the rain: days between waterings, and the day of the harvest."""

TUNING, REPORTED = 61, 8_061
"""Seeds: which farmer does best is found out on seasons of the first, returns are of the second."""

Ref = tuple[str, str]
"""An entity and a variable."""

Gate = tuple[int, int]
"""From which day of the year, and after how many dry days, it may be worth looking at something."""


class Game(NamedTuple):
    """A farm of the catalogue, as one on which looking costs.

    Attributes:
        needed: what the expert's rules look at, and when the calendar and the rain gauge let it matter.
        other: what could be looked at besides.
        water: what a farmer waters by the calendar, litres.
    """

    needed: dict[Ref, Gate]
    other: tuple[Ref, ...]
    water: int


ALWAYS = (1, 0)
WATER, STAGE, WEEDS = ("Soil-0", "available_Water#L"), ("Plant-0", "stage"), ("Weeds-0", "grow#nb")
GROWN = (("Plant-0", "size#cm"), ("Plant-0", "fruit_weight#g"))
GAMES = {
    "paid-looks-1x1-v0": Game(
        {WATER: (1, 3), STAGE: (165, 0), WEEDS: (130, 0)}, (*GROWN, ("Weeds-0", "flowers#nb")), 20
    ),
    "tomato-clay-1x1-v0": Game({WATER: (1, 3), STAGE: (165, 0)}, GROWN, 10),
}


class Arm(NamedTuple):
    """How often a farmer looks at what is needed and at the rest, waters without looking, and when he harvests so."""

    name: str
    needed: int | None = None
    other: int | None = None
    water: int | None = None
    harvest: int = NEVER


class Found(NamedTuple):
    """The seasons of an arm: what it earned, looks not paid, and how many numbers it saw; (replicates,) each."""

    game: str
    arm: Arm
    gross: np.ndarray
    seen: np.ndarray

    def at(self, price: float) -> np.ndarray:
        """Returns where a number seen costs `price`."""
        return self.gross - price * self.seen


def run(
    replicates: int = 200,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    games: Sequence[str] = tuple(GAMES),
    days: Sequence[int] = DAYS,
    blind: Sequence[tuple[int, int]] = BLIND,
) -> Table:
    """The best way to look at each price, beside looking at everything every day and at nothing ever.

    Args:
        replicates: seasons of each farmer, and as many others to find the best of them.
        out: a folder for `looking.parquet` (a row per season; needs the extra `data`) and `looking.png`.
        progress: told 1 for each farmer that is done.
        games: names of farms.
        days: between two looks, of the farmers who look.
        blind: days between waterings and the day of the harvest, of the farmers who do not.
    """
    arms = [Arm("everything, daily", 1, 1), *(Arm(f"needed, every {n} days", n) for n in days)]
    arms += [Arm(f"nothing; water every {w} days, harvest on day {h}", water=w, harvest=h) for w, h in blind]
    tuned, found = ([_lived(game, arms, seed, replicates, progress) for game in games] for seed in (TUNING, REPORTED))
    rows = [_row(mine, theirs, price) for mine, theirs in zip(tuned, found, strict=True) for price in PRICES]
    if out is not None:
        _write(tuned, found, out)
    columns = ("farm", "price", "best", "numbers seen", "return (95 %)", "all, daily (95 %)", "none (95 %)")
    return Table(f"what a look is worth, {replicates} seasons", columns, rows)


def choose(tuned: Sequence[Found], price: float) -> int:
    """The position of the arm with the highest mean at a price."""
    return int(np.argmax([each.at(price).mean() for each in tuned]))


def none_of(tuned: Sequence[Found]) -> int:
    """The position of the best arm that looks at nothing."""
    blind = [i for i, each in enumerate(tuned) if each.arm.needed is None]
    return max(blind, key=lambda i: tuned[i].gross.mean())


def farm(name: str) -> FarmModel:
    """A farm of the catalogue on which looking costs."""
    game = GAMES[name]
    free, paid = (
        [["Field-0", *ref, []] for ref in refs]
        for refs in ([("Weather-0", key) for key in FREE], [*game.needed, *game.other])
    )
    rules = {"free_observations": free, "observations": paid}
    return make(name, mode="ao", rules=rules, scoring={"observation_cost": PRICE})


def farmer(name: str, env: FarmModel, arm: Arm) -> Policy:
    """One of the farmers on a farm: looks, then the rules of the game's expert on what was seen, then the calendar."""
    game = GAMES[name]
    acts = [rule for rule in env.spec.expert if not isinstance(rule.do[4], list)]
    gates = {ref: ALWAYS if arm.other else gate for ref, gate in game.needed.items()}
    looks = [_look(ref, arm.needed, *gate) for ref, gate in gates.items()]
    looks += [_look(ref, arm.other, *ALWAYS) for ref in game.other]
    watering = ("Soil-0", "watering_discrete", {"plot": [0, 0], "amount#L": game.water, "duration#min": 60})
    by_date = [_ruled(("Plant-0", "harvest", {}), arm.harvest), _ruled(watering, _on(arm.water), every=arm.water or 1)]
    spec = env.spec.model_copy(update={"expert": [*looks, *acts, *by_date]})
    return rule_policy(dataclasses.replace(env, spec=spec))


def _look(ref: Ref, every: int | None, day: int, dry: int) -> ExpertRule:
    return _ruled((*ref, []), _on(every, day), dry, every or 1)


def _on(every: int | None, day: int = 1) -> int:
    """The day of the year from which something is done so often."""
    return NEVER if every is None else day


def _ruled(what: tuple[Any, ...], day: int, dry: int = 0, every: int = 1) -> ExpertRule:
    """A rule by the calendar and the rain gauge: from a day on, after so many dry days, every so many days."""
    least = {"day#int365": day, "consecutive_dry#day": dry}
    when = [[[["Field-0", "Weather-0", key, []], "value", ">=", value] for key, value in least.items()]]
    do = ["BasicFarmer-0", "Field-0", *what]
    return ExpertRule.model_validate({"when": when, "do": do, "every#day": every})


class SpendingState(NamedTuple):
    """The state inside, and what was paid for looks since the reset."""

    inner: Any
    spent: jax.Array


@dataclass(frozen=True)
class Spending(Wrapper[Any]):
    """Adds what was paid for looks so far to the info, as `spent`."""

    def opened(self, state: Any, first: Timestep) -> tuple[SpendingState, Timestep]:
        return SpendingState(state, jnp.float32(0.0)), first._replace(info=first.info | {"spent": jnp.float32(0.0)})

    def step(self, key: jax.Array, state: SpendingState, action: Any, params: Any) -> tuple[SpendingState, Timestep]:
        inner, timestep = self.env.step(key, state.inner, action, params)
        spent = state.spent + timestep.info["observation cost"]
        return SpendingState(inner, spent), timestep._replace(info=timestep.info | {"spent": spent})


def _lived(game: str, arms: Sequence[Arm], seed: int, replicates: int, progress: Callable[[int], None]) -> list[Found]:
    """The seasons of each arm, the same ones for all; their farms share one compiled program."""
    env, found = farm(game), []
    for arm in arms:
        seasons = evaluate(Spending(env), farmer(game, env, arm), jax.random.key(seed), replicates, horizon(env))
        spent = np.asarray(seasons.info["spent"])
        found.append(Found(game, arm, np.asarray(seasons.returns) + spent, spent / PRICE))
        progress(1)
    return found


def _row(tuned: Sequence[Found], found: Sequence[Found], price: float) -> tuple[str, ...]:
    best = found[choose(tuned, price)]
    cells = [_told(each.at(price)) for each in (best, found[0], found[none_of(tuned)])]
    return best.game, f"{price:g}", best.arm.name, f"{best.seen.mean():.0f} of {found[0].seen.mean():.0f}", *cells


def _told(values: np.ndarray) -> str:
    summary = summarise(values)
    return f"{summary.mean:.3f} ({summary.low:.3f} to {summary.high:.3f})"


def _write(tuned: Sequence[Sequence[Found]], found: Sequence[Sequence[Found]], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_seasons([each for of_game in found for each in of_game], out / "looking.parquet")
    _draw(tuned, found, out / "looking.png")


def _write_seasons(found: Sequence[Found], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    size = len(found[0].gross)
    columns: Mapping[str, Any] = {
        "farm": np.repeat([each.game for each in found], size),
        "farmer": np.repeat([each.arm.name for each in found], size),
        "season": np.tile(np.arange(size), len(found)),
        "numbers_seen": np.concatenate([each.seen for each in found]),
        "return_looks_not_paid": np.concatenate([each.gross for each in found]),
    }
    pyarrow.parquet.write_table(pyarrow.table(dict(columns)), path)


def _draw(tuned: Sequence[Sequence[Found]], found: Sequence[Sequence[Found]], out: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(9.5, 3.4 * len(found)), layout="constrained")
    for (left, right), mine, theirs in zip(page.subplots(len(found), 2, squeeze=False), tuned, found, strict=True):
        _draw_arms(left, mine, theirs)
        _draw_prices(right, mine, theirs)
    page.savefig(out, dpi=110)


def _draw_arms(axes: Any, tuned: Sequence[Found], found: Sequence[Found]) -> None:
    """Return by the numbers seen, at some prices: those who look, and the best of those who do not."""
    looking = [i for i in range(len(found) - 1, 0, -1) if found[i].arm.needed]
    shown = [none_of(tuned), *looking, 0]
    seen = [found[i].seen.mean() for i in shown]
    for price in PRICES[1:-1]:
        told = [summarise(found[i].at(price)) for i in shown]
        mean, half = [t.mean for t in told], [t.mean - t.low for t in told]
        line = axes.errorbar(seen, mean, half, marker=".", label=f"{price:g}")
        best = choose([tuned[i] for i in shown], price)
        axes.plot(seen[best], mean[best], "o", mfc="none", ms=11, color=line[0].get_color())
    top = max(each.gross.mean() for each in found)
    axes.set(ylim=(-0.4 * top, 1.1 * top))
    axes.set(
        title=found[0].game, xlabel="numbers seen in a season", ylabel="return", xscale="symlog", xlim=(-0.3, 1000)
    )
    axes.legend(title="price of a number", frameon=False, fontsize=8, loc="lower left")


def _draw_prices(axes: Any, tuned: Sequence[Found], found: Sequence[Found]) -> None:
    """Numbers that the best farmer sees, by their price."""
    prices = np.geomspace(1e-4, 0.1, 61)
    best = [found[choose(tuned, price)].seen.mean() for price in prices]
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
