"""US fish stocks with fitted growth, for `fishing/us-stock-v0` and `fishing/us-stocks-v0`.

`us_stocks.csv` has one row for each stock whose fit passed the rules in docs/reality-stocks.md. It was computed from
NOAA's stock assessments (stocksmart; a work of the US government). The biomass of an assessment is the output of a
model, not an observation. Biomass and catch are in tonnes.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from pydantic import TypeAdapter

from harvestgym.core.errors import check_each_name, look_up

from .growth import Fox, Logistic, OneOf, PellaTomlinson
from .noise import MedianLognormal

STOCKS_FILE = Path(__file__).with_name("us_stocks.csv")

FITTED_LAWS = ("logistic", "fox", "pella-tomlinson")
"""The growth laws that were fitted."""

SPLITS: dict[str, tuple[bool, ...]] = {"train": (False,), "test": (True,), "all": (False, True)}
"""The values of `held_out` in each split."""


class FittedStock(NamedTuple):
    """The fit of a stock: a row of the table.

    Attributes:
        name: the name in files, such as `atlantic-cod-gulf-of-maine`.
        stock, stock_id: the stock's name and number in the assessments.
        first_year, last_year: the years of the fit.
        law: the name of the growth law with the smallest AICc.
        r, K, theta: its parameters, K in tonnes; theta is the shape of `pella-tomlinson`, and NaN for other laws.
        sigma, correlation: standard deviation of the growth noise, whose median is one, and its correlation from year
            to year.
        se_log_r, se_log_k: standard errors of log r and log K.
        r2: explained share of the variance of the yearly change in log biomass.
        msy, b_msy, f_msy: maximum sustainable yield, in tonnes a year, the biomass before the catch that gives it, in
            tonnes, and the catch as a share of that biomass.
        start: the biomass in the last year, in tonnes.
        held_out: whether the stock belongs to the test split.
    """

    name: str
    stock: str
    stock_id: int
    first_year: int
    last_year: int
    law: str
    r: float
    K: float
    theta: float
    sigma: float
    correlation: float
    se_log_r: float
    se_log_k: float
    r2: float
    msy: float
    b_msy: float
    f_msy: float
    start: float
    held_out: bool


@cache
def read_stocks() -> dict[str, FittedStock]:
    """Return all stocks by name."""
    with STOCKS_FILE.open(encoding="utf-8", newline="") as file:
        made = TypeAdapter(list[FittedStock]).validate_python([*csv.DictReader(file)])
    return {stock.name: stock for stock in made}


def list_stocks(choice: str | tuple[str, ...] = "all") -> list[str]:
    """List the names of the stocks of a split (`train`, `test`, `all`), or the given names; ConfigError for others."""
    stocks = read_stocks()
    if choice in SPLITS:
        return [name for name, stock in stocks.items() if stock.held_out in SPLITS[str(choice)]]
    names = [choice] if isinstance(choice, str) else list(choice)
    check_each_name("stock", names, (*SPLITS, *stocks), "stocks")
    return names


def make_stock_entries(name: str) -> dict[str, Any]:
    """Return the entries of a fishery file for a stock, in tonnes; the price makes a year's MSY worth 1."""
    stock = look_up("stock", name, read_stocks(), "stock")
    shape = {"theta": stock.theta} if stock.law == "pella-tomlinson" else {}
    growth: dict[str, Any] = {"law": {"kind": stock.law, "r": stock.r, "K": stock.K} | shape}
    growth |= {"noise": {"kind": "median-lognormal", "sigma": stock.sigma}, "correlation": stock.correlation}
    return growth | {"price": 1 / stock.msy, "start": stock.start, "unit": "t"}


def make_context_entries() -> dict[str, Any]:
    """Return the entries of a fishery file whose stock differs between episodes, in shares of the capacity."""
    laws = tuple({"kind": kind, "K": 1.0} for kind in FITTED_LAWS)
    return {"law": {"kind": "one-of", "laws": laws}, "noise": {"kind": "median-lognormal"}}


def stack_parameters(names: Sequence[str]) -> dict[str, Any]:
    """Return parameters of the stocks as arrays of shape (stocks,), with biomass in shares of each stock's capacity."""

    def convert(stock: FittedStock) -> dict[str, Any]:
        shared: dict[str, Any] = {"r": stock.r, "K": 1.0}
        shape: dict[str, Any] = {"theta": stock.theta if stock.law == "pella-tomlinson" else 1.0}
        laws = Logistic(**shared), Fox(**shared), PellaTomlinson(**shared | shape)
        own: dict[str, Any] = {"which": FITTED_LAWS.index(stock.law), "sigma": stock.sigma}
        growth: dict[str, Any] = {"law": OneOf(laws=laws, which=own["which"]), "correlation": stock.correlation}
        growth |= {"noise": MedianLognormal(sigma=own["sigma"]), "price": stock.K / stock.msy}
        return growth | {"b_msy": stock.b_msy / stock.K, "start": stock.start / stock.K}

    sets = [convert(read_stocks()[name]) for name in names]
    return jax.tree.map(lambda *n: np.asarray(n, np.int32 if isinstance(n[0], int) else np.float32), *sets)
