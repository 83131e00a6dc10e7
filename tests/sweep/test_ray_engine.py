"""The Ray engine: a cluster of two nodes on this machine gives the rows of one process, though workers die."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.sweep.batches import EngineOptions
from harvestgym.sweep.cases import EpisodeCase
from harvestgym.sweep.engine import collect, sweep
from harvestgym.sweep.result_folder import find_status, read
from tests.long_form import long
from tests.sweep.counting import CountCase, read_log
from tests.test_files_of_strangers import LAW

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning:ray.*"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

NUMBERS = range(1, 7)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a cluster of two nodes with a CPU each, and connect to it."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


def counts(folder: Path | str = "", **fields: Any) -> list[CountCase]:
    """Return cases, each a batch of its own."""
    return [CountCase(number=number, folder=str(folder), key=str(number), **fields) for number in NUMBERS]


def rows(out: Path) -> list[tuple[int, float]]:
    table = read(out)
    return sorted(zip(table["number"].to_pylist(), table["value"].to_pylist(), strict=True))


def test_a_cluster_gives_the_rows_of_one_process(address: str, tmp_path: Path) -> None:
    report = sweep(counts(tmp_path), tmp_path / "ray", EngineOptions("ray", address))
    assert report.ran == len(NUMBERS) and report.failures == {}
    sweep(counts(), tmp_path / "local")
    assert rows(tmp_path / "ray") == rows(tmp_path / "local")
    assert sorted(read_log(tmp_path)) == list(NUMBERS)
    assert len({node["NodeID"] for node in ray.nodes() if node["Alive"]}) == 2


@long
def test_workers_that_are_killed_are_replaced(address: str, tmp_path: Path) -> None:
    killed = [case.model_copy(update={"fault": "kill"}) if case.number % 3 == 0 else case for case in counts(tmp_path)]
    report = sweep(killed, tmp_path / "out", EngineOptions("ray", address))
    assert report.failures == {} and sorted(read_log(tmp_path)) == list(NUMBERS)
    sweep(counts(), tmp_path / "local")
    assert rows(tmp_path / "out") == rows(tmp_path / "local")


@long
def test_a_worker_that_always_dies_is_a_failure(address: str, tmp_path: Path) -> None:
    """Without a folder the case cannot know that it has died before."""
    always = CountCase(number=3, fault="kill_always")
    report = sweep([always, *counts()[:2]], tmp_path, EngineOptions("ray", address, 1))
    assert [*report.failures] == [always] and "WorkerCrashedError" in report.failures[always]
    assert find_status(tmp_path).done == 2


def test_a_case_that_raises_is_listed(address: str, tmp_path: Path) -> None:
    cases = [CountCase(number=5, fault="raise"), CountCase(number=6, fault="mistake"), *counts()[:2]]
    report = sweep(cases, tmp_path, EngineOptions("ray", address, 1))
    first, second = report.failures.values()
    assert "ValueError: cannot count to 5" in first and second == "number: expected another, got 6"
    assert find_status(tmp_path).done == 2


@long
def test_episodes_are_those_of_one_process_bit_for_bit(address: str, tmp_path: Path) -> None:
    cases = [
        EpisodeCase(id="fishing/logistic-random-v0", overrides={"r": r}, policy=policy, episodes=300, seed=seed)
        for r in (0.2, 0.4) for policy, seed in (("msy", 0), ("random", 1))
    ]  # fmt: skip
    cases.append(EpisodeCase(id="fishing/logistic-random-v0", policy="not.there:make"))
    report = sweep(cases, tmp_path, EngineOptions("ray", address))
    assert [*report.failures.values()] == ["not.there:make: expected package.module:name, got the unknown module 'not'"]
    remote, here = (collect(cases[:-1], out) for out in (tmp_path, None))
    for one, other in zip(remote, here, strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def test_an_unreachable_address_is_one_error(address: str, tmp_path: Path) -> None:
    ray.shutdown()
    with pytest.raises(ConfigError, match=r"address: expected a running Ray cluster, got '127\.0\.0\.1:1'"):
        sweep(counts(), tmp_path, EngineOptions("ray", "127.0.0.1:1"))
    ray.init(address=address, log_to_driver=False)


@long
def test_results_without_a_folder(address: str) -> None:
    found = collect(counts(), options=EngineOptions("ray", address))
    assert [len(columns["value"]) for columns in found] == list(NUMBERS)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_the_code_of_a_file_runs_only_if_it_is_allowed(address: str, engine: str, tmp_path: Path) -> None:
    module, file = tmp_path / "spy.py", tmp_path / "fish.yaml"
    module.write_text(LAW, encoding="utf-8")
    file.write_text(f"doc: ''\nlaw: {{kind: '{module}:Law', r: 0.3}}\nTmax: 5\nstart: 0.7\n", encoding="utf-8")
    case = EpisodeCase(id=str(file), policy="closed", episodes=2)
    options = EngineOptions(engine, address if engine == "ray" else None)
    (refusal,) = sweep([case], tmp_path / "refused", options).failures.values()
    assert f"imported or allowed, got '{module}:Law'" in refusal and not (tmp_path / "ran").exists()
    allowed = options._replace(allow=(str(module),))
    assert sweep([case], tmp_path / "allowed", allowed).failures == {} and (tmp_path / "ran").exists()
    sys.modules.pop(str(module))
