"""Put the results of part A into docs/reality-stocks.md, and draw its picture.

python -m experiments.reality.stocks_page    # after experiments.reality.stocks and held_out_stocks
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from experiments.reality.stocks import HINDCAST_YEARS, RESULTS
from experiments.studies.common.report import open_figure
from harvestgym.core.view.tables import Table
from harvestgym.fishing.us_stocks import read_stocks
from tools.docs_blocks import PICTURES, body, put

LOW = 0.1
"""Share of B_MSY below which the median season of a stock ends in collapse."""

RULES = {
    "rule 1": "fewer than 20 years in a row",
    "rule 2": "an amount of zero or below",
    "rule 3": "a catch of at least 0.9 of the biomass",
    "rule 4": "a biomass that is not in tonnes",
    "rule 5": "every law's optimum on a bound",
    "rule 6": "no better than a random walk",
    "rule 7": "a standard error above 1",
}


LABELS = {"F_MSY": "U_MSY"}
"""The compared values are shares of the biomass; the results call them F_MSY, as the assessments do."""


def make_fit_tables(found: dict[str, Any]) -> list[Table]:
    """Return the counts of the fits, and how they compare with published reference points."""
    fit, points = found["fit"], found["compare"]
    rows = [("stocks", fit["stocks"]), ("passed", fit["passed"]), ("of these held out", fit["held out"])]
    rows += [(f"refused by {rule}: {RULES[rule]}", number) for rule, number in fit["refused by rule"].items()]
    rows += [(f"law {law}", number) for law, number in fit["laws"].items()]
    compared = [
        (
            f"{LABELS.get(point, point)}, fit / published",
            str(one["stocks"]),
            _interval(one["median"], one["median interval"]),
            f"{one['lower quartile']:.2f} to {one['upper quartile']:.2f}",
            f"{min(one['ratios'].values()):.2f} to {max(one['ratios'].values()):.2f}",
            f"{one['within a factor of 2']:.0%}",
        )
        for point, one in points.items()
        if isinstance(one, dict)
    ]
    columns = ("reference point", "stocks", "median (95 % interval)", "quartiles", "range", "within a factor of 2")
    return [
        Table("Fits", ("", "stocks"), [(name, str(number)) for name, number in rows]),
        Table("Reference points", columns, compared),
    ]


def make_hindcast_table(found: dict[str, Any]) -> Table:
    """Return the errors of the prediction of ten years."""
    one = found["hindcast"]
    rows = [
        ("stocks", f"{one['stocks']}"),
        ("RMSE of log biomass", f"{one['RMSE of log biomass']:.2f}"),
        ("the same, if biomass stays as it is", f"{one['RMSE of the last biomass']:.2f}"),
        ("skill", _interval(one["skill"], one["skill interval"])),
        *(
            (f"skill in year {lead}", f"{one['skill by lead time'][lead - 1]:.2f}")
            for lead in (1, 3, 5, HINDCAST_YEARS)
        ),
        ("bias of log biomass", f"{one['bias']:.2f}"),
        ("inside the 90 % interval", f"{one['inside the 90 % interval']:.0%}"),
    ]
    return Table("Hindcast of ten years", ("", ""), rows)


def make_policy_tables(found: dict[str, Any]) -> list[Table]:
    """Return what the catches of the records, rules and agents earn."""
    policies, stocks = found["policies"]["policies"], found["policies"]["by stock"].values()
    rows = []
    for name in ("record", "escapement", "rule"):
        catch, last = (_quartiles(policies[f"{name}, {measure}"]) for measure in ("catch", "last biomass"))
        low = np.mean([stock[name]["last biomass"] < LOW for stock in stocks])
        rows.append((name, catch, last, f"{low:.0%}"))
    columns = ("policy", "catch / MSY", "last biomass / B_MSY", f"stocks below {LOW:g} B_MSY")
    tables = [Table("Policies", columns, rows)]
    sides = [side for side in ("training stocks", "held-out stocks") if side in found]
    shared = [
        (side, str(found[side]["stocks"]), kind, _interval(one["median"], one["median interval"]), _quartiles(one))
        for side in sides
        for kind in ("rule", "agent", "escapement")
        for one in [found[side][f"{kind} / own rule"]]
    ]
    columns = ("side", "stocks", "policy", "median (95 % interval)", "median (quartiles)")
    return [*tables, Table("One policy for all stocks: its return relative to each stock's own rule", columns, shared)]


def make_stock_table() -> Table:
    """Return the shipped table in short."""
    rows = [
        (f"`{name}`", f"{one.first_year}–{one.last_year}", one.law, f"{one.r:.3g} ({one.se_log_r:.0%})",
         f"{one.K:,.4g} ({one.se_log_k:.0%})", f"{one.sigma:.2g}", f"{one.correlation:.2f}", f"{one.msy:,.4g}",
         "test" if one.held_out else "train")
        for name, one in read_stocks().items()
    ]  # fmt: skip
    columns = ("stock", "years", "law", "r (error)", "K, t (error)", "σ", "ρ", "MSY, t/year", "split")
    return Table("Stocks", columns, rows)


def _interval(value: float, ends: list[float]) -> str:
    return f"{value:.2f} ({ends[0]:.2f} to {ends[1]:.2f})"


def _quartiles(one: dict[str, float]) -> str:
    return f"{one['median']:.2f} ({one['lower quartile']:.2f} to {one['upper quartile']:.2f})"


def draw(found: dict[str, Any]) -> None:
    """Draw MSY relative to the published one, the skill of the hindcast, and the catches of records and rules."""
    with open_figure(PICTURES / "reality-stocks.png", 12, 4) as figure:
        left, middle, right = figure.subplots(1, 3)
        ratios = np.sort(list(found["compare"]["MSY"]["ratios"].values()))
        left.semilogx(ratios, np.arange(len(ratios)) + 1, "o", ms=4)
        left.axvspan(0.5, 2, color="C0", alpha=0.12, label="within a factor of 2")
        left.axvline(1, color="black", lw=1)
        left.set(xlabel="MSY of the fit / published", ylabel="stocks, in order", title=f"MSY of {len(ratios)} stocks")
        left.set_xticks([0.5, 1, 2, 5], ["0.5", "1", "2", "5"], minor=False)
        left.minorticks_off()
        left.legend(loc="upper left")
        leads = np.arange(1, HINDCAST_YEARS + 1)
        middle.plot(leads, found["hindcast"]["skill by lead time"], "o-", label="skill")
        middle.plot(leads, found["hindcast"]["inside by lead time"], "s--", label="inside the 90 % interval")
        middle.axhline(0, color="black", lw=1)
        middle.axhline(0.9, color="C1", lw=1, ls=":")
        middle.set(xlabel="years ahead", title=f"hindcast of {found['hindcast']['stocks']} stocks", ylim=(None, 1))
        middle.legend(loc="center right")
        stocks = found["policies"]["by stock"].values()
        record, rule = ([stock[policy]["catch"] for stock in stocks] for policy in ("record", "rule"))
        right.boxplot([record, rule], tick_labels=["catches of\nthe record", "tuned rule"])
        right.axhline(1, color="black", lw=1)
        right.set(ylabel="mean catch / MSY", ylim=(0, None), title="in the fitted dynamics")


if __name__ == "__main__":
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    put("reality-stocks.md", "fits", body(make_fit_tables(stored)))
    put("reality-stocks.md", "hindcast", body([make_hindcast_table(stored)]))
    put("reality-stocks.md", "policies", body(make_policy_tables(stored)))
    put("reality-stocks.md", "stocks", body([make_stock_table()]))
    draw(stored)
