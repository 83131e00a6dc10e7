"""Calibration from a user's table: the rules for the table, the fit, and its file, numbers and picture.

A table with the columns year, biomass and catch describes a stock. Any other table describes the days of a farm's
season, or several seasons, each with its own settings.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from harvestgym import registry
from harvestgym.core.config import read_extended, validate
from harvestgym.core.errors import ConfigError, locate_errors, mismatch, require
from harvestgym.core.view.scene import Chart, Line
from harvestgym.core.view.tables import Table, format_value, round_number, write_number
from harvestgym.core.yaml_io import parse
from harvestgym.farm.build.farm_writer import to_yaml, write_farm
from harvestgym.farm.build.reset_options import set_options
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.farm_file import anchor
from harvestgym.farm.policies.expert_rules import compile_policy
from harvestgym.farm.policies.rule_numbers import list_numbers, replace_numbers
from harvestgym.fishing.fit import StockFit, fit_stock
from harvestgym.fishing.model import find_effort
from harvestgym.fishing.spec import FishingSpec, build_fishery, override_entries
from harvestgym.render.figure import draw_figure

from .calibrate import Fit, Ranges, Series, Treatment, find_parameter, find_watched, fit, fitted, read_curves, simulate
from .run import policy_named

TableColumns = Mapping[str, np.ndarray]

COLUMNS_OF_FIT = ("before", "value", "low", "high")
"""The numbers of a parameter: before the fit, fitted, and the ends of its 95 % interval."""

STOCK_COLUMNS = ("year", "biomass", "catch")

NOT_FITTED = ("hard", "history", "vary", "drift", "expert")
"""The entries of a fishery that do not describe a fitted stock."""

OPTIONS = {"year": "year", "start": "day"}
"""Columns of a season's start, and the options of `reset` that they set: a recorded year, and the day of the year."""

MAX_RATIO = 20.0
"""Largest ratio, in either direction, of the largest observed and simulated values in the same unit."""

ALTERNATING = -0.3
"""Correlation of errors below which survey errors are suspected: an error of a year changes the next growth, too."""

MAX_HARVEST_RATIO = 5.0
"""Largest ratio of the largest observed and simulated harvest weights; a number in t/ha is 10 times that in kg/m2."""

LINE_COLOURS = {"before": "#8a8a8a", "fitted": "#c44e4e", "observed": "#3b76b0"}


class Calibration(NamedTuple):
    """The result of a calibration.

    Attributes:
        file: the fitted environment as YAML.
        rows: the name and the `COLUMNS_OF_FIT` of each parameter; NaN where there is none.
        notes: human-readable lines.
        charts: the fit and its residuals.
        across: the unit of the horizontal axis.
        values: for each observation of a farm, its variable, its place on this axis, and three values, as in `compare`.
    """

    file: str
    rows: list[tuple[str, float, float, float, float]]
    notes: list[str]
    charts: list[Chart]
    across: str
    values: Sequence[tuple[str, int, float, float, float]] = ()

    def to_table(self, title: str) -> Table:
        """Return the rows as a table."""
        first = int(all(before != before for _, before, *_ in self.rows))  # a stock has no numbers before the fit
        rows = [(name, *map(format_value, numbers[first:])) for name, *numbers in self.rows]
        return Table(title, ("name", *COLUMNS_OF_FIT[first:]), rows)

    def compare(self) -> Table:
        """Return a table of the observed and the simulated values."""
        rows = [(name, str(at), *map(format_value, numbers)) for name, at, *numbers in self.values]
        return Table("Observed and simulated values", ("name", self.across, "before", "fitted", "observed"), rows)

    def write(self, files: Mapping[str, Path]) -> None:
        """Write the environment, the numbers and, optionally, a picture (extra `plot`) to `files`, given by suffix.

        Weather tables are named relative to the folder of the environment's file.
        """
        known = {name: {k: v for k, v in zip(COLUMNS_OF_FIT, rest, strict=True) if v == v} for name, *rest in self.rows}
        columns = self.compare().columns
        values = [dict(zip(columns, row, strict=True)) for row in self.values]
        numbers = {"parameters": known, "values": values, "notes": self.notes}
        if ".png" in files:
            draw_figure(self.charts, self.across, 1).savefig(files[".png"], dpi=110)
        data = parse(self.file)
        anchor(data, Path(), files[".yaml"].resolve().parent)
        files[".yaml"].write_text(to_yaml(data), encoding="utf-8")
        files[".json"].write_text(json.dumps(numbers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def calibrate_table(id: str, path: Path, free: Ranges, law: str | None = None, **options: Any) -> Calibration:
    """Fit an environment to the table in a file; `options` are those of `calibrate_farm`, and `law` is of a stock."""
    columns, fishery = read_columns(path), registry.spec(id).family == "fishing" and not free
    stock = {name.strip().casefold(): values for name, values in columns.items()}
    if missing := [name for name in STOCK_COLUMNS if name not in stock]:
        got = f"{', '.join(columns)}, without {' and '.join(missing)}"
        hint = "SPiCT or JABBA for an index of abundance (CPUE)"
        require(not fishery, path.name, "the columns year, biomass and catch", got, hint)
        require(law is None, "law", "none for a farm", repr(law))
        return calibrate_farm(id, path.name, columns, free, **options)
    require(fishery, path.name, "a fishery without free parameters for a stock", id, "fishing/logistic-v0")
    return calibrate_stock(id, path.name, fit_stock(*(stock[name] for name in STOCK_COLUMNS), law=law))


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Read a CSV table with a header; empty cells and NA are NaN, dates (YYYY-MM-DD) are days.

    Raises ConfigError with the line and the column of a cell that is neither.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, strict=True))
    if not rows or any(None in (*row, *row.values()) for row in rows):
        raise mismatch(path.name, "a header, and rows with the same number of cells", "others")
    return {name: np.array([_read_cell(row[name], f"{path.name}, line {i}, column {name}")
                            for i, row in enumerate(rows, start=2)]) for name in rows[0]}  # fmt: skip


