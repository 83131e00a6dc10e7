"""The OpenEnv server, played by OpenEnv's own client."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
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
from harvestgym.text.openenv_server import TASKS_PER_ID
from harvestgym.text.sessions import SIDES
from tests.load_script import ROOT

SPACE = ROOT / "examples" / "openenv"

FISHERY, OTHER = "fishing/logistic-v0", "fishing/ricker-v0"
STARTED = 30.0
"""Seconds in which a server must answer; `openenv validate` allows as many."""


@contextmanager
def serve(ids: Sequence[str], seconds: float = STARTED) -> Iterator[str]:
    """Start a server, which compiles ids, and yield its address once it answers."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "harvestgym", "serve", "openenv", *ids, "--port", str(port)]
    server = subprocess.Popen(command, env={**os.environ})
    try:
        end = time.monotonic() + seconds
        while not _is_healthy(f"http://127.0.0.1:{port}"):
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < end, "the server does not answer"
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def _is_healthy(address: str) -> bool:
    try:
        return requests.get(f"{address}/health", timeout=1.0).status_code == 200
    except requests.RequestException:
        return False


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a server of two ids and yield its address."""
    with serve((FISHERY, OTHER)) as address:
        yield address


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


def list_served() -> list[str]:
    """Return the ids in the Dockerfile of the folder for Spaces."""
    return re.findall(r'^ENV IDS="(.*)"$', (SPACE / "Dockerfile").read_text(), re.MULTILINE)[0].split()


class Provider(ExitStack):
    """A provider of `openenv validate` that starts the server of the Dockerfile without a container."""

    name = "here"
    capabilities = frozenset({ProviderCapability.IMAGE_BUILD})
    supported_network_modes = frozenset({"public"})
    base_url = ""

    def build(self, root: Path, execution: Any) -> str:
        assert (root / execution.dockerfile).is_file()
        return "sha256:" + "0" * 64

    def start(self, spec: Any) -> Provider:
        self.base_url = self.enter_context(serve(list_served(), spec.startup_timeout_s))
        return self

    def inspect(self) -> dict[str, Any]:
        return {}

    def stop(self) -> None:
        self.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what the validator uses
def test_openenv_accepts_the_folder_for_spaces() -> None:
    """`openenv validate examples/openenv` on a machine with Docker; what OpenEnv cannot check yet is skipped."""
    with Provider() as provider:
        report = run_validation(SPACE, provider=provider)
    found = {result.check_id: (result.status.value, result.evidence) for result in report.results}
    checks = ("startup", "reward_well_formed", "observation_schema", "state_contract")
    for name in ("static.manifest", *(f"runtime.{check}" for check in checks)):
        assert found[name][0] == "pass", found[name]
    assert not [name for name, (status, _) in found.items() if status in ("fail", "error")]


def test_the_space_serves_the_tasks() -> None:
    ids = list_served()
    assert sorted(ids) == sorted(task.id for task in TASKS)
    declared = yaml.safe_load((SPACE / "openenv.yaml").read_text())["validation"]["capabilities"]["declared_task_count"]
    assert declared == dict.fromkeys(SIDES, TASKS_PER_ID * len(ids))
