"""A figure of one fishery episode: the charts of the scene, and the policy that was followed."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np

from harvestgym.core.view.scene import Chart, Line
from harvestgym.core.view.timeline import Record
from harvestgym.fishing.analysis.dynamic_programming import find_optimum
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel
from harvestgym.render.figure import draw_figure

from .levels import find_requests
from .scene import BEST, STOCK_COLOURS, chart_years
from .stock_maps import name_stocks


def figure(env: FishingModel, record: Record) -> Any:
    """Draw an episode as a Matplotlib page: the charts of the scene, and the actions plotted against the stock.

    If dynamic programming finds the optimum, the last chart also shows its policy.
    """
    return draw_figure([*chart_years(env, record), _draw_policy(env, record)], "year")


def _draw_policy(env: FishingModel, record: Record) -> Chart:
    if isinstance(env, RecoveryModel):
        done = Line("", find_requests(env, record)[1:, 0], "", style="dots", x=record["biomass"][:-1])
        return Chart("Policy (later years are lighter)", "A", 0, (done,), {}, across="stock")
    fished = record["stock"][:-1, : env.units.targets] if env.units.targets > 1 else record["biomass"][:-1, None]
    names = name_stocks(env) if fished.shape[1] > 1 else ("this episode",)
    columns = zip(names, record["catch"][1:].T, cycle(STOCK_COLOURS), fished.T, strict=False)
    lines = [Line(name, catch, colour, style="dots", x=before) for name, catch, colour, before in columns]
    right, top = 1.15 * max(fished.max(), float(env.params.b_msy)), 1.15 * record["catch"].max()
    if best := find_optimum(env):
        grid, catch = np.asarray(best.grid), np.asarray(best.harvest[len(best.harvest) // 2])
        lines.append(Line("optimum, halfway", catch[grid <= right], BEST, x=grid[grid <= right]))
        top = max(top, 1.15 * catch[grid <= right].max())
    when = "harvest" if env.order == "harvest first" else "year"
    return Chart("Policy", "catch", 0, tuple(lines), {}, (0.0, float(top) or 1.0), across=f"biomass before the {when}")
