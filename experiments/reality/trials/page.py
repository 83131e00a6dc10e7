"""Put the results of the trials into docs/reality-trials.md: tables and pictures.

python -m experiments.reality.trials.page experiments/results/reality-trials.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies.common.report import open_figure
from harvestgym.core.view.tables import Table
from tools.docs_blocks import PICTURES, body, put

PAGE = "reality-trials.md"
Results = Mapping[str, Any]


def tabulate_water(found: Results) -> Table:
    """Tabulate the errors of the soil water."""
    columns = ("prediction", "days", "RMSE, mm", "nRMSE, %", "bias, mm", "d", "r")
    rows = [
        (name, str(e["n"]), *(f"{e[key]:.1f}" for key in ("rmse", "nrmse_percent")), f"{e['bias']:+.1f}",
         f"{e['d']:.2f}", "" if e["r"] is None else f"{e['r']:.2f}")
        for name, e in found["errors"].items()
    ]  # fmt: skip
    return Table("water in the root zone, LIRF 2023", columns, rows)


def tabulate_nutrients(hernandez: Results, heady: Results) -> Table:
    """Tabulate the responses to nutrients; the nitrogen of the second trial is converted to kg per ha."""
    rows = []
    for site, each in hernandez["sites"].items():
        rows.append((f"Minnesota, {site}", *_format_response(each, "nitrogen_at_95_percent", 1.0)))
    for year, each in heady["years"].items():
        rows.append((f"Iowa, {year}", *_format_response(each, "N_at_95_percent", 1.1209)))
    columns = ("trial", "treatments", "ρ (95 % interval)", "RMSE of relative yield", "N at 95 %: model", "measured")
    return Table("corn over nitrogen, kg/ha, and (Iowa) phosphorus", columns, rows)


def _format_response(each: Results, key: str, factor: float) -> tuple[str, ...]:
    low, high = each["rho_interval"]
    supplies = (f"{factor * each[f'{name}_{key}']:.0f}" for name in ("predicted", "measured"))
    rho = f"{each['rho']:.2f} ({low:.2f} to {high:.2f})"
    return (str(len(each["measured"])), rho, f"{each['rmse_of_relative_yield']:.2f}", *supplies)


def tabulate_weather(thompson: Results) -> Table:
    """Tabulate the responses to July's weather."""
    names = {"measured": "measured", "here": "this model", "wofost": "WOFOST 7.2"}
    rows = [
        (f"corn, five states: {names[name]}", *(_format_interval(each[d]["percent"], each[d]["interval"], 1)
                                               for d in ("rain7", "temp7")))
        for name, each in sorted(thompson["responses"].items(), key=lambda item: list(names).index(item[0]))
    ]  # fmt: skip
    columns = ("trial", "10 mm of July rain, % of yield", "1 °C in July, % of yield")
    return Table("responses of corn to July's weather", columns, rows)


def tabulate_tomato(tomato: Results) -> Table:
    """Tabulate the ranks of the environments."""
    rows = [(part, str(each["n"]), _format_interval(each["rho"], each["interval"], 2))
            for part, each in tomato["ranks"].items()]  # fmt: skip
    return Table("tomato: ranks of the environments", ("environments", "number", "ρ (95 % interval)"), rows)


def _format_interval(value: float, ends: list[float], digits: int) -> str:
    low, high = (f"{end:+.{digits}f}" for end in ends)
    return f"{value:+.{digits}f} ({low} to {high})"


def draw_water(found: Results, path: Path) -> None:
    """Draw the water in the root zone over the season, with the irrigation."""
    days = np.array(found["days"])
    with open_figure(path, 8.5, 4.0) as figure:
        axes = figure.subplots()
        for key, label in (("blind", "blind"), ("calibrated", "calibrated"), ("wofost", "WOFOST, blind")):
            water = found[f"{key}_mm"]
            axes.plot(
                found["sown"] + np.arange(len(water)), water, label=label, lw=1.4, ls="--" if key == "wofost" else "-"
            )
        axes.plot(days, found["measured_mm"], "ko", ms=4, label="measured")
        for key in ("capacity_mm", "wilting_mm"):
            axes.axhline(found[key], color="0.6", lw=0.8, ls=":")
            name = {"capacity_mm": "field capacity", "wilting_mm": "wilting point"}[key]
            axes.text(305, found[key] + 1, name, fontsize=8, color="0.4", ha="right")
        at, mm = zip(*((int(day), amount) for day, amount in found["irrigation_mm"].items()), strict=True)
        axes.bar(at, mm, bottom=60, width=1.2, color="C0", alpha=0.4, label="irrigation, mm above 60")
        split = (days[found["first_half"] - 1] + days[found["first_half"]]) / 2
        axes.axvline(split, color="0.4", lw=0.8)
        axes.text(split - 1, 104, "calibrated ", ha="right", fontsize=8, color="0.4")
        axes.text(split + 1, 104, " scored", fontsize=8, color="0.4")
        axes.set(xlabel="day of 2023", ylabel="water in 105 cm of soil, mm", ylim=(60, 212))
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=9)


