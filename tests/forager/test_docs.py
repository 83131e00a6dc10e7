"""The tables of the docs: every rule names a test that exists, every id is listed."""

from __future__ import annotations

import re
from pathlib import Path

from harvestgym.forager.family import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs" / "forager.md"


def test_every_rule_names_a_test_that_exists():
    named = set(re.findall(r"`(test_\w+)`", DOCS.read_text(encoding="utf-8")))
    here = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("test_*.py"))
    assert len(named) > 20
    assert named <= set(re.findall(r"^def (test_\w+)", here, re.MULTILINE))


def test_every_id_is_in_the_docs():
    listed = set(re.findall(r"^\| `forager/([\w-]+)`", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {path.stem for path in CATALOGUE.glob("*-v[0-9]*.yaml")}


def test_the_example_of_the_docs_runs():
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    space: dict = {}
    exec(code[1], space)
    assert space["obs"].shape == (7, 7, 3)
