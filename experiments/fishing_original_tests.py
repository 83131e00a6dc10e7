"""The tests of gym_fishing and gym_conservation on the stand-ins: `fishing_original_tests.py FISHING CONSERVATION`.

    python experiments/fishing_original_tests.py FISHING CONSERVATION --out JSON

Each folder is a clone, which may be bare. The tests run as they are, in a temporary folder, except for their imports
and for what Gymnasium changed: `reset` returns two values and `step` five. Every prompt in the terminal is answered
with 0.1. Most tests need stable-baselines3 and pandas. A test that takes longer than `--seconds` has the outcome
"deadline".
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

EXCHANGED = (
    (r"^import gym$", "from harvestgym.fishing import drop_in as gym"),
    (r"^import gym_(fishing|conservation)$", ""),
    (r"from gym_fishing\.models\.policies import", "from harvestgym.fishing.drop_in import"),
    (r"from gym_conservation\.models\.policies import", "from harvestgym.fishing.drop_in.conservation import"),
    (r"obs, reward, done, info = env\.step", "obs, reward, done, _, info = env.step"),
)
"""Patterns in the tests, and what replaces them."""

CONFTEST = """
import builtins, signal
import pytest

builtins.input = lambda prompt="": "0.1"

def stop(*_):
    raise TimeoutError("the deadline of {seconds} seconds")

@pytest.fixture(autouse=True)
def deadline():
    signal.signal(signal.SIGALRM, stop)
    signal.alarm({seconds})
    yield
    signal.alarm(0)
"""
"""What is added to the tests: an answer for the terminal, and a deadline for each test."""


def read_tests(folder: Path) -> dict[str, str]:
    """Return the texts of the test files of a clone, with the adapted lines."""
    git = ["git", "-C", str(folder)]
    listed = subprocess.run([*git, "ls-tree", "--name-only", "HEAD:tests"], check=True, capture_output=True, text=True)
    texts = {}
    for name in re.findall(r"^test-.*\.py$", listed.stdout, re.MULTILINE):
        shown = subprocess.run([*git, "show", f"HEAD:tests/{name}"], check=True, capture_output=True, text=True)
        text = shown.stdout
        for pattern, new in EXCHANGED:
            text = re.sub(pattern, new, text, flags=re.MULTILINE)
        texts[name.replace("-", "_")] = text
    return texts


def run_file(name: str, text: str, seconds: int) -> list[dict[str, Any]]:
    """Run the tests of a file in a process; return a row for each: passed, failed or deadline, and its last error."""
    tests = re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "conftest.py").write_text(CONFTEST.format(seconds=seconds), encoding="utf-8")
        (place / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        (place / name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "--junitxml=found.xml", "-p", "no:cacheprovider", name]
        with suppress(subprocess.TimeoutExpired):  # a test that no signal reaches
            subprocess.run(command, cwd=place, capture_output=True, timeout=60 + seconds * len(tests))
        file = place / "found.xml"
        cases = ElementTree.parse(file).iter("testcase") if file.exists() else ()
        found = {case.get("name"): describe_outcome(case) for case in cases}
    private = {test: find_private_names(text, test) for test in tests}
    return [
        {"file": name, "test": test, "outcome": "deadline", "private names": private[test]} | found.get(test, {})
        for test in tests
    ]


def find_private_names(text: str, test: str) -> list[str]:
    """Return the private attributes of the environment that a test uses."""
    return sorted(set(re.findall(r"env\.(_\w+)", text.partition(f"def {test}(")[2].partition("\ndef ")[0])))


def describe_outcome(case: ElementTree.Element) -> dict[str, Any]:
    """Return the outcome of a test, its seconds and, if it did not pass, its error."""
    error = next((part.get("message", "") for part in case if part.tag in ("failure", "error")), None)
    outcome = "passed" if error is None else "deadline" if error.startswith("TimeoutError") else "failed"
    return {"outcome": outcome, "seconds": round(float(case.get("time", 0)), 1)} | ({"error": error} if error else {})


def main() -> None:
    """Print the outcomes, and save them as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, help="clones of gym_fishing and gym_conservation")
    parser.add_argument("--seconds", type=int, default=300, help="time limit of a test, in seconds")
    parser.add_argument("--out", type=Path, help="JSON file")
    given = parser.parse_args()
    table: dict[str, Any] = {}
    for folder in given.folders:
        name = folder.resolve().parent.name.partition("+")[2] or folder.name
        rows = [row for file, text in read_tests(folder).items() for row in run_file(file, text, given.seconds)]
        table[name] = {"passed": sum(row["outcome"] == "passed" for row in rows), "of": len(rows), "tests": rows}
        print(f"{name}: {table[name]['passed']} of {len(rows)} tests pass")
        for row in rows:
            print(f"  {row['outcome']}: {row['file']} {row['test']} {row.get('error', '')}")
    if given.out is not None:
        given.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
