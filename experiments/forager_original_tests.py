"""The Forager package's own ten tests of its environment, run on the stand-ins of `harvestgym.forager.drop_in`.

    git clone https://github.com/andnp/forager FOLDER
    python experiments/forager_original_tests.py FOLDER [--out experiments/results/forager-original-tests.json]

The tests are read from the clone, at the measured commit, and only their imports are replaced. Most of them read
private attributes (`env._state`), which the stand-ins do not have. These tests are run a second time with the
corresponding public names (`env.position`).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harvestgym.cli.console import print_table
from harvestgym.core.view.tables import Table

COMMIT = "51893352fc1594060c1978a67f324c85ed4b5dac"

PUBLIC = {
    "env._state": "env.position",
    "env._clock": "env.clock",
    "env._size": "(env.world.width, env.world.height)",
    "len(env._to_respawn)": "env.memory['away']",
    "len(env._obj_store)": "int((env.cells() >= 0).sum())",
}
"""The public expression for each private one."""

REMARKS = {
    "test_init": "reads `_ap_size`, which has no public name; and expects (5, 1, n) for 5 columns and 1 row",
    "test_respawn": "a coincidence: with the seed 1 both draw a return after 52 steps",
}
"""What the results alone do not say."""


def read_tests(folder: Path) -> str:
    """Return the text of the test file at the measured commit, with its imports replaced."""
    command = ["git", "-C", str(folder), "show", f"{COMMIT}:tests/test_Env.py"]
    shown = subprocess.run(command, capture_output=True, text=True)
    if shown.returncode:
        sys.exit(f"{folder}: expected a clone of https://github.com/andnp/forager, got {shown.stderr.strip()}")
    return re.sub(r"from forager\.\w+ import", "from harvestgym.forager.drop_in import", shown.stdout)


def list_tests(source: str) -> dict[str, Callable[[], None]]:
    """Return the tests by name, without the benchmarks, which take a fixture."""
    names: dict[str, Any] = {}
    exec(compile(source, "test_Env.py", "exec"), names)
    return {name: test for name, test in names.items() if name.startswith("test_") and not test.__code__.co_argcount}


def run_test(test: Callable[[], None], source: str) -> str:
    """Return "passes", or the error and the line of the test in which it was raised."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test()
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "test_Env.py"]
        place = source.splitlines()[(lines[-1] or 1) - 1].strip() if lines else ""
        return f"{type(error).__name__}: {str(error) or place}"
    return "passes"


def compare(source: str) -> list[dict[str, Any]]:
    """Run each test unchanged, and with public names."""
    public = source
    for private, expression in PUBLIC.items():
        public = public.replace(private, expression)
    plain, exchanged = list_tests(source), list_tests(public)
    found = []
    for name, test in plain.items():
        body = source[source.index(f"def {name}(") :].split("\ndef ")[0]
        result = {"as it stands": run_test(test, source), "with public names": run_test(exchanged[name], public)}
        private = sorted({f"_{word}" for word in re.findall(r"env\._(\w+)", body)})
        found.append({"test": name, "private names": private, **result, "remark": REMARKS.get(name, "")})
    return found


def main() -> None:
    """Print the table, and write it as JSON."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, help="a clone of the Forager package")
    options.add_argument("--out", type=Path, help="file for the table as JSON")
    chosen = options.parse_args()
    found = compare(read_tests(chosen.folder))
    passed = {way: sum(row[way] == "passes" for row in found) for way in ("as it stands", "with public names")}
    title = ", ".join(f"{number} of {len(found)} pass {way}" for way, number in passed.items())
    rows = [(row["test"], ", ".join(row["private names"]), *list(row.values())[2:]) for row in found]
    print_table(Table(title, ("test", "private names", "as it stands", "with public names", "remark"), rows))
    if chosen.out is not None:
        chosen.out.write_text(json.dumps({"commit": COMMIT, "passed": passed, "tests": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
