"""Monitoring: chosen variables of an environment, or of a batch of them, followed day by day into sinks.

What is remembered here is bounded: the last readings, and what the sinks keep, see `sinks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, unknown
from harvestgym.core.tree import Meta, metas

AUTO = "range_auto"
QUANTILES = {"q10": 0.1, "q90": 0.9}
"""The band that is told of a batch, beside the mean."""


class Seen(np.ndarray):
    """A variable as a function of one's own gets it: an array whose entries, and itself, have a `value`."""

    def __getitem__(self, at: Any) -> Any:
        return np.asarray(super().__getitem__(at)).view(Seen)

    @property
    def value(self) -> Any:
        """The plain number, or array."""
        return self.item() if self.ndim == 0 else np.asarray(self)


def value(x: Any) -> Any:
    """The variable itself: of a farm of one plot, its number."""
    plain = np.asarray(x)
    return plain.item() if plain.size == 1 else plain


def sum_value(x: Any) -> float:
    """The sum over all plots."""
    return float(np.sum(np.asarray(x, np.float64)))


def mat2d_value(x: Any, *sizes: Any) -> np.ndarray:
    """The plots as a map: a column for each x, a row for each y, the north (y = 0) on top.

    `sizes` may say the field's, in any order, as the paper does; ConfigError if they are another field's.
    """
    plain = np.asarray(x)
    if plain.ndim != 2 or any(isinstance(size, int) and size not in plain.shape for size in sizes):
        raise ConfigError(f"mat2d_value: wanted one number for each plot, {sizes}, found shape {plain.shape}")
    return plain.T


