"""Cases are frozen data: the same in another process, and named by all that decides their rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from harvestgym.core.errors import ConfigError
from harvestgym.sweep.cases import CallCase, EpisodeCase, SweepCase, read_package_version
from harvestgym.sweep.engine import collect

CASE = EpisodeCase(id="farm/bean-1x1-v0", overrides={"mode": "fo", "entities": {"Soil-0": "sand"}}, seed=3)
CHANGES = {
    "id": "farm/corn-1x1-v0", "overrides": {"mode": "po", "soil": "sand"}, "policy": "random", "seed": 4, "episodes": 7,
    "split": "test", "groups": {"soil": ["entities/Soil-0"]},
    "chosen": {"soil": "light"},
}  # fmt: skip


def test_a_case_returns_from_its_text() -> None:
    again = SweepCase.from_text(CASE.text)
    assert again == CASE and hash(again) == hash(CASE) and isinstance(again, EpisodeCase)


def test_the_order_of_overrides_does_not_matter() -> None:
    other = EpisodeCase(id=CASE.id, overrides=dict(reversed(CASE.overrides.items())), seed=3)
    assert other.digest == CASE.digest


@pytest.mark.parametrize("field", CHANGES)
def test_every_field_changes_the_digest(field: str) -> None:
    assert CASE.model_copy(update={field: CHANGES[field]}).digest != CASE.digest


def test_every_field_is_tried() -> None:
    assert set(CHANGES) == set(EpisodeCase.model_fields)


def test_the_digest_is_that_of_another_process() -> None:
    code = "import sys; from harvestgym.sweep.cases import SweepCase; print(SweepCase.from_text(sys.argv[1]).digest)"
    done = subprocess.run([sys.executable, "-c", code, CASE.text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == CASE.digest


def test_the_digest_depends_on_the_package_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harvestgym.sweep.cases.read_package_version", lambda: f"{read_package_version()}.1")
    assert SweepCase.from_text(CASE.text).digest != CASE.digest


def test_the_digest_depends_on_the_contents_of_files(tmp_path: Path) -> None:
    farm, agent = tmp_path / "farm.yaml", tmp_path / "agent.py"
    digests = set()
    for text in ("one", "two"):
        for path in (farm, agent):
            path.write_text(text)
            if farm.exists() and agent.exists():
                digests.add(EpisodeCase(id=str(farm), policy=f"{agent}:make").digest)
    assert len(digests) == 3


def test_the_digest_depends_on_the_files_that_a_file_names(tmp_path: Path) -> None:
    contents = {
        "farm.yaml": "extends: parent\nfields: {Field-0: {entities: [{table: rain.csv}, 'kinds.py:Fungus']}}",
        "parent.yaml": "extends: grandparent", "grandparent.yaml": "doc: one", "rain.csv": "Day,Rain", "kinds.py": "",
        "tuned/farm.yaml": "rule: expert",
    }  # fmt: skip
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "other.yaml").write_text("doc: not named")
    farm = tmp_path / "farm.yaml"
    assert {str(path.relative_to(tmp_path)) for path in EpisodeCase(id=str(farm)).files} == set(contents)
    digests = {EpisodeCase(id=str(farm)).digest}
    for name, text in contents.items():
        (tmp_path / name).write_text(f"{text} # changed")
        digests.add(EpisodeCase(id=str(farm)).digest)
    assert len(digests) == 1 + len(contents)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="gone.yaml: expected a file, got No such file"):
        _ = EpisodeCase(id="gone.yaml").digest


def test_labels_are_the_paths_of_overrides() -> None:
    assert CASE.labels == {
        "id": CASE.id, "policy": "expert", "seed": 3, "entities/Soil-0": "sand", "mode": "fo",
    }  # fmt: skip
    assert EpisodeCase(id="a", overrides={"x": [1, 2]}, split="test").labels["x"] == json.dumps([1, 2])
    warmer = {"extends": "zaragoza", "warming#°C": 2}
    labels = EpisodeCase(id="a", overrides={"entities": {"Weather-0": warmer}}).labels
    assert labels["entities/Weather-0"] == '{"extends": "zaragoza", "warming#°C": 2}' and len(labels) == 4


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": -1}, "greater than or equal to 0"),
        ({"episodes": 0}, "greater than or equal to 1"),
        ({"split": "validation"}, "'train' or 'test'"),
        ({"overrides": {"law": object()}}, "not a valid JSON value"),
        ({"polici": "x"}, "not permitted"),
    ],
)
def test_wrong_fields_are_refused(changed: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        EpisodeCase.model_validate({"id": "farm/bean-1x1-v0"} | changed)


def test_a_call_is_a_case(tmp_path: Path) -> None:
    (tmp_path / "coins.py").write_text(
        "import numpy\ndef toss(seed, bias): return {'head': numpy.arange(seed) < bias}\n"
    )
    case = CallCase(function=f"{tmp_path}/coins.py:toss", arguments={"seed": 3, "bias": 1})
    (found,) = collect([case], tmp_path / "out")
    assert found["head"].tolist() == [True, False, False] and case.labels == {"seed": 3, "bias": 1}
    assert case.files == [tmp_path / "coins.py"]
    with pytest.raises(ConfigError, match="unexpected keyword argument 'bias2'"):
        collect([case.model_copy(update={"arguments": {"bias2": 1}})])


def test_importing_sweeps_loads_no_jax() -> None:
    code = (
        "import sys, harvestgym.sweep.engine, harvestgym.sweep.grid; print('jax' in sys.modules, 'ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
