"""Search for the numbers of a form: a genetic algorithm for rules and trees, CMA-ES for linear ones and networks.

A candidate runs in a few training seasons, other ones in each generation, so that no season decides. The finalists run
in many fresh seasons, and only these returns choose.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cma
import jax
import numpy as np

from harvestgym.core.episode import episode_keys
from harvestgym.evaluate.tune import Bench, Costs

from .forms import Form, make_forms
from .measure import measure_player
from .player import Player

POPULATION, PARENTS = 48, 12
"""Candidates per generation, and those of the genetic algorithm that have children."""

CROSSED, RESET = 0.5, 0.4
"""Probability that a child has two parents, and that a changed number is drawn again instead of shifted."""

FIRST, FEW = 1536, 4
"""Random candidates in the first generation of the genetic algorithm, and the seasons in which they run."""

LONG = 50
"""Generations after which the genetic algorithm starts again; by then, its candidates are nearly the same."""

DIAGONAL = 150
"""Numbers above which CMA-ES adapts only variances."""


class Effort(NamedTuple):
    """The size of a search.

    Attributes:
        seasons: training seasons per candidate and generation.
        generations: generations of `POPULATION` candidates.
        finalists: candidates that run in `fresh` other seasons.
    """

    seasons: int = 16
    generations: int = 40
    finalists: int = 12
    fresh: int = 256


class Found(NamedTuple):
    """The result of a search of a form.

    Attributes:
        numbers: the best numbers.
        mean: their mean return in fresh training seasons.
        tried: the number of candidates.
        curve: the mean return of the best candidate of each generation.
    """

    numbers: np.ndarray
    mean: float
    tried: int
    curve: list[float]


class Sum(NamedTuple):
    """The sum of a candidate's returns, and the seasons and generations in which it ran."""

    total: float
    seasons: int
    generations: int


class Archive:
    """The means of candidates over all seasons in which they ran."""

    def __init__(self) -> None:
        self._rows: dict[bytes, np.ndarray] = {}
        self._sums: dict[bytes, Sum] = {}

    def add(self, rows: np.ndarray, means: np.ndarray, seasons: int) -> None:
        """Add for each candidate its mean in a generation of so many seasons."""
        for row, mean in zip(rows, means, strict=True):
            name = row.tobytes()
            before = self._sums.get(name, Sum(0.0, 0, 0))
            total = before.total + seasons * float(mean)
            self._rows[name], self._sums[name] = row, Sum(total, before.seasons + seasons, before.generations + 1)

    def best(self, count: int, least: int = 1) -> np.ndarray:
        """Return the candidates with the best means, best first; those of fewer than `least` generations come last."""

        def rate(name: bytes) -> tuple[bool, float]:
            found = self._sums[name]
            return found.generations >= least, found.total / found.seasons

        return np.stack([self._rows[name] for name in sorted(self._sums, key=rate, reverse=True)[:count]])

    def __len__(self) -> int:
        return len(self._sums)


def search_player(
    player: Player,
    name: str,
    key: jax.Array,
    effort: Effort,
    costs: Costs,
    say: Callable[[str], None] = lambda text: None,
) -> tuple[Found, dict[str, np.ndarray]]:
    """Measure the inputs of a player, and search one of its forms; return also the arrays for `restore_policy`."""
    player, varying = measure_player(player, jax.random.fold_in(key, 1))
    found = search_form(make_forms(player, varying)[name], jax.random.fold_in(key, 2), effort, costs, say)
    scale, which = np.asarray(player.scale), np.asarray(varying, np.int32)
    return found, {"numbers": found.numbers, "scale": scale, "varying": which}