def _read_cell(text: str, where: str) -> float:
    for read in (float, lambda day: date.fromisoformat(day).toordinal()):
        with suppress(ValueError):
            return read("nan" if text.strip() in ("", "NA") else text)
    raise mismatch(where, "a number, a date YYYY-MM-DD or an empty cell", repr(text))


def calibrate_stock(id: str, source: str, found: StockFit) -> Calibration:
    """Insert a fitted stock into the fishery `id`; `source` names the table in the file."""
    law, years = {name: round_number(value) for name, value in found.values.items()}, found.years
    own = {
        "doc": f"A stock fitted to {source}, {years[0]} to {years[-1]}; same units as the table.",
        "noise": {"kind": "median-lognormal", "sigma": law.pop("sigma")}, "correlation": law.pop("correlation"),
        "law": {"kind": found.law} | law, "start": float(found.biomass[-1]), "order": "harvest first",
        "bound": max(2 * law["K"], float(found.biomass.max())),
    }  # fmt: skip
    base = read_extended(registry.locate_file(id), "fishery", override_entries)
    data = override_entries({k: v for k, v in base.items() if k not in NOT_FITTED}, own)
    build_fishery(validate(FishingSpec, data, source), source)
    point, (low, high) = found.reference_point, found.reference_interval()
    rows = [(name, np.nan, found.values[name], *ends) for name, ends in found.intervals().items()]
    derived: dict[str, Any] = {"MSY": lambda at: at.catch, "B_MSY": lambda at: at.stock, "U_MSY": lambda at: at.rate}
    derived["F_MSY"] = lambda at: float(find_effort(at.rate))
    rows += [(name, np.nan, *(find(at) for at in (point, low, high))) for name, find in derived.items()]
    aicc = ", ".join(f"{name} {value:.1f}" for name, value in found.aicc.items())
    others = ", ".join(f"{name} {write_number(msy)}" for name, msy in found.msy.items())
    notes = [
        f"law: {found.law}; AICc, where smaller is better and random-walk has no growth law: {aicc}",
        f"MSY by law: {others}; the interval is of the law chosen, for exact biomasses",
        f"used: {years[0]} to {years[-1]}; variance of the growth that the law explains: {found.r_squared:.2f}",
    ]
    if found.values["correlation"] < ALTERNATING:
        notes.append("warning: high and low years alternate, as survey errors make them do; these bias r and MSY")
    lines = {"fitted": (years[1:], found.median), "observed": (years, found.biomass)}
    charts = _draw("biomass", lines, years[1:], found.errors, "log(biomass / fitted)")
    return Calibration(to_yaml(data), rows, notes, charts, "year")


