"""Formats of weather files, recognised by their content: the position of the column names, and the meaning of each."""

from __future__ import annotations

import csv
import datetime
import gzip
import io
import json
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError, mismatch, require
from harvestgym.core.yaml_io import read_text

from .columns import KNOWN, QUANTITIES

CellColumns = Mapping[str, Sequence[Any]]


END_OF_FILE = " \t\x1a"
"""The characters of a line without content; the last of them ends old DOS files."""


class Sheet(NamedTuple):
    """The cells of a weather file by column.

    Attributes:
        format: the name of its format.
        columns: the meaning of each known column name, as in `columns.parse_meaning`, or "ignore".
        missing: the number that represents a missing value.
        altitude: altitude of the station in m; NaN if unknown.
    """

    format: str
    cells: CellColumns
    columns: Mapping[str, str]
    missing: float = np.nan
    altitude: float = np.nan


def _split_table(name: str, text: str) -> CellColumns:
    """Split a table with column names in its first line, separated by commas, semicolons or spaces.

    With semicolons, as in files from many European spreadsheets, numbers have a comma or a point.
    """
    lines = [line for line in text.splitlines() if line.strip(END_OF_FILE) and line[0] not in "!*"]
    if lines[0].count(";") > lines[0].count(","):
        lines = [line.translate(str.maketrans(";,", ",.")) for line in lines]
    try:
        rows = list(csv.reader(lines)) if "," in lines[0] else [_split_line(lines[0], line) for line in lines]
    except csv.Error as error:
        raise mismatch(name, "a CSV file", error) from None
    header = [cell.strip() for cell in rows[0]]
    if len(header) == 1 and (found := sorted(set("\t|") & set(lines[0]))):
        raise mismatch(name, "commas between the cells", repr(found[0]), "saving with commas, and points in numbers")
    check_names(name, header)
    for i, row in enumerate(rows[1:], 1):
        expected, hint = f"{len(header)} cells, as in the header", "points, not commas, in numbers"
        require(len(row) == len(header), f"{name}: row {i}", expected, len(row), hint)
    return {column: [row[j] for row in rows[1:]] for j, column in enumerate(header)}


def _split_line(head: str, line: str) -> list[str]:
    """Split a line at spaces or, if it has more or fewer cells than names, at the ends of the column names.

    In DSSAT's files, a cell may be blank, wide numbers touch, and a comment may follow. Numbers that are not below
    their names remain as they are.
    """
    head, cells = head.replace("@", " "), line.replace("@", " ").split()
    ends = [name.end() for name in re.finditer(r"\S+", head)]
    parts = [line[start:end].strip() for start, end in pairwise([0, *ends])]
    cut = [n for n, end in enumerate(ends) if not re.search(r"\s", line[end - 1 : end + 1].ljust(2))]
    touching = all(n + 1 < len(parts) and "." in parts[n] and "." in parts[n + 1] for n in cut)
    below = touching and not any(" " in part for part in parts)
    return parts if len(cells) != len(ends) and below else cells


def check_names(name: str, header: Sequence[str]) -> None:
    """Raise ConfigError for a column name that occurs twice."""
    for twice in sorted({cell for cell in header if list(header).count(cell) > 1}):
        raise mismatch(name, f"column {twice!r} once", "it twice", "keeping one")


def _split_station(name: str, text: str) -> CellColumns:
    """Split a GHCN-Daily file into a column per element.

    Values that failed a quality check are left out, as are temperature extremes in the wrong order.
    """
    if len(stations := sorted({line[:11] for line in text.splitlines() if len(line) > 11})) > 1:
        raise mismatch(name, "one station", ", ".join(stations[:3]), "the file of one station")
    read = _read_daily if re.match(r"[^,\n]*,", text) else _read_monthly
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            listed = list(read(line))
        except ValueError:
            hint = "the original file from NOAA"
            raise mismatch(f"{name}: line {number}", "a line of GHCN-Daily", repr(line[:30]), hint) from None
        for element, date, value in listed:
            if found.setdefault(element, {}).setdefault(date, value) != value:
                got = f"{found[element][date]:g} and {value:g}"
                raise mismatch(f"{name}: line {number}", f"{element} of {date} once", got, "keeping one")
    low, high = found.get("TMIN", {}), found.get("TMAX", {})
    for date in [date for date in low if low[date] > high.get(date, np.inf)]:  # one of the two is wrong
        del low[date], high[date]
    dates = sorted(set().union(*(found.get(element, {}) for element in ("TMIN", "TMAX", "PRCP"))))
    return {"DATE": dates} | {e: [of_date.get(date, "") for date in dates] for e, of_date in found.items()}


def _read_monthly(line: str) -> Iterator[tuple[str, str, float]]:
    """Yield element, date and value from lines of ID, year, month, element, 31 values with three flags each."""
    line = line.ljust(269)
    for day, at in enumerate(range(21, 269, 8), 1):
        value, quality = int(line[at : at + 5]), line[at + 6]
        if value != -9999 and quality == " ":
            yield line[17:21], str(datetime.date(int(line[11:15]), int(line[15:17]), day)), value


