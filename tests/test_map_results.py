"""The shared part of the learners on maps: a file of results keeps the seeds that it has."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harvestgym.core.policy import constant_policy

ID = "farm/any-v1"


@pytest.fixture
def learn(
    import_example: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[dict[str, Any], list[int]]]:
    """Return a function that learns with some options, and returns the report in the file and the seeds it trained."""
    results = import_example("map_results")
    monkeypatch.setattr(results, "returns_of", lambda id, env, policy, seasons: np.arange(seasons, dtype=float))

    def learn(*options: str) -> tuple[dict[str, Any], list[int]]:
        trained: list[int] = []

        def train(seed: int) -> tuple[list[float], dict[str, Any]]:
            trained.append(seed)
            return [float(seed)], {"agent": constant_policy(0)}

        known = {"expert": constant_policy(1), "none": constant_policy(0)}
        parser = results.argparse.ArgumentParser()
        parser.add_argument("--ids", nargs="+", default=[ID])
        for name, kind, default in (("seeds", int, 1), ("seasons", int, 4), ("rate", float, 0.1)):
            parser.add_argument(f"--{name}", type=kind, default=default)
        parser.add_argument("--out", type=Path, default=tmp_path / "results.json")
        results.run(parser.parse_args(options), lambda id: results.Task(None, known, train, 7))
        return json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))[ID], trained

    return learn


def test_more_seeds_are_added_to_those_of_the_file(learn: Callable[..., tuple[dict[str, Any], list[int]]]) -> None:
    first, trained = learn("--seeds", "2")
    assert trained == [0, 1]
    more, trained = learn("--seeds", "4")
    assert trained == [2, 3] and more["seeds"][:2] == first["seeds"]
    assert [each["seed"] for each in more["seeds"]] == [0, 1, 2, 3] and more["settings"]["seeds"] == 4


@pytest.mark.parametrize("options", [("--rate", "0.2"), ("--seasons", "5")])
def test_seeds_of_other_settings_are_trained_again(
    learn: Callable[..., tuple[dict[str, Any], list[int]]], options: tuple[str, str]
) -> None:
    learn("--seeds", "2")
    assert learn("--seeds", "2", *options)[1] == [0, 1]
