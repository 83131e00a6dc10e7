"""The metadata of a dataset describes every column of its file, and the reference library accepts it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from gymnasium.wrappers import TimeLimit

import harvestgym
from examples.gymnasium_episodes import collect_episodes
from harvestgym.evaluate.datasets.demonstration_files import write_demonstrations
from harvestgym.evaluate.datasets.episodes import Demonstrations, record_demonstrations
from harvestgym.gym.env import GymEnv
from tests.load_script import script

pq = pytest.importorskip("pyarrow.parquet")

EXAMPLE = script("examples/croissant.py")

ID = "fishing/logistic-levels-v0"
OTHERS = ("farm/bean-1x1-v0", "forager/two-biome-v0")


def record_random(id: str, path: Path) -> Path:
    """Write two short episodes of random actions."""
    env = TimeLimit(GymEnv(harvestgym.make(id)), 4)
    env.action_space.seed(0)
    episodes = [*collect_episodes(env, lambda obs: env.action_space.sample(), (0, 1))]
    return write_demonstrations(Demonstrations(id, "any", episodes), path)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demonstrations(
        record_demonstrations(ID, "expert", 2, Tmax=4), tmp_path_factory.mktemp("d") / "few.parquet"
    )


def test_every_column_is_described(data: Path) -> None:
    path = EXAMPLE.write_metadata(data)
    assert path == data.with_name("few.croissant.json")
    about = json.loads(path.read_text(encoding="utf-8"))
    fields = about["recordSet"][0]["field"]
    assert [field["source"]["extract"]["column"] for field in fields] == pq.read_schema(data).names
    types = {field["name"].removeprefix("steps/"): field for field in fields}
    assert types["reward"]["dataType"] == "sc:Float" and types["terminated"]["dataType"] == "sc:Boolean"
    assert types["step"]["dataType"] == "sc:Integer" and types["observation"]["repeated"]
    assert about["distribution"][0]["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert ID in about["description"] and '{"Tmax": 4}' in about["description"]
    assert {"rai:dataCollection", "rai:dataBiases", "rai:dataLimitations", "rai:dataUseCases"} <= set(about)


def test_the_metadata_name_the_command_that_records_the_file_again(tmp_path: Path) -> None:
    path = write_demonstrations(record_demonstrations(ID, "random", 2, seed=3), tmp_path / "random.parquet")
    command = f"harvestgym record {ID} --policy random --episodes 2 --seed 3 --out NAME.parquet"
    assert command in EXAMPLE.describe(path)["rai:dataCollection"]


def test_no_command_records_the_episodes_of_an_unknown_policy(data: Path, tmp_path: Path) -> None:
    unknown = record_random(ID, tmp_path / "any.parquet")
    assert "harvestgym record" not in EXAMPLE.describe(data)["rai:dataCollection"], "it has overrides"
    assert "harvestgym record" not in EXAMPLE.describe(unknown)["rai:dataCollection"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("id", (ID, *OTHERS))
def test_the_reference_library_accepts_it(id: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    croissant = pytest.importorskip("mlcroissant")
    path = record_random(id, tmp_path / "few.parquet")
    dataset = croissant.Dataset(jsonld=str(EXAMPLE.write_metadata(path)))
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    assert not caplog.records, "a warning that the context is not standard"
    rows = list(dataset.records("steps"))
    assert len(rows) == pq.read_metadata(path).num_rows and rows[0]["steps/step"] == 0
    assert set(rows[0]) == {field["@id"] for field in EXAMPLE.describe(path)["recordSet"][0]["field"]}


def test_names_of_columns_that_differ_in_special_characters_differ() -> None:
    assert EXAMPLE.name_fields(["info/a b", "info/a#b", "info/a_b"]) == [
        "steps/info/a_b",
        "steps/info/a_b_2",
        "steps/info/a_b_3",
    ]
