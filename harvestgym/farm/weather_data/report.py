"""A report on a weather record: its format, period, ranges and gaps, as a table and as charts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harvestgym.core.view.scene import Chart, Line
from harvestgym.core.view.tables import Table
from harvestgym.render.figure import draw_figure

from .table import YEAR, WeatherTable
from .units import COLUMNS

CHART_COLOURS = ("#3b76b0", "#c44e4e", "#8c6bb1", "#5b8f6b", "#8a8a8a", "#2f5d8a")


def summarise_record(table: WeatherTable) -> Table:
    """Return the missing days and the range of each column, with the yearly total of rain."""
    rows: list[tuple[str, ...]] = []
    for column, values in zip(COLUMNS, table.days, strict=True):
        known = values[~np.isnan(values)]
        numbers = (known.min(), known.mean(), known.max()) if len(known) else ()
        cells = [f"{number:.1f}" for number in numbers] or ["", "", ""]
        rows.append((column.name, column.unit, str(len(values) - len(known)), *cells))
    period = f"{table.find_date(0)} to {table.find_date(len(table) - 1)}" if table.start_year else "no dates"
    title = f"{table.name}: {table.format or 'our columns'}, {period}, {len(table)} days, not counting 29 February"
    if table.rain_kind == "mm" and not np.isnan(table.days.rain).all():
        title += f", {YEAR * np.nanmean(table.days.rain):.0f} mm of rain a year"
    return Table(title, ("column", "unit", "missing days", "lowest", "mean", "highest"), rows)


def list_findings(table: WeatherTable) -> Iterator[str]:
    """Yield lines about the columns that were read, the columns that were not used, and the gaps."""
    yield f"read: {', '.join(f'{meaning} from {column}' for column, meaning in table.origins.items())}"
    if table.unused:
        yield f"not used: {', '.join(table.unused)}"
    if not np.isnan(table.altitude):
        yield f"altitude of the station: {table.altitude:g} m"
    yield from (f"gap: {gap}" for gap in table.describe_gaps(10))


def draw_record(table: WeatherTable, path: Path) -> None:
    """Draw each column over the dates (or the rows), with gaps where values are missing; needs the extra `plot`."""
    dates = np.array([table.find_date(row) or row for row in range(len(table))])
    lines = [Line("", values, colour, x=dates) for values, colour in zip(table.days, CHART_COLOURS, strict=True)]
    charts = [Chart(of.name, of.unit, 0, (line,), {}) for of, line in zip(COLUMNS, lines, strict=True)]
    draw_figure(charts, "date" if table.start_year else "row", 1, table.name).savefig(path, dpi=110)
