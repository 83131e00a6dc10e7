"""The OpenEnv server, played by OpenEnv's own client."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv", reason="the extra openenv")

import requests
import yaml
from openenv.cli._validation import validate_running_environment  # pyright: ignore[reportMissingImports]
from openenv.core.generic_client import GenericEnvClient  # pyright: ignore[reportMissingImports]
from openenv.validation import run_validation  # pyright: ignore[reportMissingImports]
from openenv.validation.types import ProviderCapability  # pyright: ignore[reportMissingImports]

from harvestgym.text import TASKS
from harvestgym.text.openenv_server import SIDES, TASKS_PER_ID
from tests.load_script import ROOT

SPACE = ROOT / "examples" / "openenv"

FISHERY, OTHER = "fishing/logistic-v0", "fishing/ricker-v0"
STARTED = 120.0
"""Seconds in which a server must start."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a server and yield its address."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "harvestgym", "serve", "openenv", FISHERY, OTHER, "--port", str(port)]
    server = subprocess.Popen(command, env={**os.environ})
    try:
        end = time.monotonic() + STARTED
        while time.monotonic() < end:
            assert server.poll() is None, "the server has ended"
            with closing(socket.socket()) as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def play(address: str, seed: int, **which: Any) -> tuple[str, list[float]]:
    """Play an episode; return its first text and its rewards."""
    with GenericEnvClient(base_url=address).sync() as env:
        first = env.reset(seed=seed, **which).observation["text"]
        rewards = []
        for quota in ("quota 0.05\ndone", "done", "prose\n```\nquota 0.02\ndone\n```", "wait 200"):
            found = env.step({"text": quota})
            rewards.append(found.reward)
        assert found.done and "has ended" in found.observation["text"]
        assert 0 < found.metadata["score"] < 1
        return first, rewards


def test_a_seed_gives_an_episode_to_every_client(address: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(lambda seed: play(address, seed), (3, 3, 4))]
    assert found[0] == found[1] and found[0][1] != found[2][1]
    assert play(address, 3, split="test")[1] != found[0][1]
    assert f"Game {OTHER}" in play(address, 3, id=OTHER)[0]


def test_a_message_is_any_json_scalar(address: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(seed=1)
        for text in (0.05, 0, "quota 0.05", None, True):
            found = env.step({"text": text})
            assert found.observation["text"] and found.reward == 0 and not found.done
        with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
            env.step({"order": "done"})
        assert env.step({"text": "done"}).observation["text"]


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ({"id": "fishing/logistic-v9"}, "try 'fishing/logistic-v0'"),
        ({"split": "tests"}, "split: expected a known name"),
        ({"seed": -1}, "seed"),
        ({"split": "train", "index": 10**9}, "index: expected an integer from 0 to 199"),
        ({"split": "train", "index": "3"}, "index: expected an integer"),
        ({"split": "other", "index": 3}, "split: expected one of train, test"),
    ],
)
def test_wrong_games_are_refused(address: str, which: dict[str, Any], expected: str) -> None:
    with GenericEnvClient(base_url=address).sync() as env:
        with pytest.raises(RuntimeError, match=expected) as error:
            env.reset(**which)
        assert "Traceback" not in str(error.value)


def test_tasks_are_ids_with_seeds(address: str) -> None:
    route = f"{address}/harvestgym"
    assert [split["name"] for split in requests.get(f"{route}/splits").json()] == ["train", "test"]
    number = requests.post(f"{route}/num_tasks", json={"split": "test"}).json()["num_tasks"]
    tasks = requests.post(f"{route}/tasks", json={"split": "test"}).json()["tasks"]
    assert number == len(tasks) == 200 and tasks[1] == {"id": OTHER, "split": "test", "seed": 0}
    assert requests.post(f"{route}/task", json={"split": "test", "index": number}).status_code == 400
    assert requests.post(f"{route}/tasks", json={"split": "other"}).status_code == 400
    with GenericEnvClient(base_url=address).sync() as env:
        assert f"Game {OTHER}" in env.reset(split="test", index=1).observation["text"]


def test_openenv_accepts_the_server(address: str) -> None:
    report = validate_running_environment(address)
    assert report["passed"], report["summary"]


class Provider:
    """A provider of `openenv validate` that has the running server in place of a container."""

    name = "here"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"public"})

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def build(self, root: Path, execution: Any) -> str:
        assert (root / execution.dockerfile).is_file()
        return "sha256:" + "0" * 64

    def start(self, spec: Any) -> Provider:
        return self

    def inspect(self) -> dict[str, Any]:
        return {}

    def stop(self) -> None:
        """Leave the server to the other tests."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the validator uses
def test_openenv_accepts_the_folder_for_spaces(address: str) -> None:
    """`openenv validate examples/openenv` on a machine with Docker; what OpenEnv cannot check yet is skipped."""
    report = run_validation(SPACE, provider=Provider(address))
    found = {result.check_id: (result.status.value, result.evidence) for result in report.results}
    checks = ("startup", "reward_well_formed", "observation_schema", "state_contract")
    for name in ("static.manifest", *(f"runtime.{check}" for check in checks)):
        assert found[name][0] == "pass", found[name]
    assert not [name for name, (status, _) in found.items() if status in ("fail", "error")]


def test_the_space_serves_the_tasks() -> None:
    ids = re.findall(r'^ENV IDS="(.*)"$', (SPACE / "Dockerfile").read_text(), re.MULTILINE)[0].split()
    assert sorted(ids) == sorted(task.id for task in TASKS)
    declared = yaml.safe_load((SPACE / "openenv.yaml").read_text())["validation"]["capabilities"]["declared_task_count"]
    assert declared == dict.fromkeys(SIDES, TASKS_PER_ID * len(ids))
