"""The metrics of fisheries science per episode: yields, their variation, the lowest stock, and the regret."""

from __future__ import annotations

import numpy as np

from harvestgym.core.rollout import Episodes
from harvestgym.fishing.analysis.dynamic_programming import best_return, stationary_return

from .conservation import RecoveryModel
from .model import FishingModel


def summary(env: FishingModel, episodes: Episodes) -> dict[str, np.ndarray]:
    """Compute the metrics for each episode: yields, their variation, and how low the stock fell.

    For conservation problems, in which nothing is caught, only the metrics of the stock are computed.

    After an episode terminates, the years up to its horizon count as years without a catch and below the limits. AAV is
    the sum of `abs(C_t - C_t-1)` divided by the sum of `C_t`, and each "time below" is a fraction of the years.
    `regret` (for fisheries that dynamic programming can solve) is the expected discounted return of the optimum, which
    knows the stock, the law and the year, minus this episode's discounted return; `stationary regret` is relative to
    the best rule that ignores the year.
    """
    info = {name: np.asarray(value) for name, value in episodes.info.items()}
    collapsed, lived, total = np.asarray(episodes.terminated), np.asarray(episodes.length), info["total_catch"]
    years = np.where(collapsed, np.maximum(lived, int(env.params.horizon)), lived)
    lost = years - lived
    stock = {
        "collapsed": collapsed,
        "ever below 0.2 K": info["years_low"] + lost > 0,
        "time below 0.2 K": (info["years_low"] + lost) / years,
        "lowest biomass": info["lowest_biomass"],
        "discounted return": info["discounted_return"],
    }
    if isinstance(env, RecoveryModel):
        return stock
    caught = {
        "mean catch per year": total / years,
        "AAV": (info["catch_change"] + np.where(lost > 0, info["catch"], 0)) / np.maximum(total, 1e-9),
        "closed years": info["years_closed"] + lost,
    }
    if not env.params.law.shows_predator:  # the biomass of several species is that of the rarest
        caught["time below B_MSY"] = (info["years_below_bmsy"] + lost) / years
    optima = {"regret": best_return(env), "stationary regret": stationary_return(env)}
    regret = {name: best - info["discounted_return"] for name, best in optima.items() if best is not None}
    return caught | stock | regret
