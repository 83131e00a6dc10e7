"""The page of every id is what its metadata says today."""

from __future__ import annotations

from typing import Any

import pytest

import harvestgym
from harvestgym.farm.view.describe import parameter_tables

from .script import script
from .short import some

TOOL = "tools/make_pages.py"
pages = script(TOOL)
IDS = some(harvestgym.ids(), "full-1x1-v1", "paid-looks-1x1-v1", "contexts-1x1-v1", "patches-v0", "two-biome-v1")
"""In the short form, ids whose pages have every section."""
LONGEST = 4000
"""Words of a page."""
MAKE_AGAIN = f"run python {TOOL}"


@pytest.mark.parametrize("id", IDS)
def test_a_page_is_up_to_date(id: str) -> None:
    assert (pages.DOCS / f"{id}.md").read_text(encoding="utf-8") == pages.page(id), MAKE_AGAIN


@pytest.mark.parametrize("id", IDS)
def test_a_page_is_short_and_begins_with_what_is_hard(id: str) -> None:
    text = (pages.DOCS / f"{id}.md").read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert f"**What is hard.** {harvestgym.registry.hard(id)}" in text
    assert heads[:3] == ["## At a glance", "## Scores", "## Versions"]
    assert len(text.split()) < LONGEST


def test_the_pages_of_parameter_sets_are_up_to_date_and_have_every_parameter_of_a_farm() -> None:
    made = pages.set_pages()
    assert {path: path.read_text(encoding="utf-8") for path in made} == made, MAKE_AGAIN
    assert {*(pages.DOCS / "farm" / "sets").glob("*.md")} == {*made}
    env: Any = harvestgym.make("farm/rotation-v3")
    near = (pages.DOCS / "farm" / "rotation-v3.md").read_text(encoding="utf-8")
    for table in parameter_tables(env):
        field, _, slot = table.title.removeprefix("Parameters of ").partition("/")
        at = [slot.name for slot in env.fields[0].slots].index(slot)
        kind, which = env.fields[0].slots[at].kind, env.spec.fields[field].entities[at][1]
        page = made[pages.DOCS / "farm" / "sets" / f"{kind.__name__.lower()}-{pages.name_set(kind, which)}.md"]
        lost = [row for row in table.rows if not any(f"| {row[0]} | {row[1]} |" in text for text in (page, near))]
        assert not lost, table.title


def test_the_lists_of_pages_are_up_to_date() -> None:
    assert (pages.DOCS / "ids.md").read_text(encoding="utf-8") == pages.index(), MAKE_AGAIN
    for family in pages.FAMILIES:
        found = (pages.DOCS / family / "index.md").read_text(encoding="utf-8")
        assert found == pages.gallery(family), MAKE_AGAIN
    listed = {path.stem for family in pages.FAMILIES for path in (pages.DOCS / family).glob("*.md")}
    assert listed == {id.partition("/")[2] for id in harvestgym.ids()} | {"index"}