def calibrate_farm(
    id: str,
    source: str,
    columns: TableColumns,
    free: Ranges,
    policy: str = "expert",
    seasons: int = 8,
    seed: int = 0,
    start: float = np.nan,
    say: Callable[[str], Any] = lambda line: None,
) -> Calibration:
    """Fit the `free` parameters of a farm to one or more seasons, as in `calibrate.fit`; `start` is the date of day 0.

    Raises ConfigError with the number of the rule in docs/calibration.md that the table violates.
    """
    env: Any = registry.make(id)
    fits, got = isinstance(env, FarmModel) and free, f"{len(free)} parameters of {type(env).__name__}"
    require(fits, id, "a farm and its free parameters", got, "--free Field-0/Soil-0/depth#m=0.3:1.2")
    env, treatments, season, settings = _read_treatments(id, env, columns, policy)
    time = _read_time(env, columns, start, season, bool(settings))
    values = {name: column for name, column in columns.items() if name not in ("day", "date", *settings)}
    series = [_make_series(env, name, column, time, season) for name, column in values.items()]
    count = sum(len(one.day) for one in series)
    expected = f"at least {len(free) + 1} values, because with fewer, {len(free)} parameters have no interval"
    require(count > len(free), f"{source}: rule 5", expected, count)
    before = simulate(env, series, treatments, seasons, seed)
    _check_units(series, before)
    found, other = (
        fit(env, free, series, None, seasons, of, treatments=treatments, say=say) for of in (seed, seed ^ 1)
    )
    rows = [(path, found.before[path], value, *found.intervals[path]) for path, value in found.values.items()]
    own = [f"{len(treatments)} seasons, with their own {', '.join(settings)}"] * bool(settings)
    charts, compared, shown = list[Chart](), list[Any](), {"before": before, "fitted": found.curves}
    for one, column in zip(series, values.values(), strict=True):
        points = {label: read_curves(runs, one) for label, runs in shown.items()} | {"observed": one.value}
        x = np.flatnonzero(np.isfinite(column)) + 1 if settings else one.day
        numbers = (map(round_number, y) for y in points.values())
        compared += [(one.variable, *cells) for cells in zip(x.tolist(), *numbers, strict=True)]
        charts += _draw_fit(one, x, points, {} if settings else {label: runs[0] for label, runs in shown.items()})
    across, notes = "row" if settings else "day", [*own, *_note_fit(found, free, count), *_compare_fits(found, other)]
    return Calibration(_write_fitted(id, source, found.values), rows, notes, charts, across, compared)