@dataclass(frozen=True)
class Watch:
    """One variable that is monitored.

    Attributes:
        look: `look(state, params)` is its array, in compiled code.
        function: from a `Seen` to a number, a matrix (rows, columns) or an image (rows, columns, 3).
        title: as given.
        meta: what the variable means.
        range: the lowest and highest value to show; None to find them.
    """

    look: Callable[[Any, Any], jax.Array]
    function: Callable[[Any], Any]
    title: str
    meta: Meta
    range: tuple[float, float] | None

    @property
    def label(self) -> str:
        """The title with the unit, if it does not say it."""
        unit = self.meta.unit
        return self.title if not unit or unit in self.title else f"{self.title} ({unit})"

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the values, where these are shown as they are."""
        return self.meta.labels if self.function is not sum_value else ()

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """What `function` makes of a value; ConfigError if it is nothing that can be shown."""
        made = self.function(array.view(Seen))
        shown = np.asarray(made, np.float64) if isinstance(made, Real) else np.asarray(made)
        if not _shape_fits(shown.shape) or shown.dtype.kind not in "fiub":
            raise ConfigError(f"monitoring {self.title!r}: wanted a number, a matrix or an image (rows, columns, 3) "
                              f"of its function, found {type(made).__name__} of shape {shown.shape}")  # fmt: skip
        return shown


def _shape_fits(shape: tuple[int, ...]) -> bool:
    return len(shape) in (0, 2) or (len(shape) == 3 and shape[-1] in (3, 4))


def watch(look: Callable[[Any, Any], jax.Array], meta: Meta, function: Any, title: Any, range: Any) -> Watch:
    """A `Watch` of what a person wrote; ConfigError for what is no function, title or range."""
    if not callable(function):
        raise ConfigError(
            f"monitoring {title!r}: wanted a function of the variable, such as sum_value, found {function!r}"
        )
    if not isinstance(title, str):
        raise ConfigError(f"monitoring: wanted a title, found {title!r}")
    if isinstance(range, str) and range == AUTO:
        return Watch(look, function, title, meta, None)
    pair = isinstance(range, (tuple, list)) and len(range) == 2 and all(isinstance(end, Real) for end in range)
    if not pair or not float(range[0]) < float(range[1]):
        raise ConfigError(f"monitoring {title!r}: wanted a range (low, high) or {AUTO!r}, found {range!r}")
    return Watch(look, function, title, meta, (float(range[0]), float(range[1])))


def of_state(env: Env[Any, Any], entries: Sequence[Any]) -> list[Watch]:
    """The watches of `(variable, function, title, range)` each, the variables by their keys in the state of `env`."""
    state = jax.eval_shape(lambda: env.reset(jax.random.key(0), env.params)[0])
    known = {meta.keys[0]: (name, meta) for name, meta in metas(state)}
    out = []
    for entry in entries:
        if not isinstance(entry, (tuple, list)) or len(entry) != 4:
            raise ConfigError(f"monitoring: wanted (variable, function, title, range), found {entry!r}")
        if entry[0] not in known:
            raise unknown("variable", entry[0], known, "monitoring")
        name, meta = known[entry[0]]
        out.append(watch(lambda state, params, name=name: getattr(state, name), meta, *entry[1:]))
    return out


class Reading(NamedTuple):
    """What was seen of one variable: a picture, or numbers by name, `""` alone or `mean`, `q10`, `q90` of a batch."""

    watch: Watch
    numbers: dict[str, float]
    picture: np.ndarray | None


class Sink(Protocol):
    """Where readings go."""

    def open(self, name: str, axis: str) -> None:
        """Before the first reading: what the environment is called, and what its steps are."""

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """The readings of a step, counted from the first one on."""

    def pause(self) -> None:
        """An episode is over."""

    def close(self) -> None:
        """There will be no more."""


class Monitor:
    """Follows variables of an environment: told of each reset and step, it reads them and tells its sinks.

    Args:
        watches: what is monitored.
        read: the arrays of the watches now; with a leading axis for a batch.
        sinks: where readings go.
        batch: whether there are many environments.
        every: steps of the environment from one reading to the next.
        name, axis: what the environment is called, and what a reading is of («days»).
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
            raise ConfigError(f"monitoring: wanted titles that differ, found {titles}")
        self.watches, self._read, self.sinks = tuple(watches), read, tuple(sinks)
        self._batch, self._every = batch, every
        self.readings: list[Reading] = []
        self._closed = False
        self._step, self._episode, self._since = -1, -1, 0
        with np.errstate(all="ignore"):
            self._look()
        for sink in self.sinks:
            sink.open(name, axis)

    def begin(self) -> None:
        """An episode, or those of a batch, begin."""
        if self._closed:
            return
        self._since, self._episode = 0, self._episode + 1
        self._tell()

    def step(self, over: bool) -> None:
        """A step was taken; `over` if it ended the episode."""
        if self._closed:
            return
        self._since += 1
        if self._since % self._every == 0:
            self._tell()
        if over:
            for sink in self.sinks:
                sink.pause()

    def close(self) -> None:
        """Write what is still to be written; from now on nothing is read any more."""
        if not self._closed:
            self._closed = True
            for sink in self.sinks:
                sink.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _tell(self) -> None:
        self._step += 1
        self.readings = self._look()
        for sink in self.sinks:
            sink.write(self._step, self._episode, self.readings)

    def _look(self) -> list[Reading]:
        arrays = self._read()
        return [_reading(watch, np.asarray(a), self._batch) for watch, a in zip(self.watches, arrays, strict=True)]


def _reading(watch: Watch, array: np.ndarray, batch: bool) -> Reading:
    """Of a batch: of numbers the mean and a band, of matrices the mean, of images the first."""
    if not batch:
        shown = watch(array)
        return Reading(watch, {"": float(shown)}, None) if shown.ndim == 0 else Reading(watch, {}, shown)
    each = np.stack([watch(one) for one in array])
    if each.ndim == 1:
        band = {name: float(np.quantile(each, q)) for name, q in QUANTILES.items()}
        return Reading(watch, {"mean": float(each.mean()), **band}, None)
    return Reading(watch, {}, each.mean(0) if each.ndim == 3 else each[0])


def sink_of(given: Any) -> Sink:
    """A sink, or that of a file: a table `*.csv` or `*.parquet`, a picture `*.png`; of None a window."""
    from . import sinks

    if given is None:
        return sinks.Plot()
    if not isinstance(given, (str, Path)):
        return given
    path = Path(given)
    known = {".csv": sinks.Table, ".parquet": sinks.Table, ".png": sinks.Plot}
    if path.suffix not in known:
        raise unknown("kind of file", path.suffix or str(path), known, "monitoring")
    return known[path.suffix](path)
