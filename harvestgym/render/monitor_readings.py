"""Monitored variables and their readings, which the monitor sends to the sinks.

`value`, `sum_value` and `mat2d_value` are the functions applied to variables in the Farm-Gym paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple, Protocol

import numpy as np
from jax import Array
from pydantic import AfterValidator

from harvestgym.core.checks import check_data
from harvestgym.core.errors import ConfigError, mismatch
from harvestgym.core.pytree import Meta


def _check_ends(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise ValueError("expected a range (low, high)")
    return ends


ShownRange = Literal["range_auto"] | Annotated[tuple[float, float], AfterValidator(_check_ends)]


class VariableArray(np.ndarray):
    """The argument of a monitoring function: the array and its entries have the attribute `value`, as in the paper."""

    def __getitem__(self, index: Any) -> Any:
        return np.asarray(super().__getitem__(index)).view(VariableArray)

    @property
    def value(self) -> Any:
        """The plain number or array."""
        return self.item() if self.ndim == 0 else np.asarray(self)


def value(x: Any) -> Any:
    """Return a variable as a plain array, or as a plain number if the farm has one plot."""
    plain = np.asarray(x)
    return plain.item() if plain.size == 1 else plain


def sum_value(x: Any) -> float:
    """Sum over all plots."""
    return float(np.sum(np.asarray(x, np.float64)))


def mat2d_value(x: Any, *sizes: Any) -> np.ndarray:
    """Arrange the plots as a map with a column for each x and a row for each y, north (y = 0) at the top.

    `sizes` may give the size of the field, in any order, as in the paper; ConfigError if it does not match the field.
    """
    plain = np.asarray(x)
    if plain.ndim != 2 or any(isinstance(size, int) and size not in plain.shape for size in sizes):
        raise mismatch("mat2d_value", f"one number for each plot, {sizes}", f"shape {plain.shape}")
    return plain.T


@dataclass(frozen=True)
class Watch:
    """A monitored variable.

    Attributes:
        read: `read(state, params)` returns the variable's array, in compiled code.
        meta: the description of the variable.
        function: maps a `VariableArray` to a number, a matrix (rows, columns) or an image (rows, columns, 3).
        title: the title given by the user.
        range: the lowest and highest values to show; "range_auto" to determine them from the readings.
    """

    read: Callable[[Any, Any], Array]
    meta: Meta
    function: Callable[[Any], Any]
    title: str
    range: ShownRange

    def __post_init__(self) -> None:
        check_data(Watch, vars(self), f"monitoring {self.title!r}")

    @property
    def ends(self) -> tuple[float, float] | None:
        """The lowest and highest values to show, if they are given."""
        return None if self.range == "range_auto" else self.range

    @property
    def label(self) -> str:
        """The title, followed by the unit if the title does not contain it."""
        unit = self.meta.unit
        return self.title if not unit or unit in self.title else f"{self.title} ({unit})"

    def apply(self, array: np.ndarray) -> np.ndarray:
        """Apply `function` to a value; raise ConfigError if the result cannot be shown."""
        result = self.function(array.view(VariableArray))
        shown = np.asarray(result, np.float64) if isinstance(result, Real) else np.asarray(result)
        shape = shown.shape
        if not (shape == () or len(shape) == 2 or shape[2:] in ((3,), (4,))) or shown.dtype.kind not in "fiub":
            got = f"got {type(result).__name__} of shape {shape}"
            what = "a number, a matrix or an image (rows, columns, 3)"
            raise ConfigError(f"monitoring {self.title!r}: expected its function to return {what}, {got}")
        return shown


class Reading(NamedTuple):
    """One variable at one step: a picture, or numbers by name (`""` for one; `mean`, `q10` and `q90` for a batch)."""

    watch: Watch
    numbers: dict[str, float]
    picture: np.ndarray | None

    @property
    def named(self) -> dict[str, float]:
        """The numbers, keyed by the variable's label, `label` or `label/name`."""
        label = self.watch.label
        return {f"{label}/{name}" if name else label: number for name, number in self.numbers.items()}


class Sink(Protocol):
    """A destination for readings; subclasses inherit methods that do nothing.

    The episode number shows which readings belong together.
    """

    def open(self, name: str, axis: str) -> None:
        """Prepare for the first reading; the arguments are the name of the environment and the unit of its steps."""

    def write(self, step: int, episode: int, readings: Sequence[Reading]) -> None:
        """Add the readings of a step; steps are counted from the first reading."""

    def close(self) -> None:
        """Close the destination; no readings follow."""
