"""The table of another package's tests: what passes, and by which names."""

from __future__ import annotations

import json
import re

from tests.load_script import ROOT, script

SOURCE = """
from harvestgym.forager.drop_in import ForagerConfig, ForagerEnv

def test_reading():
    env = ForagerEnv(ForagerConfig(5, {}))
    env.step(0)
    assert env._state == (2, 3)

def test_wrong():
    assert 1 == 2

def test_speed(benchmark):
    raise AssertionError
"""


def test_private_names_are_exchanged_and_errors_are_named() -> None:
    first, second = script("experiments/forager_original_tests.py").compare(SOURCE)
    assert first["private names"] == ["_state"] and first["with public names"] == "passes"
    assert (
        first["as it stands"].startswith("AttributeError") and second["as it stands"] == "AssertionError: assert 1 == 2"
    )


def test_the_docs_state_the_kept_numbers() -> None:
    kept = json.loads((ROOT / "experiments/results/forager-original-tests.json").read_text("utf-8"))["passed"]
    text = " ".join((ROOT / "docs" / "forager.md").read_text("utf-8").split())
    stated = re.search(r"own ten tests with this import: (\d+) pass unchanged, and (\d+) pass", text)
    assert stated is not None and [int(number) for number in stated.groups()] == [*kept.values()]
