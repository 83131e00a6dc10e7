"""Readers of trial files: plots of pyfao56 (`.par`, `.sol`, `.irr`, `.sws`, `.wth`) and tables of agridat."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
"""The measured data, in a folder next to the clone; they are not part of the project."""

STARS = "*" * 72


class Layers(NamedTuple):
    """Layers of soil from the surface down.

    Attributes:
        bottom: cm, (layers,).
        capacity, wilting, initial: water at field capacity, at the wilting point and at the start, as fractions of the
            volume, (layers,).
    """

    bottom: np.ndarray
    capacity: np.ndarray
    wilting: np.ndarray
    initial: np.ndarray


def read_parameters(path: Path) -> dict[str, float]:
    """Return the numbers of a `.par` file by name."""
    found = (re.match(r"\s*([-\d.]+)\s+(\w+),", line) for line in path.read_text(encoding="utf-8").splitlines())
    return {match[2]: float(match[1]) for match in found if match}


def read_layers(path: Path) -> Layers:
    """Read the layers of a `.sol` file."""
    return Layers(*np.array([row for row in _read_rows(path)[1:]], float).T)


def read_irrigation(path: Path) -> dict[int, float]:
    """Return the irrigation of an `.irr` file, mm by day of the year; days with 0 mm are left out."""
    rows = [(_read_day(row[0]), float(row[1])) for row in _read_rows(path)[1:]]
    return {day: amount for day, amount in rows if amount > 0}


def read_measured_days(path: Path) -> np.ndarray:
    """Return the days of the year on which the soil water of a `.sws` file was measured."""
    return np.array([_read_day(row[0]) for row in _read_rows(path)[1:]])


def read_measured_water(path: Path, depth: float) -> np.ndarray:
    """Return the soil water of a `.sws` file, mm from the surface to `depth` (cm), on each day of measurement."""
    found = []
    for row in _read_rows(path)[1:]:
        n = int(row[1])
        bottom, content = np.array(row[2 : 2 + 2 * n], float).reshape(2, n)
        found.append(water_to_depth(bottom, content, depth))
    return np.array(found)


def water_to_depth(bottom: np.ndarray, content: np.ndarray, depth: float) -> float:
    """Return the water from the surface to a depth, mm.

    Args:
        bottom: lower end of each layer, cm, increasing.
        content: water as a fraction of the volume of each layer.
        depth: cm; not below the last layer.

    Raises:
        ValueError: if the layers end above `depth`.
    """
    if bottom[-1] < depth:
        raise ValueError(f"depth: expected at most {bottom[-1]:g} cm, the end of the last layer, got {depth:g}")
    edges = np.minimum(np.concatenate([[0.0], bottom]), depth)
    return float(10 * (np.diff(edges) * content).sum())


def copy_weather(path: Path, out: Path) -> None:
    """Copy a `.wth` file without the rows whose day does not exist, such as day 366 of 2023."""
    kept = [line for line in path.read_text(encoding="utf-8").splitlines() if not _is_impossible(line)]
    out.write_text("\n".join(kept) + "\n", encoding="utf-8")


@contextmanager
def open_weather(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary `copy_weather`, which the readers of the package accept."""
    with tempfile.TemporaryDirectory() as folder:
        copy_weather(path, Path(folder) / path.name)
        yield Path(folder) / path.name


def read_columns(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the named columns of a table of agridat, as texts; no other column is read."""
    head, *rows = [
        [cell.strip().strip('"') for cell in line.split("\t")] for line in path.read_text("utf-8").splitlines()
    ]
    return {name: np.array([row[head.index(name)] for row in rows if len(row) == len(head)]) for name in names}


def _is_impossible(line: str) -> bool:
    found = re.match(r"(\d{4})-366\b", line)
    return found is not None and not (int(found[1]) % 4 == 0 and (int(found[1]) % 100 or int(found[1]) % 400 == 0))


def _read_day(text: str) -> int:
    return int(text.partition("-")[2])


def _read_rows(path: Path) -> list[list[str]]:
    """Return the cells of the lines below the last row of stars."""
    lines = path.read_text(encoding="utf-8").splitlines()
    last = max(i for i, line in enumerate(lines) if line.strip() == STARS)
    return [line.split() for line in lines[last + 1 :] if line.strip()]
