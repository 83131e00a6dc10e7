"""Risk: the policy with the highest mean return is not the policy with the highest mean over the worst tenth.

The fishery is `tipping-v0`, whose stock declines to zero once it is below half its capacity. The policies leave a
constant escapement, and the growth noise varies between cases. For the worst tenth, it is best to leave more fish as
long as this can preserve the stock, and to catch the whole stock at once if no escapement can preserve it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harvestgym.core.episode import seed_key
from harvestgym.core.risk import CVaR, Expectation, Measure
from harvestgym.core.rollout import evaluate
from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.statistics import format_mean
from harvestgym.fishing import control
from harvestgym.fishing.family import make

from .common.findings import bootstrap
from .common.report import open_figure, write_columns

SIGMAS = (0.05, 0.06, 0.08, 0.1)
"""Standard deviations of the logarithm of growth noise; the first is the registered id's."""

ESCAPEMENTS = tuple(np.linspace(0.5, 1.0, 26).round(2).tolist())
COMPARED_MEASURES: dict[str, Measure] = {"mean": Expectation(), "CVaR 10 %": CVaR(level=0.1)}

TUNING_SEED, TEST_SEED = 31, 90_001
"""Seeds: the best escapement is chosen on episodes of the first seed and evaluated on episodes of the second."""

MEASURE_RESAMPLES = 1000
"""Number of resamples for a bootstrap interval."""


class NoiseReturns(NamedTuple):
    """Returns of each escapement with one noise, (escapements, episodes), on the same episodes."""

    sigma: float
    returns: np.ndarray

    def value_by(self, measure: Measure) -> np.ndarray:
        """Return the value of each escapement by a measure, (escapements,)."""
        return np.asarray([measure(row) for row in self.returns])


def run(
    replicates: int = 4000,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    sigmas: Sequence[float] = SIGMAS,
    escapements: Sequence[float] = ESCAPEMENTS,
    seed: int = TEST_SEED,
) -> Table:
    """Tabulate the best escapements by the mean and by the worst tenth, each with its value by both measures.

    Args:
        replicates, out, progress: as in every study; progress counts values of `sigmas`.
        sigmas: standard deviations of growth noise.
        escapements: the stocks that the policies leave.
        seed: seed of the reported episodes; the escapements are tuned on other episodes.
    """
    tuned, found = [], []
    for sigma in sigmas:
        tuned.append(run_escapements(sigma, escapements, TUNING_SEED, replicates))
        found.append(run_escapements(sigma, escapements, seed, replicates))
        progress(1)
    if out is not None:
        _write_episodes(found, escapements, out / "risk.parquet")
        _draw(tuned, found, escapements, out / "risk.png")
    rows = [
        _make_row(mine, theirs, name, escapements)
        for mine, theirs in zip(tuned, found, strict=True)
        for name in COMPARED_MEASURES
    ]
    columns = ("noise", "best by", "escapement", *(f"{name} (95 %)" for name in COMPARED_MEASURES))
    return Table(f"return of {replicates} episodes of 100 years", columns, rows)


def find_best(tuned: NoiseReturns, name: str) -> int:
    """Find the position of the escapement that is best by a measure."""
    return int(np.argmax(tuned.value_by(COMPARED_MEASURES[name])))


def run_escapements(sigma: float, escapements: Sequence[float], seed: int, replicates: int) -> NoiseReturns:
    """Compute the returns of each escapement on the same episodes; the first is the episode of `reset(seed=seed)`."""
    env = make("tipping-v0", sigma=sigma, Tmax=100, final_price=0.0)
    years = int(env.params.horizon)
    policies = [control.escapement(env, left) for left in escapements]
    key = seed_key(seed)
    return NoiseReturns(sigma, np.stack([evaluate(env, policy, key, replicates, years).returns for policy in policies]))


def _make_row(tuned: NoiseReturns, found: NoiseReturns, name: str, escapements: Sequence[float]) -> tuple[str, ...]:
    at = find_best(tuned, name)
    measures = COMPARED_MEASURES.values()
    cells = [format_mean(*bootstrap(measure, found.returns[at], resamples=MEASURE_RESAMPLES)) for measure in measures]
    return f"{found.sigma:g}", name, f"{escapements[at]:.2f}", *cells


def _write_episodes(found: Sequence[NoiseReturns], escapements: Sequence[float], path: Path) -> None:
    returns = np.stack([each.returns for each in found])
    columns = {
        "sigma": np.asarray([each.sigma for each in found])[:, None, None],
        "escapement": np.asarray(escapements)[:, None],
        "episode": np.arange(returns.shape[2]),
        "return": returns,
    }
    write_columns(path, columns)


def _draw(
    tuned: Sequence[NoiseReturns], found: Sequence[NoiseReturns], escapements: Sequence[float], out: Path
) -> None:
    with open_figure(out, 3.1 * len(found) + 0.6, 5.6) as figure:
        for column, mine, theirs in zip(
            figure.subplots(2, len(found), sharey="row", squeeze=False).T, tuned, found, strict=True
        ):
            for name, measure in COMPARED_MEASURES.items():
                at, worth = find_best(mine, name), theirs.value_by(measure)
                line = column[0].plot(escapements, worth, label=name)[0]
                column[0].plot(escapements[at], worth[at], "o", color=line.get_color())
                ranked, share = np.sort(theirs.returns[at]), np.linspace(0, 1, theirs.returns.shape[1])
                column[1].plot(ranked, share, color=line.get_color(), label=f"best by {name}: {escapements[at]:.2f}")
            column[0].set(title=f"noise {theirs.sigma:g}", xlabel="escapement")
            column[1].set(xlabel="return", ylim=(-0.32, 1.05), yticks=np.linspace(0, 1, 6))
            column[1].axhline(0.1, color="#8a8a8a", ls=":", lw=0.8)
            column[1].legend(frameon=False, fontsize=8, loc="lower right")
        figure.axes[0].set_ylabel("worth of the return")
        figure.axes[len(found) - 1].legend(frameon=False, loc="upper left")
        figure.axes[len(found)].set_ylabel("share of episodes at or below")
