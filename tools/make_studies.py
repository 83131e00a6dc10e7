"""Run the studies of the farm and write their tables and pictures into the docs, all from scratch.

python tools/make_studies.py             # all of them
python tools/make_studies.py watering    # one

The tables of a study are between `<!-- NAME -->` and `<!-- end NAME -->` in docs/studies.md or docs/validation.md.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from make_pages import markdown

from harvestgym.evaluate import studies

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {
    **dict.fromkeys(("watering", "pollinators", "pests-weeds", "fertilizer", "density"), "studies.md"),
    "card": "validation.md",
}  # fmt: skip


def write(name: str) -> None:
    """Run a study, put its tables into their page and its picture beside the others."""
    with tempfile.TemporaryDirectory() as folder:
        found = studies.named(name)(out=Path(folder))
        shutil.copy(Path(folder) / f"{name}.png", DOCS / "pictures" / f"study-{name}.png")
    lines = [line for table in (found if isinstance(found, list) else [found]) for line in markdown(table)]
    block = "\n".join(f"**{line[3:]}**" if line.startswith("## ") else line for line in lines)
    page = DOCS / PAGES[name]
    start, end = f"<!-- {name} -->", f"<!-- end {name} -->"
    text, count = re.subn(
        f"{start}.*?{end}", lambda _: f"{start}\n\n{block}\n{end}", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    if count != 1:
        raise SystemExit(f"{page.name}: wanted one block {start} ... {end}, found {count}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or PAGES:
        write(wanted)
