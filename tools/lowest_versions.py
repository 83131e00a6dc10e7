"""Print the lowest versions that pyproject.toml allows, as pins for pip, so that they can be tested.

python -m venv low && low/bin/pip install $(python tools/lowest_versions.py dev) && low/bin/pip install --no-deps .
low/bin/python -m pytest -n 0 tests/core/test_config.py tests/farm/engine/test_engine.py \\
    tests/gym tests/cli/test_cli.py
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = ("build", "hatch", "mcp", "minari", "playwright", "pyet", "pyright", "refet", "ruff", "twine")
"""Requirements that are not tested at their lowest version: development tools, MCP, which needs a
newer pydantic, and Minari, which needs NumPy 2."""


def lowest(*chosen: str) -> list[str]:
    """Return a pin `name==version` for every requirement of the package and the chosen extras, at its lower bound."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]

    def expand(requirements: list[str]) -> Iterator[str]:
        for requirement in requirements:
            if ours := re.fullmatch(r"harvestgym\[(.+)\]", requirement):
                for name in ours[1].split(","):
                    yield from expand(extras[name])
            else:
                yield requirement

    wanted = expand([*project["dependencies"], *(requirement for extra in chosen for requirement in extras[extra])])
    return sorted({requirement.replace(">=", "==") for requirement in wanted if not requirement.startswith(LEFT_OUT)})


if __name__ == "__main__":
    print(" ".join(lowest(*sys.argv[1:])))
