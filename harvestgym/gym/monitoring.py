"""Monitors for Gymnasium environments: state variables are written to sinks while the environment runs.

Memory is bounded: a monitor keeps only the latest readings; `render.monitor_sinks` documents what each sink keeps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import jax
import numpy as np
from jax import Array

from harvestgym.core.env import Env
from harvestgym.core.errors import check_count, check_name, require
from harvestgym.core.pytree import Meta, iterate_metas
from harvestgym.render.monitor_readings import Reading, Sink, Watch

from .episode_log import family_of

QUANTILES = {"q10": 0.1, "q90": 0.9}
"""The quantiles reported for a batch, in addition to its mean."""


class Monitor(AbstractContextManager["Monitor"]):
    """A monitor that reads variables at each reset and step of an environment and writes them to its sinks.

    Args:
        watches: the monitored variables.
        read: returns the current arrays of the watches, with a leading axis for a batch.
        sinks: destinations of the readings.
        batch: whether the environment is a batch.
        every: number of environment steps between readings.
        name, axis: the name of the environment and the unit of a reading ("days").
    """

    def __init__(
        self,
        watches: Sequence[Watch],
        read: Callable[[], Sequence[np.ndarray]],
        sinks: Sequence[Sink],
        batch: bool = False,
        every: int = 1,
        name: str = "",
        axis: str = "steps",
    ) -> None:
        titles = [watch.label for watch in watches]
        require(len(set(titles)) == len(titles), "monitoring", "distinct titles", titles)
        self.watches, self._read, self.sinks = tuple(watches), read, tuple(sinks)
        self._make, self._every = _read_batch if batch else _read_one, check_count("every", every)
        self._closed = False
        self._step, self._episode, self._since_reset = -1, -1, 0
        with np.errstate(all="ignore"):
            self._make_readings()  # reject an invalid function before opening a sink
        with ExitStack() as opened:
            for sink in self.sinks:
                sink.open(name, axis)
                opened.callback(sink.close)
            self._opened = opened.pop_all()

    def begin(self) -> None:
        """Record the start of an episode, or of all episodes in a batch."""
        self._since_reset, self._episode = -1, self._episode + 1
        self.step()

    def step(self) -> None:
        """Record a step."""
        self._since_reset += 1
        if self._closed or self._since_reset % self._every:
            return
        self._step += 1
        readings = self._make_readings()
        for sink in self.sinks:
            sink.write(self._step, self._episode, readings)

    def close(self) -> None:
        """Close the sinks and stop reading."""
        self._closed = True
        self._opened.close()

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _make_readings(self) -> list[Reading]:
        return [self._make(watch, np.asarray(a)) for watch, a in zip(self.watches, self._read(), strict=True)]


def _read_one(watch: Watch, array: np.ndarray) -> Reading:
    shown = watch.apply(array)
    return Reading(watch, {"": float(shown)}, None) if shown.ndim == 0 else Reading(watch, {}, shown)


def _read_batch(watch: Watch, arrays: np.ndarray) -> Reading:
    """Reduce the readings of a batch: numbers to mean and quantiles, matrices to their mean, images to the first."""
    shown = np.stack([watch.apply(one) for one in arrays])
    if shown.ndim == 1:
        band = {name: float(np.quantile(shown, q)) for name, q in QUANTILES.items()}
        return Reading(watch, {"mean": float(shown.mean()), **band}, None)
    return Reading(watch, {}, shown.mean(0) if shown.ndim == 3 else shown[0])


def make_watches(env: Any, entries: Sequence[Any]) -> list[Watch]:
    """Make watches from entries: the names of a variable (these depend on the family), function, title and range."""
    find = getattr(family_of(type(env)), "find_variable", find_state_variable)
    names = [name for name in inspect.signature(find).parameters if name not in ("env", "where")]
    form = (*names, "function", "title", "range")
    watches = []
    for i, entry in enumerate(entries):
        where, fits = f"monitoring > {i}", isinstance(entry, (tuple, list)) and len(entry) == len(form)
        require(fits, where, f"({', '.join(form)})", repr(entry))
        read, meta = find(env, *entry[:-3], where=where)
        watches.append(Watch(read, meta, *entry[-3:]))
    return watches


def find_state_variable(env: Env[Any, Any], variable: str, where: str) -> tuple[Callable[[Any, Any], Array], Meta]:
    """Find a state variable of an environment by key; return a function that reads it, and its description."""
    state = jax.eval_shape(lambda: env.reset(jax.random.key(0), env.params)[0])
    known = {meta.keys[0]: (name, meta) for name, meta in iterate_metas(state)}
    check_name("variable", variable, known, where)
    name, meta = known[variable]
    return lambda state, params: getattr(state, name), meta
