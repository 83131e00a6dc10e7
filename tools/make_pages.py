"""Write a page for every registered id under docs/<family>/, all of it from metadata.

python tools/make_pages.py           # write
python tools/make_pages.py --check   # exit 1 and name the pages that are out of date
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium

import harvestgym
from harvestgym.core.view.tables import Table
from harvestgym.registry import doc, family_function

DOCS = Path(__file__).parent.parent / "docs"


def page(id: str) -> str:
    """Return the Markdown page of an id."""
    env = harvestgym.make(id)
    spec = getattr(env, "spec", None)
    lines = [f"# {id}", "", doc(id, env), ""]
    lines += [f"Observation: {_brief(env.observation_space)}. Action: {_brief(env.action_space)}.", ""]
    tags = getattr(spec, "tags", [])
    lines += [f"Tags: {', '.join(tags)}.", ""] if tags else []
    for table in family_function(id, "describe")(env):
        lines += markdown(table)
    history = getattr(spec, "history", {})
    lines += ["## History", "", *(f"- {version}: {change}" for version, change in history.items()), ""]
    return "\n".join(lines)


def _brief(space: Any) -> str:
    shape = f" of {space.shape[0]} numbers" if isinstance(space, gymnasium.spaces.Box) else ""
    return f"`{type(space).__name__}`{shape}" if shape else f"`{space}`"


def markdown(table: Table) -> list[str]:
    """Return a table in Markdown under its title."""
    head = [f"## {table.title}", "", _row(table.columns), _row(["---"] * len(table.columns))]
    return head + [_row(row) for row in table.rows] + [""]


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def index() -> str:
    """Return the list of all pages."""
    lines = ["# Registered environments", "", "Made by `python tools/make_pages.py`; do not edit.", ""]
    for id in harvestgym.ids():
        lines.append(f"- [{id}]({id}.md) {doc(id)}")
    return "\n".join([*lines, ""])


def pages() -> dict[Path, str]:
    """Return every page and its text."""
    return {DOCS / f"{id}.md": page(id) for id in harvestgym.ids()} | {DOCS / "ids.md": index()}


def main() -> None:
    """Write the pages, or check them."""
    made = pages()
    stale = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        print("\n".join(f"{path.relative_to(DOCS.parent)} is out of date" for path in stale))
        sys.exit(bool(stale))
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    print(f"wrote {len(stale)} of {len(made)} pages")


if __name__ == "__main__":
    main()