def draw_yields(results: Results, path: Path) -> None:
    """Draw the four trials with yields."""
    with open_figure(path, 8.5, 7.0) as figure:
        panels = figure.subplots(2, 2)
        _draw_nitrogen(panels[0, 0], results["hernandez"])
        _draw_pairs(panels[0, 1], results["heady"])
        _draw_slopes(panels[1, 0], results["thompson"])
        _draw_tomato(panels[1, 1], results["tomato"])
        for axes in panels.flat:
            axes.spines[["top", "right"]].set_visible(False)


def _draw_nitrogen(axes: Any, found: Results) -> None:
    for i, (site, each) in enumerate(found["sites"].items()):
        supply, measured, here = (np.array(each[key]) for key in ("nitrogen_kg_ha", "measured", "predicted_kg_m2"))
        axes.plot(supply, here / here.max(), color="0.5", label=None if i else "model, all sites")
        axes.plot(supply, measured / measured.max(), "o", ms=4, color=f"C{i}", label=f"{site}, measured")
    axes.set(title="corn over nitrogen, Minnesota", xlabel="nitrogen, kg/ha", ylabel="yield / largest", ylim=(0, 1.05))
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def _draw_pairs(axes: Any, found: Results) -> None:
    for year, each in found["years"].items():
        here, there = (np.array(each[key]) for key in ("predicted_kg_m2", "measured"))
        axes.plot(there / there.max(), here / here.max(), "o", ms=4, alpha=0.7, label=f"{year}, ρ = {each['rho']:.2f}")
    axes.plot([0, 1], [0, 1], color="0.6", lw=0.8)
    axes.set(title="corn over N and P, Iowa", xlabel="measured / largest", ylabel="model / largest")
    axes.set(xlim=(0, 1.05), ylim=(0, 1.05))
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def _draw_slopes(axes: Any, found: Results) -> None:
    kinds = {"measured": ("measured", "k"), "here": ("model", "C0"), "wofost": ("WOFOST", "C2")}
    for i, driver in enumerate(("rain7", "temp7")):
        for j, (key, (label, colour)) in enumerate(kinds.items()):
            each = found["responses"][key][driver]
            ends = np.abs(np.array(each["interval"]) - each["percent"])[:, None]
            axes.errorbar(
                i + 0.2 * (j - 1), each["percent"], ends, fmt="o", color=colour, ms=5, label=None if i else label
            )
    axes.axhline(0, color="0.6", lw=0.8)
    axes.set_xticks([0, 1], ["10 mm of July rain", "1 °C in July"])
    axes.set(title="corn in five states, 1930 to 1962", ylabel="% of the mean yield", xlim=(-0.5, 1.5))
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def _draw_tomato(axes: Any, found: Results) -> None:
    here, there, wet = (np.array(found[key]) for key in ("predicted_kg_m2", "measured_t_ha", "irrigated"))
    for chosen, label, style in ((wet, "irrigated", "o"), (~wet, "rain-fed", "^")):
        axes.plot(there[chosen], 10 * here[chosen], style, ms=5, label=label)
    for name, x, y in zip(found["environments"], there, 10 * here, strict=True):
        if x > 50 or y < 40:
            offset = (-7, 7) if name == "E41" else (-7, -14)
            axes.annotate(name, (x, y), xytext=offset, textcoords="offset points", fontsize=8)
    axes.set(title="tomato, 18 environments", xlabel="measured, t/ha (marketable)", ylabel="model, t/ha")
    axes.set(xlim=(0, 95), ylim=(0, 62))
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def main() -> None:
    """Write the tables and pictures of the file of results that the command line names."""
    say = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    say.add_argument("results", type=Path, help="file of results (JSON)")
    results = json.loads(say.parse_args().results.read_text(encoding="utf-8"))
    put(PAGE, "water", body([tabulate_water(results["water"])]))
    put(PAGE, "yields", body([
        tabulate_nutrients(results["hernandez"], results["heady"]), tabulate_weather(results["thompson"]),
        tabulate_tomato(results["tomato"]),
    ]))  # fmt: skip
    draw_water(results["water"], PICTURES / "trials-water.png")
    draw_yields(results, PICTURES / "trials-yields.png")


if __name__ == "__main__":
    main()