def _check_units(series: Sequence[Series], before: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Check rule 4, by the values that are simulated before the fit."""
    for one in series:
        largest, simulated = np.abs(one.value).max(), max(np.abs(run[one.variable]).max() for run in before)
        harvest = "/harvest_weight" in one.variable
        most, hint = MAX_HARVEST_RATIO if harvest else MAX_RATIO, "kg on a plot: 1 t/ha is 0.1 kg on 1 m2" * harvest
        near = simulated / MAX_RATIO <= largest <= simulated * most
        expected = f"values in the unit of the name, at most {most:g} times those simulated, {simulated:.3g}"
        require(near, f"{one.variable}: rule 4", expected, f"{largest:.3g}", hint)


def _note_fit(found: Fit, free: Ranges, count: int) -> Iterator[str]:
    """Yield lines about the errors and the search, and warnings."""
    for name, rmse in found.rmse.items():
        yield f"rmse of {name}: {found.rmse_before[name]:.4g} -> {rmse:.4g}"
        yield f"noise of the simulation in {name}: {found.noise[name]:.2g}"
        if rmse > 0.9 * found.rmse_before[name]:
            yield f"warning: the fit hardly improves {name}; try other parameters"
    yield f"{found.how}, {found.seasons} seasons"
    spread = stdtrit(count - len(free), 0.975)
    yield f"intervals: ± {spread:.3g} standard errors ({count} values, {len(free)} free)"
    for path, (low, high) in free.items():
        if found.intervals[path] == (low, high):
            yield f"warning: the values hardly restrict {path}; try more values, or fewer parameters"
        if abs(found.values[path] - (low + high) / 2) >= 0.49 * (high - low):
            yield f"warning: {path} = {found.values[path]:.4g} is on a bound; try a wider range"


def _compare_fits(found: Fit, other: Fit) -> Iterator[str]:
    """Yield warnings about parameters whose fit in other seasons is outside their interval."""
    for path, (low, high) in found.intervals.items():
        if not low <= (value := other.values[path]) <= high:
            yield f"warning: another seed finds {path} = {value:.4g}; try more --seasons, or more plots"


def _draw_fit(one: Series, x: Any, points: Mapping[str, np.ndarray], curves: Mapping[str, Any]) -> list[Chart]:
    """Draw the values and the errors of a series at `x`; if the rows are days, the simulated ones as `curves`."""
    lines, days = {label: (x, y) for label, y in points.items()}, np.arange(one.day.max() + 1)
    lines |= {label: (days, values[one.variable][days]) for label, values in curves.items()}
    errors, style = one.value - points["fitted"], "line" if curves else "dots"
    return _draw(one.variable, lines, x, errors, "observed - fitted", style)


def _read_treatments(
    id: str, env: FarmModel, columns: TableColumns, policy: str
) -> tuple[FarmModel, list[Treatment], np.ndarray, list[str]]:
    """Read the columns that set something for a season: its start, numbers of the expert, or parameters of the farm.

    Returns the farm, its seasons, the season of each row, and the names of these columns.
    """
    acting = policy_named(id, env, policy)
    numbers = list_numbers(env.spec.expert) if policy == "expert" else {}
    places = list[str]()
    for name in columns:
        with suppress(ConfigError):
            find_parameter(env, name)
            places.append(name)
    settings = [name for name in columns if name in (*OPTIONS, *numbers, *places)]
    if not settings:
        return env, [Treatment(env.params, acting)], np.zeros(len(next(iter(columns.values()))), int), settings
    rows = np.stack([columns[name] for name in settings], axis=1)
    require(np.isfinite(rows).all(), "rule 6", f"no empty cells in {', '.join(settings)}", "some")
    each, season = np.unique(rows, axis=0, return_inverse=True)
    treatments, model = list[Treatment](), env
    for row in each:
        given = dict(zip(settings, row.tolist(), strict=True))
        options = {option: int(given[name]) for name, option in OPTIONS.items() if name in given}
        model, params = set_options(env, fitted(env, {name: given[name] for name in places}), options)
        rules = replace_numbers(env.spec.expert, {name: given[name] for name in given if name in numbers}, "rule 6")
        treatments.append(Treatment(params, compile_policy(model, rules) if numbers else acting))
    return model, treatments, season.ravel(), settings


def _read_time(env: FarmModel, columns: TableColumns, start: float, season: np.ndarray, ends: bool) -> np.ndarray:
    """Return the day of each row (rule 2); without a column of days, the last one if the rows are seasons (`ends`)."""
    last = int(env.params.horizon)
    if ends and "day" not in columns and "date" not in columns:
        return np.full(len(season), last)
    time = columns["day"] if "day" in columns else columns.get("date", np.full(len(season), np.nan)) - start
    steps = np.concatenate([np.diff(time[season == s]) for s in np.unique(season)])
    if not (np.isfinite(time).all() and (steps >= 0).all() and time.min() >= 0 and time.max() <= last):
        raise ConfigError(f"day: rule 2: expected a column day, or date and --start, ascending and within day 0 to "
                          f"{last}, got {time.min():g} to {time.max():g}")  # fmt: skip
    return time


def _write_fitted(id: str, source: str, values: Mapping[str, float]) -> str:
    """Return a farm with new values as YAML; it extends an id, and contains everything of a user's own file."""
    made: Any = registry.make(id, entities={path: round_number(value) for path, value in values.items()})
    data = parse(write_farm(made.spec))
    data["doc"] = f"{data.get('doc', '')} Fitted to {source}: {', '.join(values)}.".strip()
    if id in registry.ids():
        fields = {name: {"entities": field["entities"]} for name, field in data["fields"].items()}
        data = {"extends": id, "doc": data["doc"], "fields": fields, "expert": data.get("expert", [])}
    return to_yaml(data)


def _make_series(env: FarmModel, name: str, column: np.ndarray, time: np.ndarray, season: np.ndarray) -> Series:
    """Check rules 1 and 3 for a column."""
    with locate_errors("docs/calibration.md, rule 1: "):
        item = find_watched(env, name)
    known = np.isfinite(column)
    day, value = time[known].astype(int), column[known].astype(np.float32)
    low, high = item.variable.meta.low, item.variable.meta.high
    if not len(value) or np.ptp(value) == 0 or value.min() < low or value.max() > high:
        got = f"{value.min():g} to {value.max():g}" if len(value) else "none"
        raise mismatch(f"{name}: rule 3", f"values that are not all equal, from {low:g} to {high:g}", got)
    return Series(item.variable.name + (f"{list(item.at)}" if item.at else ""), day, value, season[known])


def _draw(name: str, lines: Mapping[str, Any], x: Any, errors: Any, title: str, style: Any = "line") -> list[Chart]:
    """Return a chart of lines (x and values by label), drawn in `style`, and one of errors at `x`."""
    drawn = tuple(
        Line(label, y, LINE_COLOURS[label], "dots" if label == "observed" else style, x)
        for label, (x, y) in lines.items()
    )
    dots = Line("", errors, LINE_COLOURS["observed"], "dots", x)
    return [Chart(name, "", 0, drawn, {}), Chart(title, "", 0, (dots,), {"": 0.0})]
