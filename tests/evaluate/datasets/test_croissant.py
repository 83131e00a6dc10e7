"""The metadata of a dataset describes every column of its file, and the reference library accepts it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from harvestgym.evaluate.datasets.croissant import write_metadata
from harvestgym.evaluate.datasets.episodes import record_demonstrations
from harvestgym.evaluate.datasets.storage import write_demonstrations

pq = pytest.importorskip("pyarrow.parquet")

ID = "fishing/logistic-levels-v0"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demonstrations(
        record_demonstrations(ID, "expert", 2, Tmax=4), tmp_path_factory.mktemp("d") / "few.parquet"
    )


def test_every_column_is_described(data: Path) -> None:
    path = write_metadata(data)
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


@pytest.mark.filterwarnings("ignore")
def test_the_reference_library_accepts_it(data: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    dataset = croissant.Dataset(jsonld=str(write_metadata(data)))
    assert not dataset.metadata.ctx.issues.errors and not dataset.metadata.ctx.issues.warnings
    rows = list(dataset.records("steps"))
    assert len(rows) == 2 * 5 and rows[0]["steps/step"] == 0
