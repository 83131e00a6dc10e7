"""Demonstrations on disk: the path chooses the format, and nothing is overwritten."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, record_demonstrations
from harvestgym.evaluate.export import check_new

pytest.importorskip("pyarrow")

ID, YEARS = "fishing/logistic-levels-v0", 4
PATHS = ["kept.parquet", "new/below/kept.parquet", pytest.param("folder-v2", id="minari")]


@pytest.fixture(scope="module")
def recorded() -> Demonstrations:
    return record_demonstrations(ID, "expert", 2, Tmax=YEARS)


@pytest.mark.parametrize("name", PATHS)
def test_a_path_chooses_its_format(name: str, recorded: Demonstrations, tmp_path: Path) -> None:
    if not name.endswith(".parquet"):
        pytest.importorskip("minari")
    path = write_demonstrations(recorded, str(tmp_path / name))
    assert path == tmp_path / name and path.is_dir() != name.endswith(".parquet")
    back = read_demonstrations(str(path))
    assert (back.id, back.by, back.overrides, back.steps) == (ID, "expert", {"Tmax": YEARS}, recorded.steps)
    for mine, theirs in zip(back.episodes, recorded.episodes, strict=True):
        np.testing.assert_array_equal(mine.observations, theirs.observations)
        np.testing.assert_array_equal(mine.actions, theirs.actions)


def test_a_relative_folder_holds_the_same_dataset(
    recorded: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("minari")
    monkeypatch.chdir(tmp_path)
    path = write_demonstrations(recorded, Path("folder") / "logistic-v0")
    back = read_demonstrations(path)
    np.testing.assert_array_equal(back.episodes[0].rewards, recorded.episodes[0].rewards)
    assert [entry.name for entry in (tmp_path / "folder").iterdir()] == ["logistic-v0"]


def test_a_failure_leaves_no_folder(recorded: Demonstrations, tmp_path: Path) -> None:
    pytest.importorskip("minari")
    broken = dataclasses.replace(recorded, overrides={"Tmax": "many"})
    with pytest.raises(ConfigError):
        write_demonstrations(broken, tmp_path / "broken-v0")
    assert not list(tmp_path.iterdir())


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


def test_an_absent_path_is_refused_with_both_formats(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"expected a file \*.parquet or the folder of a Minari dataset"):
        read_demonstrations(tmp_path / "absent.parquet")
