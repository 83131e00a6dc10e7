"""Fit of a stock's growth to a yearly table of its biomass and catch, by maximum likelihood.

The model is x(t+1) = f(x(t) - c(t)) exp(e(t)), as in a fishery: growth acts on the stock that the catch leaves. f is a
law of `growth.py`; e is a stationary AR(1) process, so that f is the median. Biomass and catch are treated as exact.

The equations are repeated here in float64 NumPy, as growth factors f(s)/s, so that many candidates are evaluated as one
array, without compilation. Candidates are points (..., parameters) of the transformed parameters in `BOUNDS`, with
biomass in units of its largest value; sigma is computed from the other parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from harvestgym.core.errors import ConfigError, check_name, mismatch, require

from .analysis.reference_points import ReferencePoint, find_reference_point
from .growth import GrowthLaw
from .spec import GROWTH_LAWS

MIN_YEARS = 20
"""Minimum number of consecutive years with biomass and catch."""

MAX_CATCH = 0.9
"""Catch, as a share of the biomass, from which the two are assumed to describe different parts of a stock."""

MIN_GAIN = 2.0
"""Minimum difference between the AICc of a random walk and the AICc of the best law."""

MAX_ERROR = 1.0
"""Largest accepted standard error of log r and log K."""

BOUNDS = {"correlation": (-0.95, 0.95), "r": (0.01, 3.0), "K": (0.25, 10.0), "theta": (0.2, 5.0)}
"""Ranges of the parameters, K in units of the largest biomass; the correlation is fitted as atanh, the rest as log."""

FIRST_VALUES = {
    "correlation": (0.0, 0.7),
    "r": (0.03, 0.1, 0.25, 0.5, 1.0, 2.0),
    "K": (0.4, 0.8, 1.2, 2.0, 5.0),
    "theta": (0.4, 1.0, 2.5),
}
"""Starting values. All combinations are evaluated; for each K, a search starts from the best combination."""

RANDOM_WALK = "random-walk"
"""The name of the model without growth, f(s) = s."""

STOCK_GROWTH: dict[str, tuple[int, Callable[..., Any]]] = {
    "logistic": (3, lambda s, r, K: 1 + r * (1 - s / K)),
    "fox": (3, lambda s, r, K: 1 - r * np.log(s / K)),
    "pella-tomlinson": (4, lambda s, r, K, theta: 1 + r * (1 - (s / K) ** theta) / theta),
    RANDOM_WALK: (1, np.ones_like),
}
"""For each model, the number of parameters, in the order of `BOUNDS`, and the growth factor f(s)/s."""

LEAST = 1e-9
"""Lower limit of the growth factor, because a law under which a stock dies out cannot explain a biomass above 0."""

STEP = 1e-5
"""Step of a parameter in the finite differences for gradients."""

WIDE_STEP = 3e-4
"""Step of a parameter in the finite differences for second derivatives."""

REFERENCE_STEP = 0.01
"""Step of a parameter's logarithm in the finite differences for reference points, which are float32."""

ON_BOUND = 1e-3
"""Distance from a bound, in transformed parameters, up to which an optimum counts as lying on it."""


class RefusedStockError(ConfigError):
    """A table from which no stock can be fitted.

    Attributes:
        rule: the number of the rule that rejects it, in docs/calibration.md.
    """

    def __init__(self, rule: int, expected: str, got: object) -> None:
        super().__init__(f"stock: rule {rule}: expected {expected}, got {got}")
        self.rule = rule


