"""The table of the tests of gym_fishing and gym_conservation: outcomes, deadlines, private names."""

from __future__ import annotations

import json
import re

from tests.load_script import ROOT, script

SOURCE = """
def test_right():
    assert input("quota: ") == "0.1"

def test_wrong():
    env = object()
    env._state

def test_slow():
    while True:
        pass
"""


def test_each_test_has_its_own_outcome_and_deadline() -> None:
    rows = script("experiments/fishing_original_tests.py").run_file("test_made.py", SOURCE, 1)
    assert [row["outcome"] for row in rows] == ["passed", "failed", "deadline"]
    assert [row["private names"] for row in rows] == [[], ["_state"], []]
    assert rows[1]["error"].startswith("AttributeError")


def test_the_docs_state_the_kept_numbers() -> None:
    kept = json.loads((ROOT / "experiments/results/fishing-original-tests.json").read_text("utf-8"))
    text = " ".join((ROOT / "docs" / "coming.md").read_text("utf-8").split())
    stated = re.search(r"all (\d+) of gym_fishing's own tests pass, as do (\d+) of gym_conservation's (\d+)", text)
    fishing, conservation = kept["gym_fishing"], kept["gym_conservation"]
    numbers = [fishing["passed"], conservation["passed"], conservation["of"]]
    assert stated is not None and [int(number) for number in stated.groups()] == numbers
    assert fishing["passed"] == fishing["of"]
