"""Demonstrations: what is written comes back bit for bit, and can be played again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner

import harvestgym
from examples.gymnasium_episodes import collect_episodes
from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode, record_demonstrations
from harvestgym.gym.env import GymEnv
from tests.long_form import long

pytest.importorskip("pyarrow")

FARM = "farm/bean-1x1-v0"


def bits(tree: Any) -> list[tuple[str, str, tuple[int, ...], bytes]]:
    found = jax.tree_util.tree_leaves_with_path(tree)
    return [(jax.tree_util.keystr(at), str(v.dtype), v.shape, v.tobytes()) for at, v in found]


def list_parts(one: Episode) -> list[Any]:
    return [one.seed, bits(one.observations), bits(one.actions), bits([one.rewards, one.terminated, one.truncated]),
            bits(dict(one.infos))]  # fmt: skip


@pytest.fixture
def toy() -> Iterator[str]:
    """Yield an id whose observations are dicts of three kinds of parts."""
    harvestgym.register("toy/box-stock-v0", "tests.toy_env:BoxStock")
    yield "toy/box-stock-v0"
    registry.unregister("toy/box-stock-v0")


def test_what_is_written_comes_back(toy: str, tmp_path: Path) -> None:
    kept = [
        record_demonstrations("fishing/logistic-levels-v0", "random", 12, 3, Tmax=9),
        record_demonstrations("forager/flowers-v0", "planner", 2, horizon=30),
    ]
    env = harvestgym.make(toy)
    kept.append(Demonstrations(toy, "human", [*collect_episodes(GymEnv(env), lambda obs: obs["stock"][:1], (4, 5, 6))]))
    for i, one in enumerate(kept):
        back = read_demonstrations(write_demonstrations(one, tmp_path / f"{i}.parquet"))
        assert (back.id, back.by, back.overrides, back.steps) == (one.id, one.by, one.overrides, one.steps)
        assert [list_parts(e) for e in back.episodes] == [list_parts(e) for e in one.episodes]
    for one in kept[0].episodes:
        assert (one.terminated | one.truncated).tolist() == [False] * (len(one) - 1) + [True]
    assert len({len(one) for one in kept[0].episodes}) > 1


@long
def test_an_episode_is_played_again_from_its_seed() -> None:
    for id, policy, overrides in (
        ("fishing/logistic-random-v0", "random", {}),
        ("forager/flowers-v0", "planner", {"horizon": 30}),
    ):
        env = GymEnv(harvestgym.make(id, **overrides))
        for one in record_demonstrations(id, policy, 2, 11, **overrides).episodes:
            done = iter(range(len(one)))
            again = next(collect_episodes(env, lambda obs: one.actions[next(done)], [one.seed or 0]))  # noqa: B023
            for mine, theirs in zip(jax.tree.leaves(tree_parts(one)), jax.tree.leaves(tree_parts(again)), strict=True):
                assert mine.dtype == theirs.dtype
                np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def tree_parts(one: Episode) -> Any:
    return one.observations, one.rewards, one.terminated, one.truncated, dict(one.infos)


@long
def test_the_command_writes_seasons_of_a_farm(tmp_path: Path) -> None:
    path = tmp_path / "bean.parquet"
    result = CliRunner().invoke(app, ["record", FARM, "--episodes", "2", "--seed", "5", "--out", str(path)])
    assert result.exit_code == 0 and "2 episodes" in result.output, result.output
    assert all(one.rewards.sum() > 0 for one in read_demonstrations(path).episodes), "the expert earns"
    again = CliRunner().invoke(app, ["record", FARM, "--out", str(path)])
    assert again.exit_code == 2 and "expected a new file" in again.output
    other = CliRunner().invoke(app, ["record", FARM, "--out", str(tmp_path / "bean-v0")])
    assert other.exit_code == 2 and "expected a file name ending in .parquet" in other.output


def episode(**changes: Any) -> Episode:
    steps: dict[str, Any] = {
        "observations": [np.float32([0.1]), np.float32([0.2])], "actions": [np.float32([0.5])], "rewards": [1.0],
        "terminated": [False], "truncated": [True],
        "infos": [{"stock": 0.5, "who": "me", "some": 1}, {"stock": 0.4, "who": "me"}],
    }  # fmt: skip
    return Episode.of(**(steps | changes))


def test_a_persons_episode_is_taken_step_by_step() -> None:
    one = episode(truncated=[False])
    assert one.truncated.tolist() == [True], "a season that was broken off is truncated"
    assert one.observations.tolist() == np.float32([[0.1], [0.2]]).tolist() and len(one) == 1
    assert {name: (str(v.dtype), v.shape) for name, v in one.infos.items()} == {"stock": ("float32", (2,))}


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"rewards": [1.0, 2.0]}, "one more observation .and info. than"),
     ({"infos": [{}]}, "got 2 observations, 1 infos"),
     ({"observations": [1, 2, 3][:1], "actions": [], "rewards": [], "terminated": [], "truncated": []}, "at least one"),
     ({"observations": [np.zeros(2), np.zeros(3)]}, "expected steps of the same structure")],
)  # fmt: skip
def test_an_episode_that_does_not_fit_together_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        episode(**({"infos": ()} | changes))


def test_what_is_no_demonstration_is_refused(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    from harvestgym.evaluate.datasets.demonstration_files import FORMAT

    kept = Demonstrations("fishing/logistic-v0", "human", [episode()])
    with pytest.raises(ConfigError, match="at least one episode"):
        write_demonstrations(Demonstrations("fishing/logistic-v0", "human", []), tmp_path / "a.parquet")
    path = write_demonstrations(kept, tmp_path / "a.parquet")
    with pytest.raises(ConfigError, match="expected a new file"):
        write_demonstrations(kept, path)
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(path.read_bytes()[:-9])
    other, older, table = tmp_path / "b.parquet", tmp_path / "c.parquet", pyarrow.table({"x": [1]})
    pyarrow.parquet.write_table(table, other)
    pyarrow.parquet.write_table(table.replace_schema_metadata({FORMAT: json.dumps({"version": 0})}), older)
    for wrong, says in ((cut, "complete Parquet"), (other, "got another table"), (older, "got version 0"),
                        (tmp_path / "none", "got no suffix")):  # fmt: skip
        with pytest.raises(ConfigError, match=says):
            read_demonstrations(wrong)
