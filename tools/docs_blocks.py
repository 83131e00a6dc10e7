"""Generated blocks of the docs: the lines between `<!-- NAME -->` and `<!-- end NAME -->` on a page."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from harvestgym.core.view.tables import Table
from tools.make_pages import markdown

DOCS = Path(__file__).parent.parent / "docs"
PICTURES = DOCS / "pictures"


def put(page: str | Path, name: str, lines: Iterable[str]) -> None:
    """Replace the named block on a docs page, or in a file; raises SystemExit unless it has exactly one such block."""
    path, (start, end) = DOCS / page, (f"<!-- {name} -->", f"<!-- end {name} -->")
    block = "\n".join([start, "", *lines]).rstrip() + f"\n\n{end}"
    text, count = re.subn(f"{start}.*?{end}", lambda _: block, path.read_text(encoding="utf-8"), flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{page}: expected one block {start} ... {end}, got {count}")
    path.write_text(text, encoding="utf-8")


def body(tables: Table | Iterable[Table]) -> list[str]:
    """Return tables as Markdown with their titles in bold."""
    lines = [line for table in ([tables] if isinstance(tables, Table) else tables) for line in markdown(table)]
    return [f"**{line[3:]}**" if line.startswith("## ") else line for line in lines]