class StockFit(NamedTuple):
    """A fitted stock.

    Attributes:
        law: the name of its law in files: `logistic` (Schaefer), `fox` or `pella-tomlinson`.
        values: r, K (in the unit of biomass), theta (only of `pella-tomlinson`), sigma, correlation.
        standard_errors: of log r, log K, log theta, log sigma and atanh correlation, by the names of `values`.
        covariance: of the estimates of log r, log K and log theta, (parameters of the law, parameters of the law).
        aicc: the AICc of the random walk and of each law whose optimum is not on a bound, by name.
        years, biomass, catch: the run of years that was used, (n,).
        median: the biomass that the law expects from the year before, without the correlation of errors, (n - 1,).
        errors: log(biomass) - log(median), (n - 1,).
        residuals: the part of each error that last year's error does not explain, (n - 1,).
        r_squared: the share of the variance of log(biomass / (last year's biomass - catch)) that the law explains.
        msy: the MSY of each law whose optimum is not on a bound, by name.
    """

    law: str
    values: dict[str, float]
    standard_errors: dict[str, float]
    covariance: np.ndarray
    aicc: dict[str, float]
    years: np.ndarray
    biomass: np.ndarray
    catch: np.ndarray
    median: np.ndarray
    errors: np.ndarray
    residuals: np.ndarray
    r_squared: float
    msy: dict[str, float]

    @property
    def growth_law(self) -> GrowthLaw:
        """Return the fitted law."""
        return self._shift_law(np.zeros(len(self.covariance)))

    def _shift_law(self, shift: np.ndarray) -> GrowthLaw:
        """Return the law with `shift` added to the logarithms of its parameters."""
        moved = {name: self.values[name] * np.exp(by) for name, by in zip([*BOUNDS][1:], shift, strict=False)}
        return GROWTH_LAWS[self.law](**moved)

    @property
    def reference_point(self) -> ReferencePoint:
        """Return MSY (`catch`), B_MSY (`stock`, before the catch) and U_MSY (`rate`) of the law without noise."""
        return find_reference_point(self.growth_law)

    def reference_interval(self, z: float = 1.96) -> tuple[ReferencePoint, ReferencePoint]:
        """Return the ends of the intervals of the reference point: those of its logarithms, by the delta method."""
        steps = REFERENCE_STEP * np.eye(len(self.covariance))
        above, below = (np.log([find_reference_point(self._shift_law(s)) for s in side]) for side in (steps, -steps))
        slopes = (above - below) / (2 * REFERENCE_STEP)
        wide = z * np.sqrt(np.einsum("ij,ik,kj->j", slopes, self.covariance, slopes))
        low, high = (ReferencePoint(*np.exp(np.log(self.reference_point) + side)) for side in (-wide, wide))
        return low, high

    def intervals(self, z: float = 1.96) -> dict[str, tuple[float, float]]:
        """Return the interval of each value, `z` standard errors to either side; 95 % by default."""
        ends = {}
        for name, value in self.values.items():
            there, back = _transforms(name)
            ends[name] = tuple(float(back(there(value) + side * self.standard_errors[name])) for side in (-z, z))
        return ends


def fit_stock(years: ArrayLike, biomass: ArrayLike, catch: ArrayLike, law: str | None = None) -> StockFit:
    """Fit Schaefer's, Fox's and Pella and Tomlinson's law to a stock, and return one, or that with the smallest AICc.

    The longest run of years without a gap is used; of two equally long runs, the later one.

    Args:
        years: (n,), ascending.
        biomass: biomass at the start of each year, (n,), NaN if unknown.
        catch: catch of each year, (n,), in the same unit, NaN if unknown.
        law: the law to return, such as "logistic"; by default, the one with the smallest AICc.

    Raises:
        RefusedStockError: with the number of the first rule that the table violates.
        ConfigError: for an unknown law, if the columns differ in length, or years are not ascending integers.
    """
    laws = [model for model in STOCK_GROWTH if model != RANDOM_WALK]
    check_name("law", law or laws[0], laws)
    run = _, x, c = _find_run(*(np.asarray(column, np.float64) for column in (years, biomass, catch)))
    _check_amounts(x, c)
    fits = {model: _fit_model(model, x / x.max(), c / x.max()) for model in STOCK_GROWTH}
    edge = {m: np.isclose(_transform(m, BOUNDS), fits[m][0][:, None], rtol=0, atol=ON_BOUND) for m in laws}
    inside = [model for model in laws if not edge[model].any()]
    if not inside or law not in (None, *inside):
        ranges = ", ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in BOUNDS.items())
        raise RefusedStockError(5, f"an optimum between the bounds ({ranges}; K in largest biomasses)", "none")
    aicc = {}
    for model in (RANDOM_WALK, *inside):
        (point, nll), n = fits[model], len(x) - 1
        k = len(point) + 1  # sigma is a parameter, too
        aicc[model] = 2 * nll + 2 * k * n / (n - k - 1)
    law = law or min(inside, key=aicc.__getitem__)
    gain = aicc[RANDOM_WALK] - aicc[law]
    if not gain >= MIN_GAIN:
        expected = f"an AICc at least {MIN_GAIN:g} below that of a random walk"
        raise RefusedStockError(6, expected, f"{gain:.1f} below for {law}")
    msy = {model: float(x.max()) * _find_msy(model, fits[model][0]) for model in inside}
    return _describe(law, fits[law][0], aicc, msy, run)


