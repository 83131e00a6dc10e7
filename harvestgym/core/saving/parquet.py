"""Named arrays in a Parquet file: an array with several axes becomes a column of lists with a stored shape.

Used for datasets, exports and sweeps. Needs the extra `data`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harvestgym.core.errors import check_extras, mismatch

from .partial_file import replacing


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
