"""Files that are written under a temporary name and then renamed, so that a file that exists is complete.

Datasets, exports and sweeps are Parquet files of named arrays (extra `data`): an array with several axes becomes a
column of lists with a stored shape.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.errors import check_extras, mismatch

PARTIAL = ".partial"
"""The suffix of a file while it is being written."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; at the end of the block, its file replaces the file at `path`, unless there was an error.

    Several processes may write the same file.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_parquet(path: Path, columns: Mapping[str, np.ndarray], about: Mapping[bytes, str] | None = None) -> None:
    """Write arrays, each with one entry of any shape per row, and metadata for the file."""
    check_extras("table", data="pyarrow")
    import pyarrow
    import pyarrow.parquet

    with replacing(path) as partial:
        pyarrow.parquet.write_table(_make_arrow_table(columns, about), partial)


def _make_arrow_table(columns: Mapping[str, np.ndarray], about: Mapping[bytes, str] | None) -> Any:
    import pyarrow

    arrays, fields = [], []
    for name, values in columns.items():
        array, shape = pyarrow.array(values.ravel()), {}
        if values.ndim > 1:
            array = pyarrow.FixedSizeListArray.from_arrays(array, int(np.prod(values.shape[1:])))
            shape = {"shape": json.dumps(values.shape[1:])}
        arrays.append(array)
        fields.append(pyarrow.field(name, array.type, metadata=shape))
    return pyarrow.table(arrays, schema=pyarrow.schema(fields, metadata=about))


def read_column(table: Any, name: str) -> np.ndarray:
    """Return a column as an array in its original shape."""
    column, shape = table[name].combine_chunks(), (table.schema.field(name).metadata or {}).get(b"shape")
    if shape is None:
        return column.to_numpy(zero_copy_only=False)
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, *json.loads(shape))


def read_parquet(path: Path) -> Any:
    """Read a Parquet file as a table; raise ConfigError if it is missing or damaged."""
    check_extras("table", data="pyarrow")
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise mismatch(path, "a complete Parquet file", error) from None
