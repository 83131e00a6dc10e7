"""Risk measures: the value of a sample of returns to a risk-averse decision maker.

A measure is a small callable that maps a sample to a number in the unit of the return; larger is better. In a farm
file it is written `{measure: cvar, level: 0.1}`. If all returns in a sample are equal, every measure has that value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, model_serializer

from .config import Strict, validate
from .errors import look_up, mismatch

Level = Annotated[float, Field(gt=0, le=1)]
Aversion = Annotated[float, Field(gt=0, le=1e6)]


class Measure(Strict):
    """Base class of all risk measures of a sample of returns."""

    measure: str = ""

    def __call__(self, returns: np.ndarray) -> float:
        """Return the value of the sample; raise ValueError if it is empty."""
        values = np.asarray(returns, np.float64)
        if not values.size:
            raise ValueError("expected at least one return, got none")
        return self.worth(values)

    def worth(self, values: np.ndarray) -> float:
        """Return the measure of a nonempty sample."""
        raise NotImplementedError

    def __str__(self) -> str:
        return " ".join([self.measure, *(f"{key} {value:g}" for key, value in self.numbers().items())])

    @model_serializer
    def written(self) -> dict[str, Any]:
        """Return the measure as a file entry: its name and its parameters, including default values."""
        return {"measure": self.measure, **self.numbers()}

    def numbers(self) -> dict[str, float]:
        """Return the parameters by name."""
        return {key: getattr(self, key) for key in type(self).model_fields if key != "measure"}


class Expectation(Measure):
    """The mean: no risk aversion."""

    measure: Literal["expectation"] = "expectation"  # pyright: ignore[reportIncompatibleVariableOverride]

    def worth(self, values: np.ndarray) -> float:
        return float(values.mean())


class CVaR(Measure):
    """The mean of the worst returns, a fraction `level` of the sample; the last of them may count partially.

    Conditional value at risk (Rockafellar & Uryasev 2000, Optimization of conditional value-at-risk), for gains
    instead of losses. At level 1 it is the mean.
    """

    measure: Literal["cvar"] = "cvar"  # pyright: ignore[reportIncompatibleVariableOverride]
    level: Level = 0.1

    def worth(self, values: np.ndarray) -> float:
        worst = np.sort(values)
        weights = np.clip(self.level * len(worst) - np.arange(len(worst)), 0.0, 1.0)
        return float(np.sum(weights * worst) / weights.sum())


class Quantile(Measure):
    """The `level` quantile of the returns (value at risk, for gains)."""

    measure: Literal["quantile"] = "quantile"  # pyright: ignore[reportIncompatibleVariableOverride]
    level: Level = 0.1

    def worth(self, values: np.ndarray) -> float:
        return float(np.quantile(values, self.level, method="inverted_cdf"))


class MeanVariance(Measure):
    """The mean minus half the aversion times the variance (Markowitz 1952, Portfolio selection).

    For a normally distributed return it equals the entropic measure with the same aversion.
    """

    measure: Literal["mean-variance"] = "mean-variance"  # pyright: ignore[reportIncompatibleVariableOverride]
    aversion: Aversion = 1.0

    def worth(self, values: np.ndarray) -> float:
        return float(values.mean() - self.aversion / 2 * values.var())


class Entropic(Measure):
    """The certainty equivalent of an exponential utility, -ln E exp(-aversion G) / aversion.

    Howard & Matheson (1972), Risk-sensitive Markov decision processes; Föllmer & Schied (2002), Convex measures of
    risk. It approaches the mean for an aversion near 0, and the worst return for a large aversion.
    """

    measure: Literal["entropic"] = "entropic"  # pyright: ignore[reportIncompatibleVariableOverride]
    aversion: Aversion = 1.0

    def worth(self, values: np.ndarray) -> float:
        lowest = values.min()
        return float(lowest - np.log(np.mean(np.exp(-self.aversion * (values - lowest)))) / self.aversion)


MEASURES: dict[str, type[Measure]] = {kind.model_fields["measure"].default: kind for kind in Measure.__subclasses__()}


def parse_measure(data: Any) -> Measure:
    """Return the measure for a mapping such as `{measure: cvar, level: 0.1}`; ConfigError with the nearest name."""
    if isinstance(data, Measure):
        return data
    if not isinstance(data, dict) or "measure" not in data:
        raise mismatch("", "a mapping such as {measure: cvar, level: 0.1}", repr(data))
    return validate(look_up("risk measure", data["measure"], MEASURES), data, data["measure"])


class _Schema:
    """The JSON Schema for editors, generated on request because it takes longer than reading a farm file."""

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [kind.model_json_schema() for kind in MEASURES.values()] + [{"type": "null"}]}


Risk = Annotated[Measure | None, BeforeValidator(lambda data: None if data is None else parse_measure(data)), _Schema()]
"""A type for an optional measure in a file."""
