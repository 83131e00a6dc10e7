"""The exponential general linear response of eq. (1), with which every condition on the farm is computed.

A response is a dataclass of windows, one per driver: `exp(-(intercept + sum sensitivity * distance))`, where a driver
is an input variable, such as the temperature, and the distance is how far it is outside its favourable window. Drivers,
dataclass fields and YAML keys have the same names. Each term is available separately, so that the causes of deaths and
slow growth can be reported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial, reduce
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.errors import mismatch
from harvestgym.core.pytree import Pytree, par

_end = partial(par, low=-1e6, high=1e6, endless=True)
"""An end of an interval, in the unit of the driver; infinite if the interval has no bound there."""


class Window(Pytree):
    """A favourable interval `[low, high]` of a driver, and the exponent per unit of distance from it."""

    low: Array = _end("low", "lower bound of the favourable interval, in the driver's unit")
    high: Array = _end("high", "upper bound of the favourable interval, in the driver's unit")
    sensitivity: Array = par("sensitivity", "exponent per unit of distance outside the interval", low=0.0, high=1e6)

    def check(self) -> Iterator[str]:
        """Check that the lower bound is not above the upper bound; an open interval has a bound of -inf or inf."""
        low, high = np.max(self.low), np.min(self.high)
        if np.any(np.asarray(self.low) > np.asarray(self.high)):
            yield f"low: expected at most high ({high:g}), got {low:g}"
        elif low == np.inf:
            yield f"low: expected a number, or -.inf for no bound, got {low:g}"
        elif high == -np.inf:
            yield f"high: expected a number, or .inf for no bound, got {high:g}"


class Response(Pytree):
    """Base class of all responses: it has an intercept, and subclasses add one `Window` field per driver."""

    intercept: Array = par("intercept", "exponent if all is favourable (beta_0)", low=-10, high=1e6, default=0.0)


def distance(value: Any, low: Any, high: Any) -> Array:
    """Compute d(y, [low, high]): how far `value` is outside the interval, whose ends may be infinite."""
    return jnp.maximum(jnp.maximum(low - value, value - high), 0.0)


def power(base: Array, exponent: float) -> Array:
    """Compute `base ** exponent` for positive bases and 0 otherwise, with a finite gradient everywhere."""
    positive = base > 0
    return jnp.where(positive, jnp.where(positive, base, 1.0) ** exponent, 0.0)


def driver_names(response: type[Response]) -> tuple[str, ...]:
    """Return the drivers of a response: the names of its windows, in order."""
    return tuple(field.name for field in dataclasses.fields(response) if field.name != "intercept")


def exponents(response: Response, drivers: Mapping[str, Any]) -> dict[str, Array]:
    """Return the term of each driver in the exponent, by name; raise ConfigError for a window without a driver."""
    names = driver_names(type(response))
    if missing := [name for name in names if name not in drivers]:
        got = f"{', '.join(drivers)}; try a soil whose Ground has factors={{{missing[0]!r}: ...}}"
        raise mismatch(type(response).__name__, f"a driver for the window {missing[0]!r}", got)
    windows = {name: getattr(response, name) for name in names}
    return {n: w.sensitivity * distance(drivers[n], w.low, w.high) for n, w in windows.items()}


def expglm(response: Response, strain: Array | float = 0.0, /, **drivers: Any) -> Array:
    """Compute E(beta, y, Y) of eq. (1), in [0, 1] if the intercept is non-negative; other kinds add the term `strain`.

    Drivers without a window have no effect.
    """
    own = response.intercept + strain
    return jnp.exp(-(own + reduce(jnp.add, exponents(response, drivers).values())))
