"""The tests of gym_fishing and gym_conservation on the stand-ins: `fishing_original_tests.py FISHING CONSERVATION`.

    python experiments/fishing_original_tests.py FISHING CONSERVATION --out JSON

Each folder is a clone, which may be bare. The tests run as they are, in a temporary folder, except for their imports
and for what Gymnasium changed: `reset` returns two values and `step` five. The terminal answers 0.1 to every question.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXCHANGED = (
    (r"^import gym$", "from harvestgym.fishing import drop_in as gym"),
    (r"^import gym_(fishing|conservation)$", ""),
    (r"from gym_fishing\.models\.policies import", "from harvestgym.fishing.drop_in import"),
    (r"from gym_conservation\.models\.policies import", "from harvestgym.fishing.drop_in.conservation import"),
    (r"obs, reward, done, info = env\.step", "obs, reward, done, _, info = env.step"),
)
"""Patterns in the tests, and what replaces them."""

ANSWER = "import builtins\nbuiltins.input = lambda prompt='': '0.1'\n"


def read_tests(folder: Path) -> dict[str, str]:
    """Return the texts of the test files of a clone, with the exchanged lines."""
    git = ["git", "-C", str(folder)]
    listed = subprocess.run([*git, "ls-tree", "--name-only", "HEAD:tests"], check=True, capture_output=True, text=True)
    texts = {}
    for name in re.findall(r"^test-.*\.py$", listed.stdout, re.MULTILINE):
        shown = subprocess.run([*git, "show", f"HEAD:tests/{name}"], check=True, capture_output=True, text=True)
        text = shown.stdout
        for pattern, new in EXCHANGED:
            text = re.sub(pattern, new, text, flags=re.MULTILINE)
        texts[f"{name.replace('-', '_')}"] = text
    return texts


def run_tests(folder: Path) -> dict[str, str]:
    """Run the tests of a clone; return the outcome of each, "passed" or the last line of its error."""
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "conftest.py").write_text(ANSWER)
        (place / "pytest.ini").write_text("[pytest]\n")
        for name, text in read_tests(folder).items():
            (place / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "--no-header", "--tb=line", "-p", "no:cacheprovider"]
        shown = subprocess.run(command, cwd=place, capture_output=True, text=True).stdout
    found = re.findall(r"^(PASSED|FAILED|ERROR) (\S+?)(?: - (.*))?$", shown, re.MULTILINE)
    return {test: "passed" if outcome == "PASSED" else why or outcome.lower() for outcome, test, why in found}


def main() -> None:
    """Print the outcomes, and keep them as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, help="clones of gym_fishing and gym_conservation")
    parser.add_argument("--out", type=Path, help="JSON file")
    given = parser.parse_args()
    table = {
        folder.resolve().parent.name.partition("+")[2] or folder.name: run_tests(folder) for folder in given.folders
    }
    for name, outcomes in table.items():
        passed = sum(outcome == "passed" for outcome in outcomes.values())
        print(f"{name}: {passed} of {len(outcomes)} tests pass")
    if given.out is not None:
        given.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
