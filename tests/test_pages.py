"""The page of every id is what its metadata says today."""

from __future__ import annotations

import pytest

import harvestgym

from .script import script
from .short import some

TOOL = "tools/make_pages.py"
pages = script(TOOL)
IDS = some(harvestgym.ids(), "full-1x1-v1", "paid-looks-1x1-v1", "contexts-1x1-v1", "patches-v0", "two-biome-v1")
"""In the short form, ids whose pages have every section."""
MAKE_AGAIN = f"run python {TOOL}"


@pytest.mark.parametrize("id", IDS)
def test_a_page_is_up_to_date(id: str) -> None:
    assert (pages.DOCS / f"{id}.md").read_text(encoding="utf-8") == pages.page(id), MAKE_AGAIN


def test_the_lists_of_pages_are_up_to_date() -> None:
    assert (pages.DOCS / "ids.md").read_text(encoding="utf-8") == pages.index(), MAKE_AGAIN
    for family in pages.FAMILIES:
        found = (pages.DOCS / family / "index.md").read_text(encoding="utf-8")
        assert found == pages.gallery(family), MAKE_AGAIN
    listed = {path.stem for family in pages.FAMILIES for path in (pages.DOCS / family).glob("*.md")}
    assert listed == {id.partition("/")[2] for id in harvestgym.ids()} | {"index"}
