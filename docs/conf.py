"""Settings of the documentation site.

pip install -e '.[docs]' && sphinx-build -W --keep-going docs out/site

The site loads nothing from the network, neither while it is built nor when it is read. Notebooks are shown without
their results, unless the environment variable HARVESTGYM_NOTEBOOKS is `cache` (run those that changed) or `force` (run
all, as for the published site: `make notebooks`).
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

import harvestgym

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))  # for tools and experiments

from tools.check_links import SITE  # noqa: E402

SOURCE = "https://github.com/harvestgym/harvestgym/blob/main"

project = "HarvestGym"
author = "the HarvestGym developers"
project_copyright = "2026, the HarvestGym developers"
version = release = harvestgym.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.linkcode", "sphinx_copybutton"]

# Pages are Markdown that GitHub shows as well: a link is a path, and `#the-study` is the heading "The study".
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"  # which browsers draw without a script
smartquotes = False
nb_execution_mode = os.environ.get("HARVESTGYM_NOTEBOOKS", "off")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # notebooks show their figures

# Docstrings are in Google style. `name` in them is code, and a link where the name is documented.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_mock_imports = ["stable_baselines3"] if find_spec("stable_baselines3") is None else []
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "HarvestGym"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
copybutton_prompt_text = "$ "

INCLUDED = {
    "examples": DOCS.parent / "examples" / "README.md",
    "project/architecture": DOCS.parent / "ARCHITECTURE.md",
    "project/changelog": DOCS.parent / "CHANGELOG.md",
    "project/contributing": DOCS.parent / "CONTRIBUTING.md",
}
"""Pages of the site whose text is that of a file outside this folder."""

LINK = re.compile(r"(?<=\]\()([^)\s#:]+)")
"""The path of a Markdown link."""

SITE_LINK = re.compile(rf"(?<=\]\(){SITE}/([\w./-]+)[.]html")
"""The address of a page of this site in a Markdown link, for readers on GitHub."""


def read_page(app: Any, page: str, source: list[str]) -> None:
    """Replace the text of an included page with its file's text, and turn links to such files into links to pages."""
    origin = INCLUDED.get(page, DOCS / f"{page}.md")
    if page in INCLUDED:
        source[0] = origin.read_text(encoding="utf-8")
        app.env.note_dependency(str(origin))
    if page == "reference/cli":
        source[0] += list_commands()
    pages = {file: DOCS / f"{name}.md" for name, file in INCLUDED.items()}
    here = (DOCS / page).parent
    source[0] = SITE_LINK.sub(lambda found: os.path.relpath(DOCS / f"{found[1]}.md", origin.parent), source[0])

    def relink(match: re.Match[str]) -> str:
        target = (origin.parent / match[0]).resolve()
        if target.suffix == ".md" and target.exists() and target not in pages and DOCS not in target.parents:
            return f"{SOURCE}/{target.relative_to(DOCS.parent).as_posix()}"
        return os.path.relpath(pages.get(target, target), here) if target.exists() else match[0]

    source[0] = LINK.sub(relink, source[0])


def make_pages(app: Any) -> None:
    """Write the page of the leaderboard and of every id and parameter set, and their lists, from rows and metadata."""
    from experiments.leaderboard import page, store
    from tools import make_pages

    page.write_page(DOCS, store.read_rows(DOCS))
    make_pages.write_pages()


def list_commands() -> str:
    """Return the reference of the command line in Markdown, as Typer writes it, without lists of shortened texts."""
    command = [sys.executable, "-m", "typer", "harvestgym.cli", "utils", "docs", "--name", "harvestgym"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
    return re.sub("^#", "##", text, flags=re.MULTILINE)


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the address of the source of a documented object; None for values and for objects without source code."""
    try:
        found = inspect.unwrap(attrgetter(info["fullname"])(importlib.import_module(info["module"])))
        file, (lines, first) = Path(inspect.getsourcefile(found) or ""), inspect.getsourcelines(found)
        place = file.resolve().relative_to(DOCS.parent)
    except (AttributeError, ImportError, OSError, TypeError, ValueError):
        return None
    return f"{SOURCE}/{place.as_posix()}#L{first}-L{first + len(lines) - 1}"


def skip_field(app: Any, what: str, name: str, item: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, which the docstring of the class describes."""
    return True if str(getattr(item, "__doc__", "")).startswith("Alias for field number") else None


def write_math(writer: Any, node: Any) -> None:
    """Write a formula as MathML."""
    display = "inline" if node.tagname == "math" else "block"
    writer.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Any) -> None:
    """Connect the functions of this file."""
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("builder-inited", make_pages)
    app.connect("autodoc-skip-member", skip_field)
    app.connect("source-read", read_page)
