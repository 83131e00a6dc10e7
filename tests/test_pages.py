"""The pages that are made with the site: every id, every parameter set, and their lists."""

from __future__ import annotations

import re
from typing import Any

import pytest

import harvestgym
from harvestgym.farm.view.describe import parameter_tables

from .load_script import script
from .long_form import some

pages = script("tools/make_pages.py")
IDS = some(harvestgym.ids(), "full-1x1-v0", "paid-looks-1x1-v0", "contexts-1x1-v0", "patches-v0", "two-biome-v0")
"""In the short form, ids whose pages have every section."""
LONGEST = 4000
"""Words of a page."""


@pytest.mark.parametrize("id", IDS)
def test_a_page_is_short_and_begins_with_what_is_hard(id: str) -> None:
    text = pages.page(id)
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert f"**What is hard.** {harvestgym.registry.hard(id)}" in text
    assert heads[:3] == ["## At a glance", "## Scores", "## Versions"]
    assert len(text.split()) < LONGEST


def test_the_pages_of_parameter_sets_have_every_parameter_of_a_farm() -> None:
    made = pages.set_pages()
    env: Any = harvestgym.make("farm/rotation-v0")
    near = pages.page("farm/rotation-v0")
    for table in parameter_tables(env):
        field, _, slot = table.title.removeprefix("Parameters of ").partition("/")
        at = [slot.name for slot in env.fields[0].slots].index(slot)
        kind, which = env.fields[0].slots[at].kind, env.spec.fields[field].entities[at][1]
        page = made[pages.DOCS / "farm" / "sets" / f"{kind.__name__.lower()}-{pages.name_set(kind, which)}.md"]
        lost = [row for row in table.rows if not any(f"| {row[0]} | {row[1]} |" in text for text in (page, near))]
        assert not lost, table.title


def test_every_page_is_in_a_list() -> None:
    linked = {
        (path.parent / target).resolve()
        for path, text in [(pages.DOCS / "ids.md", pages.index()), *pages.set_pages().items()]
        for target in re.findall(r"\]\(([^)#:]+\.md)", text)
    }
    assert {*pages.set_pages(), *(pages.DOCS / f"{id}.md" for id in harvestgym.ids())} <= linked | {
        pages.DOCS / "farm" / "sets" / "index.md"
    }
    assert {*pages.set_pages()} <= {*pages.list_paths()}


def test_every_id_says_what_its_version_changed() -> None:
    for id in harvestgym.ids():
        assert f"v{id.rpartition('-v')[2]}" in pages.history(id), id
