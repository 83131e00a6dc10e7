"""Demonstrations on disk: what is written comes back, and nothing is overwritten."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, record_demonstrations
from harvestgym.evaluate.export import check_new

pytest.importorskip("pyarrow")

ID, YEARS = "fishing/logistic-levels-v0", 4
PATHS = ["kept.parquet", "new/below/kept.parquet"]


@pytest.fixture(scope="module")
def recorded() -> Demonstrations:
    return record_demonstrations(ID, "expert", 2, Tmax=YEARS)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_written_comes_back(name: str, recorded: Demonstrations, tmp_path: Path) -> None:
    path = write_demonstrations(recorded, str(tmp_path / name))
    assert path == tmp_path / name and path.is_file()
    back = read_demonstrations(str(path))
    assert (back.id, back.by, back.overrides, back.steps) == (ID, "expert", {"Tmax": YEARS}, recorded.steps)
    for mine, theirs in zip(back.episodes, recorded.episodes, strict=True):
        np.testing.assert_array_equal(mine.observations, theirs.observations)
        np.testing.assert_array_equal(mine.actions, theirs.actions)


def test_nothing_is_overwritten(recorded: Demonstrations, tmp_path: Path) -> None:
    path = write_demonstrations(recorded, tmp_path / "kept.parquet")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="expected a new file, got an existing one; try another name"):
        write_demonstrations(recorded, path)
    with pytest.raises(ConfigError, match="expected a new"):
        check_new(tmp_path)
    assert path.read_bytes() == before


def test_no_episode_is_nothing_to_write(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected at least one episode, got none"):
        write_demonstrations(Demonstrations(ID, "human", []), tmp_path / "new" / "kept.parquet")
    assert not (tmp_path / "new").exists()


def test_an_absent_path_and_another_suffix_are_refused(recorded: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected a complete Parquet file"):
        read_demonstrations(tmp_path / "absent.parquet")
    with pytest.raises(
        ConfigError, match="expected a file name ending in .parquet, got no suffix; try .*folder-v2.parquet"
    ):
        write_demonstrations(recorded, tmp_path / "folder-v2")
    assert not list(tmp_path.iterdir())
