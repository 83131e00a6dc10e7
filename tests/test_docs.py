"""Every Python block of the README and of the docs runs as it stands, in a folder that it leaves empty."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import harvestgym
from experiments.speed import page as speed
from tests.load_script import script
from tests.long_form import ALL
from tools import check_links

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
MADE = ("ids.md", "leaderboard.md")
PAGES = [README, *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in MADE)]
TABLES = [
    ROOT / "experiments" / name
    for name in (
        "leaderboard/TABLES.md",
        "studies/TABLES.md",
        "studies/CARD.md",
        "training/TABLES.md",
        "speed/TABLES.md",
    )
]
"""Pages of tables that the docs summarise."""
LONG = (
    "calibration.md", "contexts.md", "custom.md", "entity.md", "forager.md", "heldout.md", "keep.md", "language.md",
    "map.md", "play.md", "replay.md", "see.md", "start.md", "sweep.md",
    "teaching.md",
)  # fmt: skip
"""Pages whose blocks take half a minute of a core; notebooks and examples use the same functions."""

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"^(import|from) harvestgym\b|\bharvestgym:", re.MULTILINE)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


RUN = [p for p in PAGES if blocks(p) and (ALL or p.name not in LONG)]


@pytest.mark.parametrize("page", RUN, ids=lambda p: p.name)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block starts with nothing but its own names; what pages share is the programs that were compiled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    for block in blocks(page):
        assert OURS.search(block), "an id is registered by the block that makes it, no matter what ran before"
        exec(compile(block, page.name, "exec", dont_inherit=True), {"__name__": "__main__"})
    assert not list(tmp_path.iterdir()), "nothing is written where it was not asked"


def test_the_readme_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Both the space of actions and the seasons are seeded. The page fits on two screens."""
    for block in blocks(README):
        exec(compile(block, README.name, "exec", dont_inherit=True), {"__name__": "__main__"})
        assert f"`{capsys.readouterr().out.strip()}`" in README.read_text("utf-8")
    assert len(README.read_text("utf-8").splitlines()) <= 120


def test_the_figures_of_the_readme_are_those_of_the_results() -> None:
    for name, lines in script("tools/make_readme.py").make_blocks().items():
        assert "\n".join([f"<!-- {name} -->", "", *lines, "", f"<!-- end {name} -->"]) in README.read_text("utf-8")


def test_the_speeds_of_the_docs_are_those_that_were_measured() -> None:
    tables = [(ROOT / "docs" / speed.PAGE, make()) for make in (speed.make_steps, speed.make_starts)]
    tables += [(speed.DETAILS, make()) for make in (speed.make_parts, speed.make_memory, speed.make_batches)]
    for path, lines in tables:
        assert "\n".join(lines).strip() in path.read_text("utf-8")


def test_links_between_pages_lead_somewhere() -> None:
    """A reader on GitHub has no pages that are made with the site, so that links to them are its addresses."""
    assert list(check_links.find_source_mistakes()) == []
    made = {path.relative_to(ROOT / "docs").with_suffix("") for path in script("tools/make_pages.py").list_paths()}
    made |= {Path(name).with_suffix("") for name in MADE}
    for page in [*PAGES, *TABLES]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"src=\"([^#:\"]+)\"", text):
            assert (page.parent / target).exists(), f"{page.name} shows {target}"
        for target in re.findall(rf"\]\({check_links.SITE}/([\w./-]+)[.]html", text):
            assert Path(target) in made, f"{page.name} points to {target}"


def test_every_picture_is_shown() -> None:
    made = (path.stem.replace("-", "/", 1) for path in (ROOT / "docs" / "pictures").glob("*-v[0-9].png"))
    assert set(made) <= set(harvestgym.ids())
    pages = [*PAGES, *TABLES, ROOT / "ARCHITECTURE.md", *(ROOT / "docs" / "reference").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    others = (path.name for path in (ROOT / "docs" / "pictures").iterdir() if path.stem[-3:-1] != "-v")
    assert [name for name in others if f"pictures/{name}" not in text] == []
