"""Monitoring: chosen variables of an environment, or of a batch, followed step by step into sinks.

Memory is bounded: the monitor keeps only the last readings; `sinks` states what each sink keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, unknown
from harvestgym.core.tree import iterate_metas

from .readings import Reading, Sink, Watch, make_watch
from .sinks import PlotSink, TableSink

QUANTILES = {"q10": 0.1, "q90": 0.9}
"""The quantiles of a batch, reported with its mean."""


class Monitor:
    """Reads variables at each reset and step of an environment, and writes them to its sinks.

    Args:
        watches: the monitored variables.
        read: returns the arrays of the watches now; with a leading axis for a batch.
        sinks: destinations of the readings.
        batch: whether there are many environments.
        every: environment steps between readings.
        name, axis: name of the environment, and the unit of a reading ("days").
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
        if len(set(titles)) < len(titles):
            raise ConfigError(f"monitoring: expected different titles, got {titles}")
        self.watches, self._read, self.sinks = tuple(watches), read, tuple(sinks)
        self._batch, self._every = batch, every
        self.readings: list[Reading] = []
        self._closed = False
        self._step, self._episode, self._since_reset = -1, -1, 0
        with np.errstate(all="ignore"):
            self._make_readings()  # an invalid function is refused before a sink is opened
        for sink in self.sinks:
            sink.open(name, axis)

    def begin(self) -> None:
        """Record the start of an episode, or of the episodes of a batch."""
        if self._closed:
            return
        self._since_reset, self._episode = 0, self._episode + 1
        self._write()

    def step(self, over: bool) -> None:
        """Record a step; `over` if it ended the episode."""
        if self._closed:
            return
        self._since_reset += 1
        if self._since_reset % self._every == 0:
            self._write()
        if over:
            for sink in self.sinks:
                sink.pause()

    def close(self) -> None:
        """Close the sinks; nothing is read afterwards."""
        if not self._closed:
            self._closed = True
            for sink in self.sinks:
                sink.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _write(self) -> None:
        self._step += 1
        self.readings = self._make_readings()
        for sink in self.sinks:
            sink.write(self._step, self._episode, self.readings)

    def _make_readings(self) -> list[Reading]:
        make = _read_batch if self._batch else _read_one
        return [make(watch, np.asarray(a)) for watch, a in zip(self.watches, self._read(), strict=True)]


def _read_one(watch: Watch, array: np.ndarray) -> Reading:
    shown = watch.apply(array)
    return Reading(watch, {"": float(shown)}, None) if shown.ndim == 0 else Reading(watch, {}, shown)


def _read_batch(watch: Watch, arrays: np.ndarray) -> Reading:
    """Reduce a batch: numbers to their mean and quantiles, matrices to their mean, images to the first."""
    shown = np.stack([watch.apply(one) for one in arrays])
    if shown.ndim == 1:
        band = {name: float(np.quantile(shown, q)) for name, q in QUANTILES.items()}
        return Reading(watch, {"mean": float(shown.mean()), **band}, None)
    return Reading(watch, {}, shown.mean(0) if shown.ndim == 3 else shown[0])


def watch_state(env: Env[Any, Any], entries: Sequence[Any]) -> list[Watch]:
    """Make watches of `(variable, function, title, range)` each, with the variable's key in the state of `env`."""
    state = jax.eval_shape(lambda: env.reset(jax.random.key(0), env.params)[0])
    known = {meta.keys[0]: (name, meta) for name, meta in iterate_metas(state)}
    watches = []
    for entry in entries:
        if not isinstance(entry, (tuple, list)) or len(entry) != 4:
            raise ConfigError(f"monitoring: expected (variable, function, title, range), got {entry!r}")
        if entry[0] not in known:
            raise unknown("variable", entry[0], known, "monitoring")
        name, meta = known[entry[0]]
        watches.append(make_watch(lambda state, params, name=name: getattr(state, name), meta, *entry[1:]))
    return watches


def make_sink(given: Any) -> Sink:
    """Return a sink as it is; make one of a file (table `*.csv`, `*.parquet`; picture `*.png`), or a window of None."""
    if given is None:
        return PlotSink()
    if not isinstance(given, (str, Path)):
        return given
    path = Path(given)
    known = {".csv": TableSink, ".parquet": TableSink, ".png": PlotSink}
    if path.suffix not in known:
        raise unknown("kind of file", path.suffix or str(path), known, "monitoring")
    return known[path.suffix](path)
