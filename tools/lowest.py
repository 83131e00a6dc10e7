"""Print the lowest versions that pyproject.toml allows, as pins for pip, to try them.

python -m venv low && low/bin/pip install $(python tools/lowest.py) && low/bin/pip install --no-deps .
low/bin/python -m pytest -n 0 tests/core/test_config.py tests/farm/engine/test_engine.py \\
    tests/gym tests/cli/test_cli.py
"""

from __future__ import annotations

import tomllib
from pathlib import Path

EXTRAS = ("plot", "data", "multi", "fast", "dev")
TOOLS = ("build", "harvestgym", "hatch", "pyet", "pyright", "refet", "ruff", "twine")
"""Requirements of development that are no part of what is tried."""


def lowest() -> list[str]:
    """Return every requirement of the package and its tests, at its lower bound."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(r for extra in EXTRAS for r in project["optional-dependencies"][extra])]
    return [requirement.replace(">=", "==") for requirement in wanted if not requirement.startswith(TOOLS)]


if __name__ == "__main__":
    print(" ".join(lowest()))
