"""Part A of `protocol.md`: surplus production of 152 US fish stocks, fitted to their assessments.

    python -m experiments.reality.stocks fit          # harvestgym/fishing/us_stocks.csv, and the stocks refused by rule
    python -m experiments.reality.stocks compare      # MSY, B_MSY and F_MSY, compared with the published ones
    python -m experiments.reality.stocks hindcast     # ten years, predicted from the years before
    python -m experiments.reality.stocks policies     # the catches of the record, compared with rules

Each part stores its numbers in `experiments/results/reality-stocks.json`, with the SHA-256 of the protocol. The
comparison on held-out stocks, which is sealed, is `held_out_stocks.py`. The data are read from `../shared/data/stocks`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import differential_evolution

from experiments.reality.sealed import describe_run
from experiments.reality.trials import files
from experiments.studies.common.findings import bootstrap
from harvestgym.fishing.fit import STOCK_GROWTH, RefusedStockError, StockFit, fit_stock
from harvestgym.fishing.us_stocks import STOCKS_FILE, FittedStock

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results/reality-stocks.json"
DATA = files.DATA / "stocks"

RELATIVE = ("index", "relative", "cpue", "egg", "larva", "number")
"""Words in the unit or the definition of a biomass that is not in tonnes; rule 4."""

THOUSANDS = ("10165", "11050")
"""Stocks whose biomass and catch are in thousand tonnes in the file, as in their assessments."""

HINDCAST_YEARS = 10
SIMULATIONS = 1000
SEASONS = 200


class Series(NamedTuple):
    """The yearly biomass and catch of a stock, in tonnes, and what the assessment says about it."""

    about: dict[str, str]
    years: np.ndarray
    biomass: np.ndarray
    catch: np.ndarray

    @property
    def name(self) -> str:
        """The stock's name in files: `atlantic-cod-gulf-of-maine`."""
        return re.sub(r"[^a-z0-9]+", "-", self.about["stock"].lower()).strip("-")

    @property
    def held_out(self) -> bool:
        """Return whether the stock belongs to the test split."""
        return int(hashlib.sha256(self.about["stock_id"].encode()).hexdigest(), 16) % 3 == 0


@cache
def read_series() -> list[Series]:
    """Return all stocks; an unknown amount is NaN."""
    rows: dict[str, list[list[float]]] = {}
    with (DATA / "series.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            unit = 1000.0 if row["stock_id"] in THOUSANDS else 1.0
            amounts = [unit * float(row[name] or "nan") for name in ("biomass_t", "catch_t")]
            rows.setdefault(row["stock_id"], []).append([float(row["year"]), *amounts])
    with (DATA / "stocks.csv").open(encoding="utf-8", newline="") as file:
        return [Series(about, *np.transpose(rows[about["stock_id"]])) for about in csv.DictReader(file)]


def is_relative(about: Mapping[str, str]) -> bool:
    """Rule 4."""
    words = f"{about['biomass_is']} {about['b_unit']}".lower()
    return any(word in words for word in RELATIVE)


def fit_series(series: Series) -> StockFit:
    """Fit a stock; raise RefusedStockError with the first rule that refuses it."""
    unit = f"{series.about['biomass_is']}, {series.about['b_unit']}"
    relative = RefusedStockError(4, "a biomass in tonnes", unit) if is_relative(series.about) else None
    try:
        found = fit_stock(series.years, series.biomass, series.catch)
    except RefusedStockError as refused:
        raise (relative if relative and refused.rule > 4 else refused) from None
    if relative:
        raise relative
    return found


@cache
def fit_all() -> tuple[dict[str, tuple[Series, StockFit]], dict[str, RefusedStockError]]:
    """Return the fits that pass and the refusals, by name."""
    passed, refused = {}, {}
    for series in read_series():
        try:
            passed[series.name] = (series, fit_series(series))
        except RefusedStockError as error:
            refused[series.name] = error
    return passed, refused


# -- parts -----------------------------------------------------------------------------------------------------------


def make_table(out: Path = STOCKS_FILE) -> dict[str, Any]:
    """Write the table of fits that the package ships; return the counts."""
    passed, refused = fit_all()
    rows = [make_row(name, series, fit) for name, (series, fit) in sorted(passed.items())]
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FittedStock._fields)
        writer.writerows([_format(value) for value in row] for row in rows)
    gains = [fit.aicc["random-walk"] - fit.aicc[fit.law] for _, fit in passed.values()]
    return {
        "stocks": len(passed) + len(refused),
        "passed": len(passed),
        "held out": sum(row.held_out for row in rows),
        "refused by rule": dict(sorted(Counter(f"rule {error.rule}" for error in refused.values()).items())),
        "refusals": {name: str(error) for name, error in sorted(refused.items())},
        "laws": dict(Counter(row.law for row in rows).most_common()),
        "r": quartiles([row.r for row in rows]),
        "sigma": quartiles([row.sigma for row in rows]),
        "correlation": quartiles([row.correlation for row in rows]),
        "r2": quartiles([row.r2 for row in rows]),
        "AICc below a random walk": quartiles(gains),
    }


