"""Risk: the policy that earns most on average is not the one whose bad years are least bad.

The fishery is `tipping-v0`, whose stock declines to nothing once it is below half its capacity; the policies leave a
constant escapement, the noise of growth varies. Who minds the worst tenth leaves more to the sea as long as that can
keep the stock, and takes all that is there at once where no escapement can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from harvestgym.core.risk import CVaR, Expectation, Measure
from harvestgym.core.rollout import evaluate
from harvestgym.core.tables import Table
from harvestgym.fishing import control
from harvestgym.fishing.family import make

SIGMAS = (0.05, 0.06, 0.08, 0.1)
"""Standard deviations of the logarithm of growth noise; the first is that of the registered id."""

ESCAPEMENTS = tuple(np.linspace(0.5, 1.0, 26).round(2).tolist())
MEASURES: dict[str, Measure] = {"mean": Expectation(), "CVaR 10 %": CVaR(level=0.1)}

TUNING, REPORTED = 31, 90_001
"""Seeds: the best escapement is found on episodes of the first, its worth is of the second."""

PROBES = 1000
"""Resamples of a bootstrap interval."""


class Found(NamedTuple):
    """Returns of each escapement under a noise; (escapements, episodes), the same episodes for each."""

    sigma: float
    returns: np.ndarray

    def worth(self, measure: Measure) -> np.ndarray:
        """What each escapement is worth by a measure; (escapements,)."""
        return np.asarray([measure(row) for row in self.returns])


def run(
    replicates: int = 4000,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda done: None,
    sigmas: Sequence[float] = SIGMAS,
    escapements: Sequence[float] = ESCAPEMENTS,
) -> Table:
    """The best escapement by the mean and by the worst tenth, each with what it is worth by both.

    Args:
        replicates: episodes of each policy, and as many others to find the best.
        out: a folder for `risk.parquet` (a row per episode; needs the extra `data`) and `risk.png`.
        progress: told 1 for each noise that is done.
        sigmas: standard deviations of growth noise.
        escapements: what the policies leave.
    """
    tuned, found = [], []
    for sigma in sigmas:
        tuned.append(_found(sigma, escapements, TUNING, replicates))
        found.append(_found(sigma, escapements, REPORTED, replicates))
        progress(1)
    if out is not None:
        _write(tuned, found, escapements, out)
    rows = [
        _row(mine, theirs, name, escapements) for mine, theirs in zip(tuned, found, strict=True) for name in MEASURES
    ]
    columns = ("noise", "best by", "escapement", *(f"{name} (95 %)" for name in MEASURES))
    return Table(f"return of {replicates} episodes of 100 years", columns, rows)


def best(tuned: Found, name: str) -> int:
    """The position of the escapement that is worth most by a measure."""
    return int(np.argmax(tuned.worth(MEASURES[name])))


def interval(measure: Measure, returns: np.ndarray) -> tuple[float, float]:
    """The 95 % bootstrap interval of a measure."""
    rng = np.random.default_rng(0)
    probes = [measure(returns[rng.integers(0, len(returns), len(returns))]) for _ in range(PROBES)]
    low, high = np.quantile(probes, (0.025, 0.975))
    return float(low), float(high)


def _found(sigma: float, escapements: Sequence[float], seed: int, replicates: int) -> Found:
    env = make("tipping-v0", sigma=sigma)
    years = int(env.params.horizon)
    key = jax.random.key(seed)
    policies = [control.escapement(env, left) for left in escapements]
    return Found(sigma, np.stack([evaluate(env, policy, key, replicates, years).returns for policy in policies]))


def _row(tuned: Found, found: Found, name: str, escapements: Sequence[float]) -> tuple[str, ...]:
    at = best(tuned, name)
    cells = []
    for measure in MEASURES.values():
        low, high = interval(measure, found.returns[at])
        cells.append(f"{measure(found.returns[at]):.3f} ({low:.3f} to {high:.3f})")
    return f"{found.sigma:g}", name, f"{escapements[at]:.2f}", *cells


def _write(tuned: Sequence[Found], found: Sequence[Found], escapements: Sequence[float], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    _write_episodes(found, escapements, out / "risk.parquet")
    _draw(tuned, found, escapements, out / "risk.png")


def _write_episodes(found: Sequence[Found], escapements: Sequence[float], path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    returns = np.stack([each.returns for each in found])
    noise, left, episode = np.indices(returns.shape)
    columns = {
        "sigma": np.asarray([each.sigma for each in found])[noise.ravel()],
        "escapement": np.asarray(escapements)[left.ravel()],
        "episode": episode.ravel(),
        "return": returns.ravel(),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def _draw(tuned: Sequence[Found], found: Sequence[Found], escapements: Sequence[float], out: Path) -> None:
    from matplotlib.figure import Figure

    page = Figure(figsize=(3.1 * len(found) + 0.6, 5.6), layout="constrained")
    for column, mine, theirs in zip(
        page.subplots(2, len(found), sharey="row", squeeze=False).T, tuned, found, strict=True
    ):
        for name, measure in MEASURES.items():
            at, worth = best(mine, name), theirs.worth(measure)
            line = column[0].plot(escapements, worth, label=name)[0]
            column[0].plot(escapements[at], worth[at], "o", color=line.get_color())
            ranked, share = np.sort(theirs.returns[at]), np.linspace(0, 1, theirs.returns.shape[1])
            column[1].plot(ranked, share, color=line.get_color(), label=f"best by {name}: {escapements[at]:.2f}")
        column[0].set(title=f"noise {theirs.sigma:g}", xlabel="escapement")
        column[1].set(xlabel="return", ylim=(-0.32, 1.05), yticks=np.linspace(0, 1, 6))
        column[1].axhline(0.1, color="#8a8a8a", ls=":", lw=0.8)
        column[1].legend(frameon=False, fontsize=8, loc="lower right")
    page.axes[0].set_ylabel("worth of the return")
    page.axes[len(found) - 1].legend(frameon=False, loc="upper left")
    page.axes[len(found)].set_ylabel("share of episodes at or below")
    page.savefig(out, dpi=110)
