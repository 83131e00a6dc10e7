"""The reference lists every public name: those that a package exports, and those that docs and examples use."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from .load_script import ROOT

REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
DIRECTIVE = re.compile(
    r"^\.\. auto(module|class|function|data):: ([\w.]+)\n(?:   :members: ((?:[\w, ]|\n     )+))?", re.MULTILINE
)
BLOCK = re.compile(r"^```(?:python|\{code-cell\}[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
EXPORTING = ("", ".farm", ".fishing", ".forager", ".testing")
"""Packages whose `__all__` is public."""


def listed() -> set[str]:
    """Return the names of the reference, with their modules."""
    names = set()
    for page in REFERENCE:
        for kind, target, members in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            inside = re.findall(r"\w+", members)
            names |= {f"{target}.{name}" for name in inside} if kind == "module" else {target}
    return names


def codes() -> Iterator[str]:
    """Yield the code of the README, the docs and the examples."""
    for page in [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs/notebooks").glob("*.md")),
    ]:
        yield from BLOCK.findall(page.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "examples").glob("*.py")):
        yield path.read_text(encoding="utf-8")


def imported() -> set[str]:
    """Return the names that users are shown to import, with their modules."""
    nodes = [node for code in codes() for node in ast.walk(ast.parse(re.sub(r"^[%!].*", "", code, flags=re.MULTILINE)))]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0]
    return {f"{f.module}.{name.name}" for f in froms for name in f.names if f"{f.module}.".startswith("harvestgym.")}


def modules_of(code: ast.AST) -> dict[str, str]:
    """Return the modules of the package that a code imports, by the names that it gives them."""
    froms = [node for node in ast.walk(code) if isinstance(node, ast.ImportFrom) and node.module]
    pairs = {name.asname or name.name: f"{f.module}.{name.name}" for f in froms for name in f.names}
    return {name: full for name, full in pairs.items() if full.startswith("harvestgym.") and is_module(full)}


def is_module(name: str) -> bool:
    """Return whether a name is that of a module."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # what it is in is no package, or needs an extra that is missing
        return False


def reached() -> set[str]:
    """Return the names that users are shown as attributes of a module that they import."""
    names = set()
    for code in map(ast.parse, (re.sub(r"^[%!].*", "", code, flags=re.MULTILINE) for code in codes())):
        modules = modules_of(code)
        for node in ast.walk(code):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                names.add(f"{modules[node.value.id]}.{node.attr}")
    return names


def written() -> set[str]:
    """Return the functions and classes of the text of the docs: in full, or bare on a page that names their module."""
    names = set()
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        quoted = re.findall(r"`([^`]+)`", FENCED.sub("", page.read_text(encoding="utf-8")))
        full = {name for text in quoted for name in re.findall(r"harvestgym(?:\.[a-z]\w*)*\.\w+", text)}
        modules = {name for name in full if is_module(name)}
        bare = {match[1] for text in quoted if (match := re.match(r"(\w+)\(", text))}
        names |= {name for name in full - modules if is_module(name.rpartition(".")[0])}
        names |= {f"{module}.{name}" for module in modules for name in bare if defines(module, name)}
    return names


def defines(module: str, name: str) -> bool:
    """Return whether a module, and none that it imports, has a name."""
    return getattr(find(f"{module}.{name}", None), "__module__", "") == module


def find(name: str, *default: Any) -> Any:
    """Return the object of a name; None without the extra that it needs."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, *default)
    except ImportError:
        return None


def canonical(name: str) -> str:
    """Return the name of an object where it is defined; the name itself for a module, a value or a missing extra."""
    found = find(name)
    if isinstance(found, ModuleType):
        return found.__name__
    return f"{found.__module__}.{found.__qualname__}" if hasattr(found, "__qualname__") else name


def missing(names: set[str]) -> set[str]:
    """Return the names that are not in the reference; a module of functions is there if one of them is."""
    known = {canonical(name) for name in listed()}
    known |= {name.rpartition(".")[0] for name in known}
    return {name for name in names if canonical(name) not in known}


@pytest.mark.parametrize("package", EXPORTING)
def test_every_exported_name_is_in_the_reference(package: str) -> None:
    module = importlib.import_module(f"harvestgym{package}")
    assert missing({f"{module.__name__}.{name}" for name in module.__all__}) == set(), "list them in docs/reference"


def test_every_name_that_users_are_shown_to_import_is_in_the_reference() -> None:
    assert missing(imported()) == set(), "list them in docs/reference"


def test_every_name_that_the_docs_use_or_mention_is_in_the_reference() -> None:
    assert missing(reached() | written()) == set(), "list them in docs/reference"


def test_every_function_and_class_of_the_reference_has_a_docstring() -> None:
    """Sphinx leaves out those without one, and says nothing."""
    assert [name for name in sorted(listed()) if callable(found := find(name)) and not found.__doc__] == []


def test_the_pages_of_the_reference_are_in_its_list() -> None:
    index = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert {page.stem for page in REFERENCE} - {"index", "cli"} == set(re.findall(r"^\w+$", index, re.MULTILINE))
