"""Check that each link in a built site leads to an existing file and anchor: `python tools/check_links.py out/site`."""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


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


def main(site: Path) -> int:
    """Print every broken link of a site; return the number of broken links."""
    pages = sorted(site.resolve().rglob("*.html"))
    links, wrong = [(page, link) for page in pages for link in sorted(read(page).links)], 0
    for path, link in links:
        if mistake := find_mistake(path, link):
            wrong += 1
            print(f"{path.relative_to(site.resolve())}: {link}: {mistake}")
    print(f"{len(pages)} pages, {wrong} wrong links")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