def search_form(
    form: Form, key: jax.Array, effort: Effort, costs: Costs, say: Callable[[str], None] = lambda text: None
) -> Found:
    """Search for the best numbers of a form on the environment of its player, with seasons drawn from `key`.

    Candidates that break a limit of `costs` lose return (`tune.Bench.rate`).
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))

    def run(rows: np.ndarray, number: int, seasons: int) -> np.ndarray:
        bench = Bench(form.player.env, episode_keys(jax.random.fold_in(key, number), seasons), costs)
        return np.nan_to_num(bench.rate([form.player.policy(form, row) for row in rows]), nan=-1e9)

    finalists, curve, tried = list[np.ndarray](), list[float](), 0
    starts = max(effort.generations // LONG, 1) if form.bounded else 1
    for start in range(starts):
        archive = Archive()
        proposer = GeneticAlgorithm(form, rng, archive) if form.bounded else Adaptation(form, rng)
        for generation in range(start, effort.generations, starts):
            rows = proposer.propose()
            seasons = effort.seasons if len(rows) < FIRST else FEW
            means = run(rows, 1 + generation, seasons)
            archive.add(rows, means, seasons)
            proposer.accept(means)
            curve.append(float(means.max()))
        finalists.append(proposer.choose_finalists(effort.finalists))
        say(f"start {start + 1} of {starts}")
        tried += len(archive)
    rows = np.concatenate(finalists)
    means = run(rows, 0, effort.fresh)
    best = int(np.argmax(means))
    return Found(rows[best], float(means[best]), tried, curve)


class GeneticAlgorithm:
    """A genetic algorithm on numbers between 0 and 1; the best parents run again with their children."""

    def __init__(self, form: Form, rng: np.random.Generator, archive: Archive) -> None:
        self._size, self._rng, self._archive = form.size, rng, archive

    def propose(self) -> np.ndarray:
        """Return the candidates of a generation, (candidates, numbers)."""
        rng = self._rng
        if not len(self._archive):
            return rng.random((FIRST, self._size)).astype(np.float32)
        parents = self._archive.best(PARENTS)
        pairs = parents[rng.integers(len(parents), size=(POPULATION - PARENTS // 2, 2))]
        crossed = rng.random((len(pairs), 1)) < CROSSED
        second = crossed & (rng.random((len(pairs), self._size)) < 0.5)
        children = np.where(second, pairs[:, 1], pairs[:, 0])
        rate = rng.choice([1.0, 3.0, 8.0], (len(pairs), 1)) / self._size
        shifted = np.clip(children + rng.normal(0, 0.1, children.shape), 0, 1)
        fresh = np.where(rng.random(children.shape) < RESET, rng.random(children.shape), shifted)
        changes = rng.random(children.shape) < rate
        changes[np.arange(len(changes)), rng.integers(self._size, size=len(changes))] = True
        changed = np.where(changes, fresh, children)
        return np.concatenate([changed, parents[: PARENTS // 2]]).astype(np.float32)

    def accept(self, means: np.ndarray) -> None:
        """Take note of the means of the last candidates; the archive has them already."""

    def choose_finalists(self, count: int) -> np.ndarray:
        """Return the candidates with the best means over at least two generations, (candidates, numbers)."""
        return self._archive.best(count, 2)


class Adaptation:
    """CMA-ES (Hansen 2016, https://arxiv.org/abs/1604.00772)."""

    def __init__(self, form: Form, rng: np.random.Generator) -> None:
        options = {"seed": int(rng.integers(1, 2**31)), "popsize": POPULATION, "verbose": -9}
        options |= {"CMA_diagonal": form.size > DIAGONAL}
        self._strategy = cma.CMAEvolutionStrategy(np.zeros(form.size), form.step, options)
        self._asked, self._means = list[np.ndarray](), np.zeros(0)

    def propose(self) -> np.ndarray:
        """Return the candidates of a generation, (candidates, numbers)."""
        self._asked = self._strategy.ask()
        return np.asarray(self._asked, np.float32)

    def accept(self, means: np.ndarray) -> None:
        """Take note of the means of the last candidates."""
        self._means = means
        self._strategy.tell(self._asked, list(-means))

    def choose_finalists(self, count: int) -> np.ndarray:
        """Return the first and last mean and the best of the last generation, (candidates, numbers)."""
        last = np.asarray(self._asked, np.float32)[np.argsort(-self._means)[:count]]
        mean = np.asarray(self._strategy.result.xfavorite, np.float32)
        return np.concatenate([mean[None], np.zeros_like(mean)[None], last])
