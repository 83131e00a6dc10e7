"""Demonstrations as a Minari dataset: they come back bit for bit, and Minari makes their environment."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.episodes import Demonstrations, record_demonstrations
from tests.load_script import script
from tests.long_form import long

minari = pytest.importorskip("minari")

EXAMPLE = script("examples/minari_dataset.py")
FARM = "farm/bean-1x1-v0"


@pytest.fixture(scope="module")
def recorded() -> Demonstrations:
    return record_demonstrations("fishing/logistic-levels-v0", "random", 3, 3, Tmax=4)


def test_what_is_written_comes_back(recorded: Demonstrations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foragers = record_demonstrations("forager/flowers-v0", "planner", 2, horizon=30)
    monkeypatch.chdir(tmp_path)
    for name, kept in (("levels-v0", recorded), ("flowers", foragers)):
        EXAMPLE.write(kept, Path("folder") / name)
        back = EXAMPLE.read(Path("folder") / name)
        assert (back.id, back.by, back.overrides, back.steps) == (kept.id, kept.by, kept.overrides, kept.steps)
        for mine, theirs in zip(kept.episodes, back.episodes, strict=True):
            leaves, tree = jax.tree.flatten(vars(mine) | {"infos": dict(mine.infos)})
            others, same = jax.tree.flatten(vars(theirs) | {"infos": dict(theirs.infos)})
            assert tree == same
            for one, other in zip(leaves, others, strict=True):
                assert one == other if isinstance(one, int) else one.tobytes() == other.tobytes()
    assert sorted(entry.name for entry in (tmp_path / "folder").iterdir()) == ["flowers", "levels-v0"]


def test_a_failure_leaves_no_folder_and_nothing_is_overwritten(recorded: Demonstrations, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        EXAMPLE.write(dataclasses.replace(recorded, overrides={"Tmax": "many"}), tmp_path / "broken-v0")
    assert not list(tmp_path.iterdir())
    EXAMPLE.write(recorded, tmp_path / "levels-v0")
    with pytest.raises(ConfigError, match="expected a new folder"):
        EXAMPLE.write(recorded, tmp_path / "levels-v0")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a Minari dataset"):
        EXAMPLE.read(tmp_path)


@long
def test_minari_reads_seasons_of_a_farm_and_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = record_demonstrations(FARM, "expert", 2, 5)
    EXAMPLE.write(kept, tmp_path / "bean-expert-v0")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset("bean-expert-v0")
    env = dataset.recover_environment()
    assert env.unwrapped.core == harvestgym.make(FARM) and dataset.storage.metadata["algorithm_name"] == "expert"
    for mine, theirs in zip(kept.episodes, dataset, strict=True):
        assert mine.observations.tobytes() == theirs.observations.tobytes() and theirs.truncations.sum() <= 1
        assert theirs.observations[0] in dataset.observation_space and theirs.actions[0] in dataset.action_space
        assert theirs.terminations[-1] or theirs.truncations[-1]
