"""Read the record of an episode from a page written by `harvestgym run --html`, bit for bit.

    python read_replay.py page.html     # lists the arrays of the record

The page contains a table of the arrays (type, shape and position) and their bytes, compressed and in base64.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import zlib
from pathlib import Path

import numpy as np

from harvestgym.core.errors import ConfigError


def read_html(path: Path) -> dict[str, np.ndarray]:
    """Read the record from a page; raise ConfigError if the file is not such a page."""
    text = path.read_text(encoding="utf-8")
    story, arrays = (_find_element(text, name) for name in ("story", "arrays"))
    if story is None or arrays is None:
        raise ConfigError(f"{path}: expected a page written by `harvestgym run --html`, got a different file")
    raw = zlib.decompress(base64.b64decode(arrays))
    return {name: _unpack(raw, *place) for name, place in json.loads(story)["record"].items()}


def _find_element(text: str, name: str) -> str | None:
    found = re.search(rf'<script type="[a-z/]+" id="{name}">(.*?)</script>', text, re.DOTALL)
    return found[1] if found else None


def _unpack(raw: bytes, dtype: str, shape: list[int], place: int) -> np.ndarray:
    kind = np.dtype(dtype).newbyteorder("<")
    return np.frombuffer(raw, kind, int(np.prod(shape, dtype=int)), place).reshape(shape).astype(dtype)


def main(path: str) -> None:
    """Print the name, the type and the shape of each array."""
    for name, values in read_html(Path(path)).items():
        print(f"{name}: {values.dtype} {values.shape}")


if __name__ == "__main__":
    main(*sys.argv[1:])
