"""Demonstrations: what is written, as Parquet or for Minari, comes back bit for bit, and can be played again."""

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
from harvestgym import registry
from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate.datasets.demonstration_files import read_demonstrations, write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, Episode, collect_episodes, record_demonstrations
from harvestgym.farm import Farm
from harvestgym.farm.family import CATALOGUE
from harvestgym.farm.paper.action_tuples import Language, Request
from harvestgym.farm.paper.observation_items import ObservationPath
from harvestgym.gym.env import GymEnv
from tests.long_form import long

pytest.importorskip("pyarrow")

FARM = "farm/bean-1x1-v0"
LOOKS = "farm/paid-looks-1x1-v0"
FILES = ("kept.parquet", "kept-v3")
"""A file, and a folder that Minari reads."""


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


@pytest.mark.parametrize("file", FILES)
def test_what_is_written_comes_back(file: str, toy: str, tmp_path: Path) -> None:
    if file == FILES[1]:
        pytest.importorskip("minari")
    kept = [
        record_demonstrations("fishing/logistic-levels-v0", "random", 12, 3, Tmax=9),
        record_demonstrations("forager/flowers-v0", "planner", 2, horizon=30),
    ]
    env = harvestgym.make(toy)
    kept.append(Demonstrations(toy, "human", [*collect_episodes(GymEnv(env), lambda obs: obs["stock"][:1], (4, 5, 6))]))
    for i, one in enumerate(kept):
        back = read_demonstrations(write_demonstrations(one, tmp_path / str(i) / file))
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
def test_the_command_writes_seasons_of_a_farm_that_minari_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    minari = pytest.importorskip("minari")
    folder = tmp_path / "bean-expert-v0"
    result = CliRunner().invoke(app, ["record", FARM, "--episodes", "2", "--seed", "5", "--out", str(folder)])
    assert result.exit_code == 0 and "2 episodes" in result.output, result.output
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = minari.load_dataset("bean-expert-v0")
    env = dataset.recover_environment()
    assert env.unwrapped.core == harvestgym.make(FARM) and dataset.storage.metadata["algorithm_name"] == "expert"
    kept = read_demonstrations(folder).episodes
    for mine, theirs in zip(kept, dataset, strict=True):
        assert mine.observations.tobytes() == theirs.observations.tobytes() and theirs.truncations.sum() <= 1
        assert theirs.observations[0] in dataset.observation_space and theirs.actions[0] in dataset.action_space
        assert theirs.terminations[-1] or theirs.truncations[-1]
        assert mine.rewards.sum() > 0, "the expert earns"
    again = CliRunner().invoke(app, ["record", FARM, "--out", str(folder)])
    assert again.exit_code == 2 and "expected a new file" in again.output


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
    [({"rewards": [1.0, 2.0]}, "one observation .and info. more"),
     ({"infos": [{}]}, "got 2 observations, 1 infos"),
     ({"observations": [1, 2, 3][:1], "actions": [], "rewards": [], "terminated": [], "truncated": []}, "at least one"),
     ({"observations": [np.zeros(2), np.zeros(3)]}, "expected steps of the same structure")],
)  # fmt: skip
def test_an_episode_that_does_not_fit_together_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        episode(**({"infos": ()} | changes))


def test_what_is_no_demonstration_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("minari")
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
    (tmp_path / "folder").mkdir()
    for wrong, says in ((cut, "complete Parquet"), (other, "got another table"), (older, "got version 0"),
                        (tmp_path / "folder", "a Minari dataset"), (tmp_path / "none", "got neither")):  # fmt: skip
        with pytest.raises(ConfigError, match=says):
            read_demonstrations(wrong)


@pytest.fixture(scope="module")
def by_hand() -> Episode:
    """Record a season: a user looks at the soil each morning, wants water too early, and waters when it is dry."""
    farm, mornings = Farm.from_yaml(CATALOGUE / f"{LOOKS.partition('/')[2]}.yaml"), iter(range(1000))
    look = ("BasicFarmer-0", "Field-0", "Soil-0", "available_Water#L", [])
    water = ("BasicFarmer-0", "Field-0", "Soil-0", "watering_discrete")
    water = (*water, {"plot": (0, 0), "amount#L": 10, "duration#min": 60})

    def act(obs: Any) -> Any:
        early = not farm.acting and next(mornings) % 3 == 0
        dry = farm.acting and obs["values"][obs["mask"] > 0].min() < 100
        return farm.farmgymaction_to_gymaction([water] if dry or early else [look])

    return next(collect_episodes(farm, act, [4]))


@long
@pytest.mark.parametrize("file", FILES)
def test_a_season_in_the_language_of_the_paper_is_kept_as_one_of_its_id(
    file: str, by_hand: Episode, tmp_path: Path
) -> None:
    if file == FILES[1]:
        pytest.importorskip("minari")
    back = read_demonstrations(
        write_demonstrations(Demonstrations(LOOKS, "human", [by_hand]), tmp_path / file)
    ).episodes[0]
    assert list_parts(back) == list_parts(by_hand)


@long
def test_a_season_in_the_language_of_the_paper_is_played_again_by_its_id(by_hand: Episode) -> None:
    one, env = by_hand, GymEnv(harvestgym.make(LOOKS))
    assert one.actions["request"].any() and one.actions["order"].any(), "looked, and watered"
    assert not one.actions["order"][::2].any() and not one.actions["request"][1::2].any(), "each in its half of the day"
    done = iter([jax.tree.map(lambda v: v[i], one.actions) for i in range(len(one))])  # noqa: B023
    again = next(collect_episodes(env, lambda obs: next(done), [4]))
    assert len(again) == len(one) > 20 and np.unique(again.rewards).size > 3
    for mine, theirs in zip(jax.tree.leaves(tree_parts(one)), jax.tree.leaves(tree_parts(again)), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_schedule_is_kept_as_numbers_and_nothing_is_rounded() -> None:
    model: Any = harvestgym.make("farm/full-3x4-v0")
    language, me = Language(model, []), ("BasicFarmer-0", "Field-0")
    said = [
        (*me, "Facility-0", "put_scarecrow", {"type": "advanced"}),
        (*me, "Soil-0", "watering_discrete", {"plot": (2, 1), "amount#L": 20.0, "duration#min": 60.0}),
    ]
    numbers = language.to_model_action([language.to_pair(action) for action in language.from_tuples(said)], True)
    assert numbers.shape == (4,) and not numbers[2:].any()
    assert [model.actions.write(model.actions.order(int(n))) for n in numbers[:2]] == said


def test_observing_one_plot_in_integer_form_is_refused() -> None:
    model: Any = harvestgym.make("farm/full-3x4-v0", mode="ao")
    ask = ObservationPath(("Field-0", "Plant-0"), "population#nb", (0, 0))
    language = Language(model, [ask, ask._replace(plot=None)])
    part, whole = (language.to_pair(Request(0, one)) for one in language.paths)
    assert (
        language.to_model_action([whole], False)["request"].sum() == 1
        and not language.to_model_action([whole], True)["order"].any()
    )
    with pytest.raises(ConfigError, match="Field-0/Plant-0/population#nb: in integer form, expected a request"):
        language.to_model_action([part], False)