def _read_daily(line: str) -> Iterator[tuple[str, str, float]]:
    """Yield element, date and value from lines of ID, date, element, value, three flags, hour."""
    _, day, element, value, _, quality, *_ = line.split(",")
    if not quality:
        yield element, str(datetime.datetime.strptime(day, "%Y%m%d").date()), float(value)


class Format(NamedTuple):
    """A format of weather files, as described at the top of `formats.yaml`."""

    header: str
    columns: Mapping[str, str]
    missing: float = np.nan
    altitude: str = ""
    height: str = ""
    layout: str = "table"


FORMATS: Mapping[str, Format] = {name: Format(**of) for name, of in KNOWN["formats"].items()}

OWN = {name: name for name in QUANTITIES}
"""The columns of our own tables; any other column is an error."""


def read_sheet(source: Any, name: str, columns: Collection[str] = ()) -> Sheet:
    """Read a file in one of `FORMATS`, a CSV file with our own columns (both given by path), or a data frame.

    `columns` are other columns that the caller can read.
    """
    if hasattr(source, "columns"):
        return _read_frame(source, name)
    text = _read_file(Path(source))
    text = _join_json(name, text) if text.lstrip().startswith("{") else text
    require(text.strip(), name, "a header and one row per day", "an empty file")
    for kind, format in FORMATS.items():
        if found := re.search(format.header, text, re.MULTILINE):
            return _read_known(kind, format, name, text[: found.start()], text[found.start() :])
    line = text.strip().partition("\n")[0]
    if line[0] in "!*" or not (set(re.findall(r"\w+", line)) & set(OWN) or any(column in line for column in columns)):
        expected = f"expected columns named {', '.join(OWN)}, or a file in one of the formats {', '.join(FORMATS)}"
        raise ConfigError(f"{name}: {expected}, got {line[:60]!r}; try renaming them, or the option `columns`")
    return Sheet("", _split_table(name, text), OWN)


def _read_known(kind: str, format: Format, name: str, above: str, text: str) -> Sheet:
    about = [_find_number(pattern, above) for pattern in (format.altitude, format.height)]
    altitude, height = (np.nan if value == format.missing else value for value in about)
    at = f" at {height:g} m" if height > 0 else ""
    columns = {column: meaning + at * meaning.startswith("U") for column, meaning in format.columns.items()}
    split = _split_station if format.layout == "station" else _split_table
    return Sheet(kind, split(name, text), columns, format.missing, altitude)


def _find_number(pattern: str, text: str) -> float:
    found = re.search(pattern, text, re.MULTILINE) if pattern else None
    return parse_number(found[1]) if found else np.nan


def parse_number(cell: Any) -> float:
    """Return a cell as a number; NaN if it is not a number."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


def _read_file(path: Path) -> str:
    """Return the text of a file, which may be compressed with gzip."""
    raw = path.read_bytes() if path.is_file() else b""
    if raw[:2] != b"\x1f\x8b":
        return read_text(path, "utf-8-sig")
    try:
        return gzip.decompress(raw).decode()
    except (EOFError, OSError, zlib.error, UnicodeDecodeError) as error:
        raise mismatch(path, "text compressed with gzip", error) from None


def _join_json(name: str, text: str) -> str:
    """Rewrite the JSON of NASA POWER or Open-Meteo as their CSV, with the units in the column names."""
    try:
        data = json.loads(text)
        if "daily" in data:
            units, above = data["daily_units"], f"latitude,longitude,elevation\n0,0,{data.get('elevation')}\n"
            columns = {"time": data["daily"]["time"]} | data["daily"]
        else:
            units = {key: of.get("units", "") for key, of in data.get("parameters", {}).items()}
            found, above = data["properties"]["parameter"], f"region = {data['geometry']['coordinates'][2]} meters\n"
            dates = sorted(set().union(*found.values()))
            columns = {"DATE": dates} | {key: [of.get(date) for date in dates] for key, of in found.items()}
        names = [f"{key} ({units[key]})" if units.get(key) and i else key for i, key in enumerate(columns)]
        rows = zip(*columns.values(), strict=True)
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([names, *rows])
        return above + out.getvalue()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        expected, got = "daily values of NASA POWER or Open-Meteo in JSON", f"a different layout ({error})"
        raise mismatch(name, expected, got, "the unmodified download") from None


def _read_frame(frame: Any, name: str) -> Sheet:
    header = [str(c) for c in frame.columns]
    check_names(name, header)
    cells: dict[str, Sequence[Any]] = {column: list(frame[c]) for column, c in zip(header, frame.columns, strict=True)}
    if hasattr(getattr(frame, "index", None), "dayofyear"):
        cells = {"Date": list(frame.index)} | cells
    return Sheet("", cells, OWN)
