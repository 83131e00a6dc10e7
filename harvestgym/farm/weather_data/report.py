"""A report on a weather record: its format, period, ranges and gaps, as a table and as charts."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harvestgym.core.view.scene import Chart, Line
from harvestgym.core.view.tables import Table

from .table import YEAR, WeatherTable
from .units import COLUMNS

COLOURS = ("#3b76b0", "#c44e4e", "#8c6bb1", "#5b8f6b", "#8a8a8a", "#2f5d8a")


def summarise_record(table: WeatherTable) -> Table:
    """Return the missing days and the range of each column, with the yearly total of rain."""
    rows: list[tuple[str, ...]] = []
    for column, values in zip(COLUMNS, table.days, strict=True):
        known = values[~np.isnan(values)]
        numbers = (known.min(), known.mean(), known.max()) if len(known) else ()
        cells = [f"{number:.1f}" for number in numbers] or ["", "", ""]
        rows.append((column.name, column.unit, str(len(values) - len(known)), *cells))
    period = f"{table.find_date(0)} to {table.find_date(len(table) - 1)}" if table.start_year else "no dates"
    title = f"{table.name}: {table.format or 'our columns'}, {period}, {len(table)} days without 29 February"
    rain = f"{YEAR * np.nanmean(table.days.rain):.0f} mm of rain a year"
    return Table(f"{title}, {rain}" if table.rain_kind == "mm" else title,
                 ("column", "unit", "missing days", "lowest", "mean", "highest"), rows)  # fmt: skip


def list_notes(table: WeatherTable) -> Iterator[str]:
    """Yield what was read from which column, what was not used, and the gaps."""
    yield f"read: {', '.join(f'{meaning} from {column}' for column, meaning in table.origins.items())}"
    if table.unused:
        yield f"not used: {', '.join(table.unused)}"
    if not np.isnan(table.altitude):
        yield f"altitude of the station: {table.altitude:g} m"
    yield from (f"gap: {gap}" for gap in table.describe_gaps(10))


def make_charts(table: WeatherTable) -> Iterator[Chart]:
    """Yield a chart of each column over the dates, or over the rows, with gaps where values are missing."""
    dates = np.array([table.find_date(row) or row for row in range(len(table))])
    for column, values, colour in zip(COLUMNS, table.days, COLOURS, strict=True):
        line = Line("", values, colour, x=dates)
        yield Chart(column.name, column.unit, 0, (line,), {}, across="date" if table.start_year else "row")


def write_table(table: WeatherTable, path: Path) -> None:
    """Write a table as a CSV file with our columns, and dates if it has them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([*["Date"][: table.start_year is not None], *(column.name for column in COLUMNS)])
        for i, day in enumerate(zip(*table.days, strict=True)):
            date = table.find_date(i)
            rows.writerow([*([date] if date else []), *(f"{round(float(v), 2) + 0.0:g}" for v in day)])
