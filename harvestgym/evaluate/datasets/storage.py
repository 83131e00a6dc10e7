"""Demonstrations on disk: a Parquet file, or a folder with a Minari dataset."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from harvestgym.core.errors import ConfigError, check_extras

from . import parquet
from .episodes import Demonstrations

SUFFIX = ".parquet"


def write_demonstrations(demonstrations: Demonstrations, path: str | Path) -> Path:
    """Write episodes to a Parquet file if `path` ends in .parquet, else to a new folder as a Minari dataset.

    ConfigError if the path exists, or if there are no episodes. Needs the extra `data`, and `offline` for Minari.
    """
    path = Path(path)
    check_new(path)
    if not demonstrations.episodes:
        raise ConfigError(f"{path}: expected at least one episode, got none")
    form = _choose_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    form.write(demonstrations, path)
    return path


def check_new(path: Path) -> None:
    """Raise ConfigError if the path exists."""
    if path.exists():
        raise ConfigError(f"{path}: expected a new file, got an existing one; try another name")


def read_demonstrations(path: str | Path) -> Demonstrations:
    """Read episodes from a Parquet file or a Minari folder; ConfigError if there are none."""
    path = Path(path)
    if not path.exists():
        raise ConfigError(f"{path}: expected a file *{SUFFIX} or the folder of a Minari dataset, got nothing")
    return _choose_format(path).read(path)


def _choose_format(path: Path) -> ModuleType:
    """Return the module for the format of a path."""
    if path.suffix == SUFFIX:
        check_extras("demonstrations", data="pyarrow")
        return parquet
    check_extras("Minari dataset", offline="minari")
    from . import minari  # an optional extra

    return minari
