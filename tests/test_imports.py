"""The import order of the package (DESIGN, section 1): no cycles, nothing upwards, and an import that does no work."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from .load_script import ROOT, script

structure = script("tools/structure.py")
TREE = structure.Tree(ROOT)

FAMILIES, LAYERS, ORDERS = structure.FAMILIES, structure.LAYERS, structure.ORDERS

LATE = {
    "harvestgym.adapters.pettingzoo": "`harvestgym list --multi-agent` does not need the extra `multi`",
    "harvestgym.registry": "listing ids must not import JAX or a family",
    "harvestgym.cli": "`harvestgym --help` must answer before JAX is imported",
    "harvestgym.forager.family": "the host engine loads numba, only where a Gymnasium environment is made",
    "harvestgym.forager.host_engine.numba_support": "the host engine does not need JAX",
    "harvestgym.play": "the browser game needs the extra `web`",
    "harvestgym.evaluate.export": "films and pages load only when one is written",
    "harvestgym.evaluate.splits": "only the id of a farm loads the farm family",
}
"""Modules that import our own modules inside functions, and why start-up time needs it."""

FOLDERS = ("harvestgym.cli",)
"""Entries of `LATE` that hold for all modules below them."""

OPTIONAL = {
    "matplotlib",
    "stable_baselines3",
    "pyarrow",
    "pandas",
    "numba",
    "pettingzoo",
    "torch",
    "nicegui",
    "pooch",
}
NEEDS_OPTIONAL = {
    "harvestgym.adapters": "an adapter is imported by users of its library only",
    "harvestgym.play.web": "the browser game is imported by `harvestgym play` only",
    "harvestgym.gym.pettingzoo_env": "the environments of PettingZoo",
}
"""Modules that may import an optional library at their top, and why."""


def layer_of(name: str, layers: tuple[tuple[str, ...], ...]) -> int | None:
    return next((at for at, layer in enumerate(layers) if name in layer), None)


def parts(module: str) -> list[str]:
    return module.split(".")[1:]


def upward(layers: tuple[tuple[str, ...], ...], folder: str = "") -> list[str]:
    """Return the imports that run against the order of some layers, or between two families."""
    found = []
    for each in TREE.imports:
        importer, imported = ([*parts(name), "", ""] for name in (each.importer, each.imported))
        if folder:
            if importer[0] != folder or imported[0] != folder:
                continue
            importer, imported = importer[1:], imported[1:]
        one, other = layer_of(importer[0], layers), layer_of(imported[0], layers)
        if one is None or other is None:
            continue
        between_families = importer[0] in FAMILIES and one == other and importer[0] != imported[0]
        if one < other or between_families:
            found.append(f"{each.importer}:{each.line} imports {each.imported}")
    return found


def below(module: str, folders: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{folder}.") for folder in folders)


def test_every_top_level_folder_has_a_layer() -> None:
    children = {parts(name)[0] for name in TREE.modules if parts(name)}
    assert children == {name for layer in LAYERS for name in layer} | {"registry", "__main__"}


def test_imports_follow_the_layers() -> None:
    assert upward(LAYERS) == []


def test_the_package_neither_imports_nor_names_experiments() -> None:
    """Users have no clone: a text of the package that points there leads nowhere."""
    suffixes = (".py", ".yaml", ".md", ".js", ".html", ".css")
    files = [path for path in (ROOT / "harvestgym").rglob("*") if path.suffix in suffixes]
    named = re.compile(r"\bexperiments[./]|import experiments")
    assert [str(path) for path in files if named.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("family", ORDERS)
def test_imports_follow_the_layers_inside_a_family(family: str) -> None:
    children = {parts(name)[1] for name in TREE.modules if len(parts(name)) > 1 and parts(name)[0] == family}
    known = {name for layer in ORDERS[family] for name in layer}
    assert children <= known, f"give {sorted(children - known)} a layer in ORDERS"
    assert upward(ORDERS[family], family) == []


def test_the_engines_of_the_forager_stand_side_by_side_on_the_world() -> None:
    """The world and its rules know neither numba nor JAX, and no engine knows the other."""
    (root, engines, *_), forager = ORDERS["forager"], "harvestgym.forager."
    for name in root:
        used = {top for node in ast.walk(TREE.modules[forager + name]) if isinstance(node, (ast.Import, ast.ImportFrom))
                for top in roots(node)}  # fmt: skip
        assert not used & {"jax", "numba"}, name
    for each in TREE.imports:
        one, other = ({engine for engine in engines if below(name, [forager + engine])}
                      for name in (each.importer, each.imported))  # fmt: skip
        assert not one or not other or one == other, f"{each.importer}:{each.line} imports {each.imported}"


def test_registry_is_below_all_but_core_and_render() -> None:
    used = {
        name for each in TREE.imports if each.importer == "harvestgym.registry" for name in parts(each.imported)[:1]
    }
    assert used <= {"core"}
    users = {
        name for each in TREE.imports if each.imported == "harvestgym.registry" for name in parts(each.importer)[:1]
    }
    assert not users & {"core", "render"}


def test_no_cycle_between_files() -> None:
    assert structure.cycles(TREE.graph) == []


@pytest.mark.parametrize("package", sorted(TREE.packages))
def test_no_cycle_between_the_files_and_folders_of_a_folder(package: str) -> None:
    assert structure.cycles(TREE.folder_graph(package)) == []


def test_an_entity_imports_no_other_entity() -> None:
    shared = {"base", "response", "messages", "crops_and_weeds", "spreadable", "drawing"}
    entities, readers = "harvestgym.farm.entities.", "harvestgym.farm.weather_data."
    for each in TREE.imports:
        outside = each.imported.startswith("harvestgym.farm") and not each.imported.startswith(readers)
        if each.importer.startswith(entities) and outside:
            kind = each.importer.removeprefix(entities).partition(".")[0]
            other = each.imported.removeprefix(entities).partition(".")[0]
            assert other in shared | {kind}, f"{each.importer}:{each.line} imports {each.imported}"


def test_imports_inside_functions_only_where_start_up_time_needs_it() -> None:
    inside = [each for each in TREE.imports if each.in_function]
    late = [e for e in inside if e.importer not in LATE and not below(e.importer, FOLDERS)]
    assert [f"{e.importer}:{e.line} imports {e.imported}" for e in late] == []
    stale = {name for name in LATE if name not in FOLDERS} - {each.importer for each in inside}
    stale |= {name for name in FOLDERS if not any(below(each.importer, [name]) for each in inside)}
    assert stale == set(), "modules without an import inside a function"


def test_no_folder_holds_more_modules_than_a_reader_can_survey() -> None:
    most = 18
    counts = {package: sum(name.rpartition(".")[0] == package and name not in TREE.packages for name in TREE.modules)
              for package in TREE.packages}  # fmt: skip
    assert {package: count for package, count in counts.items() if count > most} == {}


def test_import_loads_neither_jax_nor_a_family() -> None:
    code = "import sys, json, harvestgym; print(json.dumps(sorted(sys.modules)))"
    loaded = set(
        json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    )
    assert not loaded & {"jax", "yaml", "pydantic", "matplotlib", "pandas", *(f"harvestgym.{f}" for f in FAMILIES)}


def test_optional_libraries_are_imported_where_they_are_used_only() -> None:
    """A module-level import of an optional library would make it a requirement of everything that imports it."""
    for name, tree in TREE.modules.items():
        top = {root for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) for root in roots(node)}
        assert below(name, NEEDS_OPTIONAL) or not top & OPTIONAL, f"{name} imports {top & OPTIONAL} at its top"


def roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if not node.level else set()


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_cycles_are_the_strongly_connected_components(graph: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert sorted(structure.cycles(graph)) == expected


def test_imports_in_functions_and_for_types_are_read(tmp_path: Path) -> None:
    """The measure sees every import, or the tests above could not fail."""
    package = tmp_path / "harvestgym"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "one.py").write_text("def f():\n    from .two import g\n    return g\n")
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from harvestgym.inner import one\ng = 1\n"
    (package / "inner" / "two.py").write_text(text)
    tree = structure.Tree(tmp_path)
    assert [(e.importer, e.imported, e.in_function, e.for_types) for e in tree.imports] == [
        ("harvestgym.inner.one", "harvestgym.inner.two", True, False),
        ("harvestgym.inner.two", "harvestgym.inner.one", False, True),
    ]
    assert structure.cycles(tree.graph) == [["harvestgym.inner.one", "harvestgym.inner.two"]]
    assert tree.count_code() == 4  # lines of `one` and `two` that are no imports
