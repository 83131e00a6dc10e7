"""Training on the suite: each run is trained once for its key, without the test split, and its results make a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optax")

from experiments import suite_training
from experiments.suite_training import Store
from harvestgym.evaluate import splits
from tests.long_form import long

FISHERY, FARM = "fishing/logistic-v0", "farm/bean-1x1-v0"
SMALL = ("--steps", "2048", "--set", "num_envs=4", "num_steps=32", "minibatches=4")


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each training run adds its number of updates; evaluations are short."""
    monkeypatch.setattr(suite_training, "SEASONS", 4)
    found: list[int] = []
    for module in (suite_training.flat_ppo, suite_training.recurrent_ppo):
        plain = module.train

        def train(env: Any, settings: Any, *rest: Any, plain: Any = plain) -> Any:
            found.append(settings.updates)
            return plain(env, settings, *rest)

        monkeypatch.setattr(module, "train", train)
    return found


@pytest.fixture
def no_test_split(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make the test split unavailable until the patch is undone."""
    plain = splits.split

    def split(id: str, name: str) -> Any:
        assert name == "train"
        return plain(id, name)

    patch = pytest.MonkeyPatch()
    patch.setattr(splits, "split", split)
    return patch


def run(step: str, folder: Path, *words: str) -> None:
    """Run the program with small settings on a folder."""
    folders = ("--out", str(folder / "out"), "--work", str(folder / "work"))
    suite_training.main([step, "--seeds", "2", *folders, *words])


@long
@pytest.mark.parametrize(("id", "agent"), [(FISHERY, "ppo"), (FISHERY, "recurrent"), (FARM, "ppo")])
def test_a_finished_training_is_not_repeated_unless_its_key_changes(
    id: str, agent: str, trainings: list[int], no_test_split: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, store = ("--ids", id, "--agents", agent), Store(tmp_path / "out")
    run("train", tmp_path, *SMALL, *words)
    assert trainings == [16, 16]
    first = store.read(id, agent)
    assert len(first) == 2 and all(record["steps"] == 2048 and "test" not in record for record in first.values())
    assert first[0]["train"] != first[1]["train"] and first[0]["key"] != first[1]["key"]

    run("train", tmp_path, *SMALL, *words)
    store.find_path(id, agent).unlink()
    run("train", tmp_path, *SMALL, *words)
    assert len(trainings) == 2 and store.read(id, agent) == first, "the work folder has the results, too"

    run("train", tmp_path, *SMALL, "hidden=16", *words)
    assert len(trainings) == 4
    changed = store.read(id, agent)
    assert {record["key"] for record in first.values()}.isdisjoint(record["key"] for record in changed.values())
    assert changed[0]["parameters"] < first[0]["parameters"]

    no_test_split.undo()
    run("test", tmp_path, *SMALL, "hidden=16", *words)
    tested = store.read(id, agent)
    assert all(len(record["test"]) == 4 and np.isfinite(record["test"]).all() for record in tested.values())
    for path in (tmp_path / "work").iterdir():
        path.unlink()
    run("train", tmp_path, *SMALL, "hidden=16", *words)
    assert len(trainings) == 4, "a run with test returns needs no weights"
    capsys.readouterr()
    run("table", tmp_path, *words)
    assert id in (text := capsys.readouterr().out) and "2,048" in text.replace("\n", "")


def test_a_changed_environment_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if only its code changes, as its random policy then has other returns."""
    (before,) = suite_training.list_cases([FISHERY], ["ppo"], 1, 2048, {})
    monkeypatch.setattr(suite_training, "describe_world", lambda id: "another")
    (after,) = suite_training.list_cases([FISHERY], ["ppo"], 1, 2048, {})
    assert before.settings == after.settings and before.digest != after.digest


def test_all_agents_of_an_id_have_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million steps, except for the last few, which are not enough for an update."""
    monkeypatch.setattr(suite_training, "describe_world", lambda id: "the same")
    for id in ("farm/pests-weeds-1x1-v0", "fishing/driver-v0", "forager/two-biome-v0"):
        cases = suite_training.list_cases([id], list(suite_training.AGENTS), 1, suite_training.STEP_BUDGET, {})
        steps = [case.learner.count_steps(suite_training.make_school(id), case.options) for case in cases]
        assert steps and all(0.97e6 < number <= 1e6 for number in steps), (id, steps)


def test_the_table_has_the_share_of_the_experts_gain(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for seed, mean in enumerate((2.0, 3.0, 4.0)):
        about = {"id": FARM, "agent": "ppo", "seed": seed, "steps": 1000, "cpu": 5.0 + seed}
        store.write(about | {"digest": splits.digest(), "test": [mean - 1, mean + 1]})
    store.write_references({FARM: {"none": 1.0, "expert": 5.0}})
    store.write({"id": FARM, "agent": "dqn", "seed": 0, "steps": 1000, "cpu": 5.0})
    (row,) = suite_training.make_table([FARM], ["ppo", "dqn"], store).rows
    assert row[:5] == (FARM, "ppo", "3", "1", "5") and row[-2:] == ("1,000", "6")
    mean, share = (float(cell.split()[0]) for cell in row[5:7])
    assert mean == pytest.approx(3.0) and share == pytest.approx(0.5)


def test_a_learning_curve_keeps_the_means_of_finished_seasons() -> None:
    curve = [0.0, 0.0, 3.0, 0.0, 5.0, 1.0] * 20
    found = suite_training.shorten(curve)
    assert len(found) == suite_training.POINTS and set(found) == {3.0}
    assert suite_training.shorten([0.0] * 20 + [2.0] * 20)[:11] == [None] * 10 + [2.0]


def test_the_kept_results_are_complete() -> None:
    """Each file has the runs of one agent on one id, with the same settings and steps."""
    store = Store(suite_training.RESULTS)
    paths = sorted(store.folder.glob("*.jsonl"))
    assert paths
    for path in paths:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [record["seed"] for record in records] == list(range(len(records)))
        alike = {(r["id"], r["agent"], r["steps"], json.dumps(r["settings"]), r["world"]) for r in records}
        assert len(alike) == 1
        id, agent, steps, *_ = next(iter(alike))
        assert store.find_path(id, agent) == path and steps <= suite_training.STEP_BUDGET
        for record in records:
            assert len(record.get("test", ())) in (0, suite_training.count_seasons(id))
