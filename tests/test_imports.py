"""Who may import whom, and that importing the package does no work (DESIGN, section 1)."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import harvestgym

ROOT = Path(harvestgym.__file__).parent
FAMILIES = ("farm", "fishing", "forager")
SHELLS = (Path("farm") / "interface" / "farm.py",)
"""Faces that a family has of its own, which nothing in the family imports: the paper's `Farm` is a `GymEnv`."""


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Absolute names of everything a module imports, relative imports resolved."""
    package = ("harvestgym", *path.relative_to(ROOT).parts[:-1])
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names.add(".".join((*base, *([node.module] if node.module else []))))
    return names


def inner(name: str) -> str:
    """The part of the house that a dotted name belongs to, `core` for `harvestgym.core.env`."""
    parts = name.split(".")
    return parts[1] if parts[0] == "harvestgym" and len(parts) > 1 else ""


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    here = path.relative_to(ROOT).parts[0].removesuffix(".py")
    used = {inner(name) for name in imported(path)} - {"", here}
    if here == "core":
        assert not used, f"core imports {used}"
    if here in FAMILIES:
        assert used <= {"core", "render", "gym"}, f"a family imports {used - {'core'}}"
    if here == "registry":
        assert not used & set(FAMILIES), "the registry names families by string only"
    if here == "render":
        assert used <= {"core"}
    if here == "gym":
        assert used <= {"core", "render", "evaluate", "registry"}
    if here == "play":
        assert used <= {"gym", "core", "evaluate", "registry", "render", *FAMILIES}


def test_nothing_in_a_family_imports_its_shell() -> None:
    shells = {"harvestgym." + ".".join(shell.with_suffix("").parts) for shell in SHELLS}
    for path in (p for p in modules() if p.relative_to(ROOT).parts[0] in FAMILIES and p.name != "__init__.py"):
        assert not imported(path) & shells, f"{path.name} imports {imported(path) & shells}"


def test_an_entity_imports_no_other_entity() -> None:
    for path in (ROOT / "farm" / "entities").rglob("*.py"):
        kind = path.relative_to(ROOT / "farm" / "entities").parts[0]
        for name in imported(path):
            if name.startswith("harvestgym.farm"):
                mine = name.startswith(f"harvestgym.farm.entities.{kind}")
                shared = ("base", "messages", "spreadable", "observed", "hosts")
                allowed = name in {f"harvestgym.farm.entities.{each}" for each in shared}
                assert mine or allowed, f"{path.name} imports {name}"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_neither_jax_nor_a_family() -> None:
    code = "import sys, json, harvestgym; print(json.dumps(sorted(sys.modules)))"
    loaded = set(json.loads(run(code)))
    assert not loaded & {"jax", "yaml", "pydantic", "matplotlib", "pandas", *(f"harvestgym.{f}" for f in FAMILIES)}


def test_optional_libraries_are_imported_where_they_are_used_only() -> None:
    """A module-level import of an optional library would make it a requirement of everything that imports it."""
    optional = {"matplotlib", "stable_baselines3", "pyarrow", "pandas", "numba", "pettingzoo", "torch", "nicegui"}
    for path in modules():
        tree = ast.parse(path.read_text())
        top = {n for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) for n in _roots(node)}
        homes = path.parent.name in ("adapters", "web", "numba_engine") or path.name in ("parallel_env.py",)
        assert homes or not top & optional, f"{path.relative_to(ROOT)} imports {top & optional} at its top"


def _roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if not node.level else set()
