"""`docs/equations.md` leads from each equation of the paper to a function that names it and to a test that exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| \((\d+)\) \|[^|]*\| `([\w.:]+)` \| `([\w/.]+::\w+)` \|$", re.MULTILINE)
LAW = re.compile(r"^\| [\d.]+ \|[^|]*\| `([\w.:]+)` \| `([\w/.]+::\w+)` \|$", re.MULTILINE)
"""What the paper says without a number, by its section."""

TEXT = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
ROWS, LAWS = ROW.findall(TEXT), LAW.findall(TEXT)


def function(target: str) -> Any:
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(f"harvestgym.{module}")
    for name in names.split("."):
        found = getattr(found, name)
    return found


def test_every_equation_is_there() -> None:
    assert [int(number) for number, _, _ in ROWS] == list(range(1, 35))


@pytest.mark.parametrize(("number", "target", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_an_equation_has_its_function_and_its_test(number: str, target: str, test: str) -> None:
    doc = function(target).__doc__ or ""
    cited = {int(n) for n in re.findall(r"\((\d+)\)", doc)}
    spans = re.findall(r"\((\d+)\)(?: to |-)\((\d+)\)", doc)
    assert int(number) in cited or any(int(a) <= int(number) <= int(b) for a, b in spans), f"{target} cites {cited}"
    assert_there(test)


@pytest.mark.parametrize(("target", "test"), LAWS, ids=[row[0] for row in LAWS])
def test_a_law_without_a_number_has_its_function_and_its_test(target: str, test: str) -> None:
    assert function(target).__doc__
    assert_there(test)


def assert_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"no {name} in {path}"