def make_row(name: str, series: Series, fit: StockFit) -> FittedStock:
    """Return a stock's row of the table."""
    values, point = fit.values, fit.reference_point
    return FittedStock(
        name, series.about["stock"], int(series.about["stock_id"]), int(fit.years[0]), int(fit.years[-1]), fit.law,
        values["r"], values["K"], values.get("theta", np.nan), values["sigma"], values["correlation"],
        fit.standard_errors["r"], fit.standard_errors["K"], fit.r_squared, point.catch, point.stock, point.rate,
        float(fit.biomass[-1]), series.held_out,
    )  # fmt: skip


def _format(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value


def compare_points() -> dict[str, Any]:
    """Compare MSY, B_MSY and F_MSY with the published ones, where they mean the same."""
    found: dict[str, dict[str, float]] = {"MSY": {}, "B_MSY": {}, "F_MSY": {}}
    for name, (series, fit) in fit_all()[0].items():
        point = fit.reference_point
        ours = {"MSY": point.catch, "B_MSY": point.stock, "F_MSY": point.rate}
        for name_of, published in find_published(series.about).items():
            found[name_of][name] = ours[name_of] / published
    return {point: _describe_ratios(ratios) for point, ratios in found.items()}


def find_published(about: Mapping[str, str]) -> dict[str, float]:
    """Return the published reference points whose unit and basis mean the same as ours, in tonnes."""
    b_unit, basis = about["b_unit"].strip().lower(), about["bmsy_basis"].strip().lower()
    of_females = "female" in b_unit and "female" in about["biomass_is"].lower()
    direct = "direct" in basis or ("msy" in basis and "proxy" not in basis)
    f_unit = about["f_unit"].strip().lower()
    same = {
        "MSY": about["msy_unit"].strip().lower() in ("metric tons", "mt"),
        "B_MSY": direct and (b_unit in ("metric tons", "mt", "mt ww", "thousand metric tons") or of_females),
        "F_MSY": "exploitation rate" in f_unit and "relative" not in f_unit,
    }
    columns = {"MSY": "msy", "B_MSY": "bmsy", "F_MSY": "fmsy"}
    found = {point: float(about[column]) for point, column in columns.items() if same[point] and about[column]}
    if "B_MSY" in found and b_unit.startswith("thousand"):
        found["B_MSY"] *= 1000
    return {point: value for point, value in found.items() if value > 0}


def _describe_ratios(ratios: Mapping[str, float]) -> dict[str, Any]:
    values = np.asarray(list(ratios.values()))
    distance = np.abs(np.log(values))
    within = {f"within a factor of {factor:g}": float(np.mean(distance <= np.log(factor))) for factor in (1.25, 2)}
    return {
        "stocks": len(values),
        "median interval": find_median_interval(values),
        **quartiles(values),
        **within,
        "ratios": dict(ratios),
    }


def hindcast() -> dict[str, Any]:
    """Predict the last ten years of each stock from the years before and the real catches."""
    errors, simple, inside, skipped = [], [], [], Counter[str]()
    for number, (_, whole) in enumerate(fit_all()[0].values()):
        past = slice(None, -HINDCAST_YEARS)
        if len(whole.years[past]) < 20:
            skipped["fewer than 20 years left"] += 1
            continue
        try:
            fit = fit_stock(whole.years[past], whole.biomass[past], whole.catch[past])
        except RefusedStockError as error:
            skipped[f"rule {error.rule}"] += 1
            continue
        catches = whole.catch[-HINDCAST_YEARS - 1 : -1]
        paths = simulate(
            fit, float(fit.biomass[-1]), lambda x, year, c=catches: c[year], len(catches), (SIMULATIONS,), number,
            last_error=float(fit.errors[-1]),
        )[0]  # fmt: skip
        real = np.log(whole.biomass[-HINDCAST_YEARS:])
        low, middle, high = np.log(np.maximum(np.quantile(paths[:, 1:], (0.05, 0.5, 0.95), axis=0), 1e-9))
        errors.append(middle - real)
        simple.append(np.log(fit.biomass[-1]) - real)
        inside.append((low <= real) & (real <= high))
    return _describe_hindcast(np.asarray(errors), np.asarray(simple), np.asarray(inside), dict(skipped))


def _describe_hindcast(
    errors: np.ndarray, simple: np.ndarray, inside: np.ndarray, skipped: Mapping[str, int]
) -> dict[str, Any]:
    def rmse(e: np.ndarray) -> Any:
        return np.sqrt(np.mean(e**2, axis=0))

    skill = bootstrap(lambda e, s: 1 - rmse(e.ravel()) / rmse(s.ravel()), errors.T, simple.T)
    return {
        "stocks": len(errors),
        "left out": skipped,
        "RMSE of log biomass": float(rmse(errors.ravel())),
        "RMSE of the last biomass": float(rmse(simple.ravel())),
        "median absolute error": float(np.median(np.abs(errors))),
        "median absolute error of the last biomass": float(np.median(np.abs(simple))),
        "bias": float(errors.mean()),
        "skill": skill.value,
        "skill interval": [skill.low, skill.high],
        "skill by lead time": (1 - rmse(errors) / rmse(simple)).tolist(),
        "inside the 90 % interval": float(inside.mean()),
        "inside by lead time": inside.mean(axis=0).tolist(),
    }


Quota = Callable[[np.ndarray, int], Any]
"""Function `quota(biomass, year) -> catch` on arrays of biomass."""


def simulate(
    fit: StockFit, start: float, quota: Quota, years: int, shape: tuple[int, ...], seed: int,
    last_error: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Simulate a stock; return its biomass, (*shape, years + 1), and its catch, (*shape, years).

    The last axis of `shape` is seasons, which have the same noise in all rows. The errors start from `last_error`, or
    from their stationary distribution.
    """
    values, rng = fit.values, np.random.default_rng(seed)
    sigma, rho = values["sigma"], values["correlation"]
    numbers = [values[name] for name in ("r", "K", "theta") if name in values]
    z = rng.standard_normal((years + 1, shape[-1]))
    error = sigma * z[-1] if last_error is None else np.full(shape[-1], last_error)
    biomass, catches = [np.full(shape, start)], []
    for year in range(years):
        x = biomass[-1]
        catch = np.clip(quota(x, year), 0.0, x)
        left = np.maximum(x - catch, 1e-9)
        error = rho * error + sigma * np.sqrt(1 - rho**2) * z[year]
        biomass.append(left * np.maximum(STOCK_GROWTH[fit.law][1](left, *numbers), 0.0) * np.exp(error))
        catches.append(catch)
    return np.stack(biomass, axis=-1), np.stack(catches, axis=-1)


def compare_policies() -> dict[str, Any]:
    """Play the catches of each record, constant escapement and a tuned rule, from the first biomass of the record."""
    stocks = {}
    for number, (name, (_, fit)) in enumerate(sorted(fit_all()[0].items())):
        point, years, start = fit.reference_point, len(fit.years), float(fit.biomass[0])
        rule = tune_ramp(fit, start, years, seed=number)
        quotas: dict[str, Quota] = {
            "record": lambda x, year, c=fit.catch: c[year],
            "escapement": lambda x, year, s=point.escapement: x - s,
            "rule": lambda x, year, r=rule: ramp(r, x),
        }
        stocks[name] = {"record's last biomass": float(fit.biomass[-1] / point.stock)}
        for policy, quota in quotas.items():
            biomass, catch = simulate(fit, start, quota, years, (SEASONS,), seed=10_000 + number)
            stocks[name][policy] = {
                "catch": float(catch.mean() / point.catch),
                "last biomass": float(np.median(biomass[:, -1]) / point.stock),
            }
    columns = {
        f"{policy}, {measure}": quartiles([stock[policy][measure] for stock in stocks.values()])
        for policy in ("record", "escapement", "rule")
        for measure in ("catch", "last biomass")
    }
    more = [stock["rule"]["catch"] / max(stock["record"]["catch"], 1e-9) for stock in stocks.values()]
    return {"policies": columns, "rule / record": quartiles(more), "by stock": stocks}


def ramp(numbers: Any, x: np.ndarray) -> np.ndarray:
    """Return the catch of a rule: share of the biomass above `full`, 0 below `closed`, linear in between."""
    share, closed, full = numbers
    return share * np.clip((x - closed) / np.maximum(full - closed, 1e-9), 0.0, 1.0) * x


def tune_ramp(fit: StockFit, start: float, years: int, seed: int, seasons: int = 32) -> np.ndarray:
    """Search for the share and the two biomasses of a stock's rule, in seasons of their own."""
    K = fit.values["K"]

    def to_numbers(found: np.ndarray) -> np.ndarray:
        share, closed, full = found
        return np.stack([share, closed * full * K, full * K])

    def loss(found: np.ndarray) -> np.ndarray:
        numbers = to_numbers(found)[..., None]  # (3, candidates, 1)
        shape = (found.shape[1], seasons)
        return -simulate(fit, start, lambda x, _: ramp(numbers, x), years, shape, seed)[1].mean(axis=(1, 2))

    ranges, seeded = [(0.0, 1.0), (0.0, 0.99), (0.0, 1.5)], dict[str, Any](seed=seed)  # newer SciPy also accepts rng
    return to_numbers(differential_evolution(
        loss, ranges, maxiter=30, popsize=16, tol=1e-3, polish=False, vectorized=True, updating="deferred", **seeded
    ).x)  # fmt: skip


def find_median_interval(values: np.ndarray) -> list[float]:
    """Return the 95 % bootstrap interval of a median over stocks."""
    found = bootstrap(lambda sample: np.median(sample, axis=-1), values)
    return [found.low, found.high]


def quartiles(values: Any) -> dict[str, float]:
    """Return the quartiles of some numbers."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return {"lower quartile": float(low), "median": float(middle), "upper quartile": float(high)}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "fit": make_table,
    "compare": compare_points,
    "hindcast": hindcast,
    "policies": compare_policies,
}


def store(part: str, found: Mapping[str, Any], path: Path = RESULTS) -> None:
    """Store a part's numbers, with the SHA-256 of the protocol."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entry = describe_run() | dict(found)
    path.write_text(json.dumps(known | {part: entry}, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Run the chosen parts, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="parts to run, in order; all by default")
    for part in parser.parse_args().parts or PARTS:
        print(f"{part} …", flush=True)
        found = PARTS[part]()
        store(part, found)
        print(json.dumps({k: v for k, v in found.items() if k not in ("by stock", "refusals")}, indent=1)[:3000])


if __name__ == "__main__":
    main()