def _find_msy(model: str, point: np.ndarray) -> float:
    """Return the MSY of a law at the transformed parameters of a fit, in the unit of its K."""
    return find_reference_point(GROWTH_LAWS[model](**dict(zip([*BOUNDS][1:], np.exp(point[1:]), strict=False)))).catch


def _find_run(years: np.ndarray, biomass: np.ndarray, catch: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the columns of the longest run of years with biomass and catch (rule 1)."""
    sizes = [len(column) if column.ndim == 1 else -1 for column in (years, biomass, catch)]
    require(len(set(sizes)) <= 1 and sizes[0] >= 0, "stock", "three columns of the same length", sizes)
    if not (np.isfinite(years).all() and (years == np.round(years)).all() and (np.diff(years) > 0).all()):
        raise mismatch("years", "ascending integers without duplicates", "others", "to sort the table")
    known = np.isfinite(biomass) & np.isfinite(catch)
    years, biomass, catch = (column[known] for column in (years, biomass, catch))
    ends = [0, *(np.flatnonzero(np.diff(years) > 1) + 1), len(years)]
    first, last = max(pairwise(ends), key=lambda run: (run[1] - run[0], run))
    if last - first < MIN_YEARS:
        expected = f"at least {MIN_YEARS} years in a row with biomass and catch"
        raise RefusedStockError(1, expected, f"{last - first} of {len(known)} rows")
    return years[first:last].astype(np.int64), biomass[first:last], catch[first:last]


def _check_amounts(biomass: np.ndarray, catch: np.ndarray) -> None:
    """Check rules 2 and 3."""
    if biomass.min() <= 0:
        raise RefusedStockError(2, "every biomass above 0", f"{biomass.min():g}")
    if catch.min() < 0 or not catch.any():
        raise RefusedStockError(2, "no catch below 0, and one above 0", f"catches from {catch.min():g} to "
                                f"{catch.max():g}")  # fmt: skip
    if (share := (catch / biomass).max()) >= MAX_CATCH:
        expected = f"catches below {MAX_CATCH:g} of the biomass, in the same unit and of the same part of the stock"
        raise RefusedStockError(3, expected, f"{share:.3g}")


def _transforms(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the function that transforms a parameter for the fit, and its inverse."""
    return (np.arctanh, np.tanh) if name == "correlation" else (np.log, np.exp)


def _transform(model: str, table: Mapping[str, ArrayLike]) -> list[np.ndarray]:
    """Transform the entries of a table for the parameters of a model."""
    return [_transforms(name)[0](table[name]) for name in list(BOUNDS)[: STOCK_GROWTH[model][0]]]


def _find_errors(model: str, points: np.ndarray, x: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return log(biomass) minus log(median) of every year but the first, (..., n - 1)."""
    left = x[:-1] - c[:-1]
    parameters = np.exp(np.moveaxis(points, -1, 0)[1:, ..., None])
    return np.log(x[1:] / left) - np.log(np.maximum(STOCK_GROWTH[model][1](left, *parameters), LEAST))


def _find_residuals(points: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return the part of each error that last year's error does not explain, with equal variances, (..., n - 1)."""
    rho = np.tanh(points[..., :1])
    first = errors[..., :1] * np.sqrt(1 - rho**2)
    return np.concatenate([first, errors[..., 1:] - rho * errors[..., :-1]], axis=-1)


def _find_nll(model: str, x: np.ndarray, c: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the negative log-likelihood at the best sigma, (...)."""
    residuals = _find_residuals(points, _find_errors(model, points, x, c))
    variance = np.maximum(np.mean(residuals**2, axis=-1), LEAST**2)
    fresh = np.log1p(-(np.tanh(points[..., 0]) ** 2))
    return 0.5 * (residuals.shape[-1] * (np.log(2 * np.pi * variance) + 1) - fresh)


def _fit_model(model: str, x: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the point with the highest likelihood, and its negative log-likelihood."""
    from scipy.optimize import minimize  # imported here because the import is slow

    nll = partial(_find_nll, model, x, c)

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        steps = STEP * np.eye(len(point))
        found = nll(point + np.concatenate([0 * steps[:1], steps, -steps]))
        above, below = found[1:].reshape(2, -1)
        return found[0], (above - below) / (2 * STEP)

    def find_start(scale: float) -> np.ndarray:
        table = _transform(model, {**FIRST_VALUES, "K": (scale,)})
        grid = np.stack(np.meshgrid(*table), axis=-1).reshape(-1, len(table))
        return grid[np.argmin(nll(grid))]

    options: Any = {"jac": True, "method": "L-BFGS-B", "bounds": _transform(model, BOUNDS)}
    tries = [minimize(evaluate, find_start(scale), **options) for scale in FIRST_VALUES["K"]]
    return min(((one.x, float(one.fun)) for one in tries), key=itemgetter(1))


def _find_covariance(nll: Callable[[np.ndarray], np.ndarray], point: np.ndarray) -> np.ndarray:
    """Return the inverse of the observed information, NaN if it is not positive definite.

    Second derivatives of the likelihood at the best sigma give the same values as those with sigma as a parameter.
    """
    steps = np.eye(len(point))
    pairs = (WIDE_STEP * (steps[:, None] + side * steps) for side in (1, -1))
    same, opposite = (nll(point + pair) + nll(point - pair) for pair in pairs)
    information = (same - opposite) / (2 * WIDE_STEP) ** 2
    positive = np.linalg.eigvalsh(information).min() > 0
    return np.linalg.inv(information) if positive else np.full_like(information, np.nan)


def _describe(
    law: str, point: np.ndarray, aicc: dict[str, float], msy: dict[str, float], run: tuple[np.ndarray, ...]
) -> StockFit:
    """Return the fit at a point; check rule 7."""
    years, x, c = run
    names, scale, n = list(BOUNDS)[: len(point)], float(x.max()), len(x) - 1
    covariance = _find_covariance(partial(_find_nll, law, x / scale, c / scale), point)
    spread = dict(zip(names, map(float, np.sqrt(np.diagonal(covariance))), strict=True))
    if not max(spread["r"], spread["K"]) <= MAX_ERROR:
        got = ", ".join(f"{spread[name]:.3g}" for name in ("r", "K"))
        raise RefusedStockError(7, f"standard errors of log r and log K of at most {MAX_ERROR:g}", got)
    errors = _find_errors(law, point, x / scale, c / scale)
    residuals = _find_residuals(point, errors)
    values = {name: float(_transforms(name)[1](value)) for name, value in zip(names, point, strict=True)}
    values["K"] *= scale
    values["sigma"] = float(np.sqrt(np.mean(residuals**2) / (1 - (rho := values["correlation"]) ** 2)))
    # log sigma is the sum of the log of the residuals' deviation and log cosh of the transformed correlation.
    spread["sigma"] = float(np.sqrt(1 / (2 * n) + (rho * spread["correlation"]) ** 2))
    growth = np.log(x[1:] / (x - c)[:-1])
    r_squared = 1 - float(np.sum(errors**2) / np.sum((growth - growth.mean()) ** 2))
    median, inner = x[1:] * np.exp(-errors), covariance[1:, 1:]
    return StockFit(law, values, spread, inner, aicc, years, x, c, median, errors, residuals, r_squared, msy)
