"""Files that are written under a temporary name and then renamed, so that a file that exists is complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
