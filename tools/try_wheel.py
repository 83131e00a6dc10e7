"""Install a wheel into an empty environment of each Python, and do there what a newcomer does first.

    python -m build && python tools/try_wheel.py dist/*.whl python3.11 python3.13

It prints the seconds of each command and stops at the first one that fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BEAN = "farm/bean-1x1-v0"
COMMANDS = (
    "pip check",
    "harvestgym --version",
    "harvestgym list",
    f"harvestgym run {BEAN} --policy expert --episodes 50",
    f"harvestgym score {BEAN} --policy expert --episodes 50",
    "harvestgym suite --help",
    *(f"harvestgym run {id} --episodes 1 --gif {id.partition('/')[0]}.gif --width 320"
      for id in (BEAN, "fishing/logistic-v0", "forager/flowers-v0")),
)  # fmt: skip
"""The commands of the base installation; the blocks of the README follow."""


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command in a folder, outside the clone, and print its seconds; SystemExit with its output if it fails."""
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["HARVESTGYM_CACHE"] = str(folder.with_name("cache"))  # empty, as on a newcomer's machine
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    shown = " ".join([Path(command[0]).name, *command[1:]]).partition("\n")[0]
    print(f"{time.perf_counter() - start:6.1f} s  {shown}", flush=True)
    if done.returncode:
        raise SystemExit(f"{shown}: expected success, got exit code {done.returncode}\n{done.stdout}{done.stderr}")


def try_wheel(wheel: Path, python: str, folder: Path) -> None:
    """Install the wheel into a new environment of an interpreter and run the commands in an empty folder."""
    environment, work = folder / "environment", folder / "work"
    work.mkdir()
    run([python, "-m", "venv", str(environment)], work)
    programs = environment / "bin"
    run([str(programs / "pip"), "install", "--quiet", str(wheel)], work)
    for command in COMMANDS:
        program, *arguments = command.split()
        run([str(programs / program), *arguments], work)
    for block in BLOCK.findall(README.read_text(encoding="utf-8")):
        run([str(programs / "python"), "-c", block], work)
    sizes = {path.name: path.stat().st_size for path in sorted(work.iterdir())}
    if len(sizes) != 3 or min(sizes.values()) < 1000:
        raise SystemExit(f"pictures: expected three files of more than 1000 bytes, got {sizes}")


def main() -> None:
    """Try the wheel with each Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], help="interpreters; default: this one")
    given = parser.parse_args()
    print(f"{given.wheel.name}: {given.wheel.stat().st_size / 1e6:.2f} MB")
    for python in given.pythons:
        with tempfile.TemporaryDirectory() as folder:
            print(python)
            try_wheel(given.wheel.resolve(), python, Path(folder))


if __name__ == "__main__":
    main()
