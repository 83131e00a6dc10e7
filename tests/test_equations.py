"""`docs/equations.md` leads from each equation of the paper to a function that names it and to a test that exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| \((\d+)\) \|[^|]*\| `([\w.:]+)` \| `([\w/.]+::\w+)` \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs" / "equations.md").read_text(encoding="utf-8"))


def function(target: str) -> Any:
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(f"harvestgym.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    return found


def test_every_equation_up_to_25_is_there() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 26))


@pytest.mark.parametrize(("number", "target", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_an_equation_has_its_function_and_its_test(number: str, target: str, test: str) -> None:
    doc = function(target).__doc__ or ""
    cited = {int(n) for n in re.findall(r"\((\d+)\)", doc)}
    spans = re.findall(r"\((\d+)\)(?: to |-)\((\d+)\)", doc)
    assert int(number) in cited or any(int(a) <= int(number) <= int(b) for a, b in spans), f"{target} cites {cited}"
    path, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"no {name} in {path}"
