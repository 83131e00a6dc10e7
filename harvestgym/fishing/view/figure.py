"""A matplotlib figure of one episode of a fishery: the stock, the catch, and the policy that was followed."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from harvestgym.fishing.analysis.dynamic_programming import find_optimum
from harvestgym.fishing.conservation import RecoveryModel
from harvestgym.fishing.model import FishingModel

from .levels import find_levels

STOCK, CATCH, LIMIT = "#1b4965", "#c8553d", "#8a8a8a"
STYLES = ("-", "--", ":", "-.", (0, (1, 3)))


def figure(env: FishingModel, record: dict[str, np.ndarray]) -> Any:
    """Draw stock over the years, catch over the years, and catch against the biomass it was taken from.

    If dynamic programming finds the optimum, the third panel shows its policy.
    """
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(11, 3.6), layout="constrained")
    left, middle, right = drawing.subplots(1, 3)
    _stock(left, env, record)
    _catch(middle, env, record)
    _policy(right, env, record)
    return drawing


def _stock(axes: Any, env: FishingModel, record: dict[str, np.ndarray]) -> None:
    years = np.arange(len(record["biomass"]))
    stock = record["stock"] if record["stock"].shape[1] <= 5 else record["biomass"][:, None]
    for i, line in enumerate(stock.T):
        name = f"stock {i + 1}" if stock.shape[1] > 1 else "stock"
        axes.plot(years, line, color=STOCK, alpha=1 - 0.18 * i, linestyle=STYLES[i], label=name)
    if "driver" in record:
        axes.plot(years, record["driver"], color=CATCH, label="driver a")
    low = float(env.params.b_low)
    axes.axhline(low, color=LIMIT, linestyle=":", linewidth=1)
    _label_level(axes, "0.2 K", low)
    axes.set(title="stock", xlabel="year", ylabel="biomass", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)


def _label_level(axes: Any, name: str, height: float) -> None:
    """Write the name of a horizontal line next to its right end, where no curve runs."""
    place = axes.get_yaxis_transform()
    axes.text(1.01, height, name, transform=place, va="center", color=LIMIT, fontsize=8, clip_on=False)


def _catch(axes: Any, env: FishingModel, record: dict[str, np.ndarray]) -> None:
    years = np.arange(1, len(record["biomass"]))
    if isinstance(env, RecoveryModel):
        axes.plot(years, _wanted(env, record), color=CATCH)
        axes.set(title="action", xlabel="year", ylabel="A", ylim=(0, None))
        return
    for i, line in enumerate(record["catch"][1:].T):
        axes.plot(years, line, color=CATCH, alpha=1 - 0.18 * i, linestyle=STYLES[i])
    (msy,) = find_levels(env).catch.values()
    axes.axhline(msy, color=LIMIT, linestyle=":", linewidth=1)
    _label_level(axes, "MSY", msy)
    axes.set(title="catch", xlabel="year", ylabel="biomass per year", ylim=(0, None))


def _wanted(env: FishingModel, record: dict[str, np.ndarray]) -> np.ndarray:
    """Return the actions of a conservation problem, in their own unit."""
    return np.asarray(env.units.wanted(jnp.asarray(record["action"])))[1:, 0]


def _policy(axes: Any, env: FishingModel, record: dict[str, np.ndarray]) -> None:
    axes.set_title("policy")
    if isinstance(env, RecoveryModel):
        _actions(axes, env, record)
        return
    fished = record["stock"][:-1, : env.units.targets] if env.units.targets > 1 else record["biomass"][:-1, None]
    for i, (before, catch) in enumerate(zip(fished.T, record["catch"][1:].T, strict=True)):
        name = f"stock {i + 1}" if fished.shape[1] > 1 else "this episode"
        axes.plot(before, catch, "o", color=CATCH, alpha=1 - 0.18 * i, markersize=3, label=name)
    right = 1.15 * max(fished.max(), float(env.params.b_msy))
    top = 1.15 * record["catch"].max()
    if best := find_optimum(env):
        grid, catch = np.asarray(best.grid), np.asarray(best.harvest[len(best.harvest) // 2])
        axes.plot(grid, catch, color=STOCK, label="optimum, halfway")
        top = max(top, 1.15 * catch[grid <= right].max())
    when = "harvest" if env.order == "harvest first" else "year"
    axes.set(xlabel=f"biomass before the {when}", ylabel="catch", xlim=(0, right), ylim=(0, top or None))
    axes.legend(frameon=False, fontsize=8, loc="upper left")


def _actions(axes: Any, env: FishingModel, record: dict[str, np.ndarray]) -> None:
    """Draw the actions of a conservation problem against the stock, coloured by the driver where there is one."""
    before, wanted = record["biomass"][:-1], _wanted(env, record)
    if "driver" in record:
        points = axes.scatter(before, wanted, c=record["driver"][:-1], s=10, cmap="viridis")
        axes.figure.colorbar(points, ax=axes, label="driver a")
    else:
        axes.plot(before, wanted, "o", color=CATCH, markersize=3)
    axes.set(xlabel="stock", ylabel="A", xlim=(0, None), ylim=(0, None))
