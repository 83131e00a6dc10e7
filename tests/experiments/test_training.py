"""Training on the suite: each run is trained once for its key, without the test split, and its results make a table."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optax")

from experiments import test_side
from experiments.training import agents, cases, results
from experiments.training.__main__ import STEP_BUDGET, main
from experiments.training.results import RESULTS, Store
from harvestgym.evaluate import splits
from harvestgym.evaluate.suite import read_anchors
from tests.long_form import ALL, long

FISHERY, FARM = "fishing/us-stocks-v0", "farm/corn-nitrate-1x1-v0"
SEARCH = ("seasons=1", "finalists=1", "fresh=1")
SMALL = ("--steps", "2048", "--set", "num_envs=4", "num_steps=32", "minibatches=4")


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each training run adds its number of updates; evaluations are short."""
    short = {id: item.model_copy(update={"seasons": 4}) for id, item in splits.list_suite().items()}
    monkeypatch.setattr(splits, "list_suite", lambda: short)
    monkeypatch.setattr(test_side, "describe_commit", lambda: "1a2b")
    found: list[int] = []
    for module in (agents.flat_ppo, agents.recurrent_ppo):
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
    main([step, "--seeds", "2", *folders, *words])


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
    assert id in capsys.readouterr().out


def test_a_changed_environment_has_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if only its code changes, as its random policy then has other returns."""
    (before,) = cases.list_cases([FISHERY], ["ppo"], 1, 2048, {})
    monkeypatch.setattr(cases, "describe_world", lambda id: "another")
    (after,) = cases.list_cases([FISHERY], ["ppo"], 1, 2048, {})
    assert before.settings == after.settings and before.digest != after.digest


def test_all_agents_of_an_id_have_the_same_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five million steps, except for those that are not enough for an update; one of evolution has 48 seasons.

    Slow learners have less.
    """
    monkeypatch.setattr(cases, "describe_world", lambda id: "the same")
    for id in ("farm/pests-weeds-1x1-v0", "fishing/driver-v0", "forager/two-biome-v0"):
        listed = cases.list_cases([id], list(agents.AGENTS), 1, STEP_BUDGET, {})
        steps = [case.learner.count_steps(agents.make_school(id), case.options) for case in listed]
        most = [case.learner.most_steps or 5e6 for case in listed]
        least = [
            number - (240_000 if case.agent == "evolution" else 30_000)
            for case, number in zip(listed, most, strict=True)
        ]
        assert all(low < number <= high for low, number, high in zip(least, steps, most, strict=True)), (id, steps)


@pytest.mark.parametrize("id", [FISHERY, *([FARM, "forager/two-biome-v0"] if ALL else [])])
def test_evolution_plays_every_family_from_nothing(id: str, trainings: list[int], tmp_path: Path) -> None:
    steps = {FISHERY: "60000", FARM: "120000"}.get(id, "300000")  # with more, both seeds end at nothing on this farm
    run("train", tmp_path, "--ids", id, "--agents", "evolution", "--steps", steps, "--set", *SEARCH)
    run("test", tmp_path, "--ids", id, "--agents", "evolution", "--steps", steps, "--set", *SEARCH)
    first, second = Store(tmp_path / "out").read(id, "evolution").values()
    assert first["steps"] > 0 and first["curve"] and first["train"] != second["train"] and not trainings
    assert len(first["test"]) == 4 and set(first["costs"]) == set(splits.list_suite()[id].limits)
    assert all(len(costs) == 4 for costs in first["costs"].values())


def test_a_result_has_a_row_for_each_seed_and_needs_costs_where_there_are_limits(tmp_path: Path) -> None:
    store, count = Store(tmp_path), splits.list_suite()[FARM].seasons
    best = read_anchors()[FARM].best
    about = {"id": FARM, "agent": "ppo", "digest": splits.digest(), "test": best.tolist()}
    for seed in range(4):
        store.write(about | {"seed": seed})
    assert results.make_result("ppo", store).failures[FARM] == "trained with 4 of 5 seeds"
    store.write(about | {"seed": 4})
    assert results.make_result("ppo", store).failures[FARM] == "tested without costs; test again"
    for seed in range(5):
        store.write(about | {"seed": seed, "costs": {"cost_nitrate": [2.0 if seed == 0 else 0.5] * count}})
    found = results.make_result("ppo", store)
    assert found.seasons[FARM]["return"].shape == (5, count)
    score = found.scores[FARM]
    assert score.value == pytest.approx(0.8) and score.low < 0.5 < 0.9 < score.high, "one of five breaks the limit"


def test_the_table_has_the_share_of_the_experts_gain(tmp_path: Path) -> None:
    store, anchor = Store(tmp_path), read_anchors()[FARM]
    nothing, gain = anchor.nothing.mean(), anchor.expert - anchor.nothing.mean()
    for seed, mean in enumerate((nothing + 0.25 * gain, nothing + 0.5 * gain, nothing + 0.75 * gain)):
        about = {"id": FARM, "agent": "ppo", "seed": seed, "steps": 1000, "cpu": 5.0 + seed}
        store.write(about | {"digest": splits.digest(), "test": [mean - 1, mean + 1]})
    store.write({"id": FARM, "agent": "dqn", "seed": 0, "steps": 1000, "cpu": 5.0})
    [row] = results.make_table([FARM], ["ppo", "dqn"], store).rows
    assert (row[0], row[2]) == (FARM, "") and float(row[1].split()[0]) == pytest.approx(0.5)


def test_a_learning_curve_keeps_the_means_of_finished_seasons() -> None:
    curve = [0.0, 0.0, 3.0, 0.0, 5.0, 1.0] * 20
    found = cases.shorten(curve)
    assert len(found) == cases.POINTS and set(found) == {3.0}
    assert cases.shorten([0.0] * 20 + [2.0] * 20)[:11] == [None] * 10 + [2.0]


def test_the_kept_results_are_complete() -> None:
    """Each file has the runs of one agent on one id, with the same settings and steps."""
    store = Store(RESULTS)
    paths = sorted(store.folder.glob("*.jsonl"))
    assert paths
    for path in paths:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [record["seed"] for record in records] == list(range(len(records)))
        alike = {(r["id"], r["agent"], r["steps"], json.dumps(r["settings"]), r["world"]) for r in records}
        assert len(alike) == 1
        id, agent, steps, *_ = next(iter(alike))
        assert store.find_path(id, agent) == path and steps <= STEP_BUDGET
        for record in records:
            assert len(record.get("test", ())) in (0, splits.list_suite()[id].seasons)


def test_help_does_not_need_the_library_of_the_search() -> None:
    """A new user reads the help before installing what the steps need."""
    code = "import sys; from experiments.training.__main__ import main; print('cma' in sys.modules); main(['--help'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("False") and "--agents" in done.stdout
