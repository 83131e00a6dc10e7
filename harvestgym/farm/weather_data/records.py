"""Weather records: public ones to download, with checksums and licences (`records.yaml`), and reports on records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from harvestgym.core.errors import check_extras, check_name, mismatch, require
from harvestgym.core.view.scene import Chart, Line
from harvestgym.core.view.tables import Table
from harvestgym.core.yaml_io import read_file
from harvestgym.render.figure import draw_figure

from .columns import COLUMNS
from .table import YEAR, WeatherTable

RECORDS_FILE = Path(__file__).with_name("records.yaml")
LEAST_RAIN = 50
"""Rain in mm a year below which it may be in another unit; few deserts have less."""

CHART_COLOURS = ("#3b76b0", "#c44e4e", "#8c6bb1", "#5b8f6b", "#8a8a8a", "#2f5d8a")


class PublicRecord(NamedTuple):
    """A record in `records.yaml`; `settings` are for a Weather set that uses the file, if a farm can use it."""

    path: str
    sha256: str
    about: str
    licence: str
    settings: str = ""


def list_records() -> dict[str, PublicRecord]:
    """List the known records by name."""
    return {name: PublicRecord(**of) for name, of in read_file(RECORDS_FILE)["records"].items()}


def download_record(name: str, folder: Path, base_url: str = "") -> Path:
    """Download a record into a folder, by default from its source, and return its path; needs the extra `download`.

    Raises ConfigError if the record is unknown or cannot be reached, or if its content has changed; nothing is written.
    """
    check_name("record", name, list_records())
    check_extras("weather record", download="pooch")
    import pooch

    record, url = list_records()[name], base_url or read_file(RECORDS_FILE)["url"]
    file = folder / f"{name}{Path(record.path).suffix}"
    require(not file.exists(), file, "a new file", "an existing one", "another folder")
    try:
        return Path(pooch.retrieve(url + record.path, f"sha256:{record.sha256}", file.name, folder))
    except (ValueError, OSError) as error:  # a different checksum, or no answer
        raise mismatch(name, f"the record at {url}{record.path}", error, "again later") from None


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
    """Yield lines about the columns that were read, the columns that were not used, and the first ten gaps."""
    yield f"read: {', '.join(f'{meaning} from {column}' for column, meaning in table.origins.items())}"
    if table.unused:
        radiation = "; radiation is never read" * any("rad" in column.lower() for column in table.unused)
        yield f"not used: {', '.join(table.unused)}{radiation}"
    if not np.isnan(table.altitude):
        yield f"altitude of the station: {table.altitude:g} m"
    rain = table.days.rain[np.isfinite(table.days.rain)]
    if table.rain_kind == "mm" and len(rain) and YEAR * rain.mean() < LEAST_RAIN:
        yield f"warning: less than {LEAST_RAIN} mm of rain a year; if it is in inches or cm, name the unit: Rain (inch)"
    yield from (f"gap: {gap}" for gap in table.describe_gaps(10))


def draw_record(table: WeatherTable, path: Path) -> None:
    """Draw each column over the dates (or the rows), with gaps where values are missing; needs the extra `plot`."""
    dates = np.array([table.find_date(row) or row for row in range(len(table))])
    lines = [Line("", values, colour, x=dates) for values, colour in zip(table.days, CHART_COLOURS, strict=True)]
    charts = [Chart(of.name, of.unit, 0, (line,), {}) for of, line in zip(COLUMNS, lines, strict=True)]
    draw_figure(charts, "date" if table.start_year else "row", 1, table.name).savefig(path, dpi=110)
