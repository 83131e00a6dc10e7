"""The folder of a sweep: one Parquet file per case, named after its digest, and `sweep.json` with cases and failures.

A file is written under a temporary name and then renamed, so a file that exists is complete. `sweep.json` describes
the last sweep written to the folder; files of earlier sweeps remain and are reused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import mismatch, require
from harvestgym.core.saving.files import PARTIAL, read_column, read_parquet, replacing, write_parquet

from .cases import SweepCase, read_package_version

MANIFEST, SUFFIX = "sweep.json", ".parquet"
MAGIC = b"PAR1"
"""The first and the last four bytes of a complete Parquet file."""

Columns = Mapping[str, np.ndarray]
"""The columns of a case by name, with one entry per row."""


class FolderStatus(NamedTuple):
    """The state of the last sweep written to a folder.

    Attributes:
        total, done: number of cases, and of cases with a complete file.
        failures: messages of cases that failed, by the text of the case.
        incomplete: damaged files of cases; the next sweep runs these cases again.
    """

    total: int
    done: int
    failures: dict[str, str]
    incomplete: list[Path]


def open_folder(out: Path) -> None:
    """Create the folder, or remove the incomplete files of an interrupted sweep from it."""
    require(out.is_dir() or not out.exists(), out, "a folder", "a file", "another name")
    out.mkdir(parents=True, exist_ok=True)
    for path in out.glob(f"*{PARTIAL}"):
        path.unlink(missing_ok=True)


def find_result_path(out: Path, case: SweepCase) -> Path:
    """Return the path of the result file of a case."""
    return out / f"{case.digest}{SUFFIX}"


def is_complete(path: Path) -> bool:
    """Return whether a file exists and is a complete Parquet file, based on its first and last bytes."""
    try:
        with path.open("rb") as file:
            start = file.read(4)
            file.seek(-4, os.SEEK_END)
            return start == file.read(4) == MAGIC and file.tell() > 2 * len(MAGIC)
    except OSError:
        return False


def write_result(out: Path, case: SweepCase, columns: Columns) -> None:
    """Write the rows of a case with its labels."""
    rows = len(next(iter(columns.values())))
    labels = {name: np.full(rows, value) for name, value in case.labels.items() if value is not None}
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    write_parquet(find_result_path(out, case), labels | arrays)


def read_result(out: Path, case: SweepCase) -> dict[str, np.ndarray]:
    """Read the columns of a case, without its labels."""
    table = read_parquet(find_result_path(out, case))
    return {name: read_column(table, name) for name in table.column_names if name not in case.labels}


def read(out: str | Path) -> Any:
    """Read the rows of all complete cases of the last sweep in a folder as one `pyarrow.Table`.

    If a case lacks a column, its rows are null in this column. A label that is a number in some cases and text in
    others becomes text.
    """
    out = Path(out)
    paths = [out / f"{digest}{SUFFIX}" for digest in _read_manifest(out)["cases"]]
    tables = [read_parquet(path) for path in paths if is_complete(path)]
    require(tables, out, "at least one complete case", "none", "running the sweep")
    return _concatenate(tables)


def read_labels(out: str | Path) -> list[str]:
    """Read the names of the columns that label the cases of the last sweep in a folder."""
    return _read_manifest(Path(out))["labels"]


def _concatenate(tables: Sequence[Any]) -> Any:
    import pyarrow

    fields = (field for table in tables for field in table.schema)
    text = {field.name for field in fields if pyarrow.types.is_string(field.type)}
    alike = [_cast_to_text(table.replace_schema_metadata(), text) for table in tables]
    return pyarrow.concat_tables(alike, promote_options="permissive")


def _cast_to_text(table: Any, names: set[str]) -> Any:
    for name in names & set(table.column_names):
        table = table.set_column(table.column_names.index(name), name, table[name].cast("string"))
    return table


def write_manifest(out: Path, cases: Sequence[SweepCase], failures: Mapping[SweepCase, str]) -> None:
    """Write the cases of a sweep, and the messages of the cases that failed."""
    data = {
        "version": read_package_version(),
        "labels": list(dict.fromkeys(name for case in cases for name in case.labels)),
        "cases": {case.digest: case.text for case in cases},
        "failures": {case.text: message for case, message in failures.items()},
    }
    with replacing(out / MANIFEST) as partial:
        partial.write_text(json.dumps(data, indent=1), encoding="utf-8")


def _read_manifest(out: Path) -> dict[str, Any]:
    path = out / MANIFEST
    require(path.is_file(), out, f"the folder of a sweep, with {MANIFEST}", "none", "another folder")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise mismatch(path, "JSON", error, "running the sweep again") from None


def find_status(out: str | Path) -> FolderStatus:
    """Count the cases of the last sweep in a folder that are done, failed or damaged."""
    out = Path(out)
    known = _read_manifest(out)
    paths = [out / f"{digest}{SUFFIX}" for digest in known["cases"]]
    done = [path for path in paths if is_complete(path)]
    incomplete = [path for path in set(paths) - set(done) if path.exists()]
    return FolderStatus(len(paths), len(done), known["failures"], sorted(incomplete))
