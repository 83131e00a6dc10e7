"""Check that each link in a built site leads to an existing file and anchor: `python tools/check_links.py out/site`.

It also checks the Markdown files of the repository, which GitHub shows without the pages that are made with the site:
they link to such a page by its address on the site, which `docs/conf.py` turns into a link inside the site.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
SITE = "https://harvestgym.github.io/harvestgym"
FOLDERS = ("docs", "examples", "experiments")
PARTS = "experiments/leaderboard/page_"
"""Files whose text becomes part of a page that is made with the site."""

MARKDOWN_LINK = re.compile(r"\]\(([^)\s#:]+)[)#]")


class Page(HTMLParser):
    """The anchors of a page and the addresses that it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors, self.links = {"", "top"}, set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect anchors and addresses from the attributes of a tag."""
        for name, value in attrs:
            if name in ("id", "href", "src"):
                (self.anchors if name == "id" else self.links).add(value or "")


@cache
def read(path: Path) -> Page:
    """Return the anchors and links of an HTML file."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def find_mistake(path: Path, link: str) -> str:
    """Return what is wrong with a link on a page; empty for a correct link or a link to another site."""
    if (parts := urlsplit(link)).scheme or parts.netloc:
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "no such file"
    return "" if target.suffix != ".html" or unquote(parts.fragment) in read(target).anchors else "no such anchor"


def list_made() -> list[str]:
    """Return the pages and folders of pages that are made with the site, which git ignores."""
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    return [line.strip("/") for line in lines if line.startswith("/docs/")]


def find_source_mistakes() -> Iterator[str]:
    """Yield a line for each broken link in a Markdown file of the repository, as a reader on GitHub sees it."""
    made = re.compile("|".join(re.escape(name) + r"(/|$)" for name in list_made()))
    pages = [*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md")))]
    for page in pages:
        name = page.relative_to(ROOT).as_posix()
        if made.match(name) or name.startswith(PARTS):
            continue
        for link in MARKDOWN_LINK.findall(page.read_text(encoding="utf-8")):
            target = os.path.relpath(page.parent / link, ROOT)
            if made.match(target):
                address = f"{SITE}/{target.removeprefix('docs/').removesuffix('.md')}.html"
                yield f"{name}: {link}: made with the site; try {address}"
            elif not (ROOT / target).exists():
                yield f"{name}: {link}: no such file"


def main(site: Path) -> int:
    """Print every broken link of a site and of the repository; return the number of broken links."""
    pages = sorted(site.resolve().rglob("*.html"))
    links, wrong = [(page, link) for page in pages for link in sorted(read(page).links)], 0
    for path, link in links:
        own = link.startswith(SITE)
        if mistake := find_mistake(site.resolve() / "index.html" if own else path, link.removeprefix(f"{SITE}/")):
            wrong += 1
            print(f"{path.relative_to(site.resolve())}: {link}: {mistake}")
    sources = list(find_source_mistakes())
    print(*sources, f"{len(pages)} pages, {wrong + len(sources)} wrong links", sep="\n")
    return wrong + len(sources)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
