"""Measure the structure of the package: folders, import cycles, sizes, docstrings, types, duplicate names, tests.

python tools/structure.py [ROOT] [--names] [--json]    # ROOT: a checkout, by default this one

Nothing is imported: every figure is computed from syntax trees, so that older checkouts can be measured too.
"""

from __future__ import annotations

import argparse
import ast
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = "harvestgym"
FAMILIES = ("farm", "fishing", "forager")
LAYERS = (
    ("core",), ("render",), ("gym",), FAMILIES, ("sweep",), ("adapters", "evaluate", "testing"),
    ("play",), ("text",), ("cli",),
)  # fmt: skip
"""The import order: each layer may import the layers before it. Families do not import each other. A sweep
refers to the code that runs its cases by name only, so that evaluations, in a higher layer, can use cases."""

ORDERS = {
    "farm": (
        ("public_names", "formula_parser", "spelling", "schema", "farm_file", "weather_data"),
        ("entities",), ("engine",), ("policies",), ("build",), ("view",), ("learn", "paper"),
        ("shared_water", "family"),
    ),
    "fishing": (
        ("growth", "noise", "structured_growth", "parameter_drift", "units", "us_stocks", "model",
         "conservation", "shared_stock"),
        ("analysis",), ("control", "metrics", "spec"), ("env", "fit", "policies"),
        ("view",), ("family", "drop_in"),
    ),
    "forager": (
        ("hashing", "object_kinds", "world", "reward_laws", "observations", "config"),
        ("jax_engine", "host_engine"), ("view", "policies"), ("family", "drop_in", "gym_env", "shared_world"),
    ),
}  # fmt: skip
"""The import order inside each family."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Import(NamedTuple):
    """One import within the package: importing and imported module, line, and whether it is nested or for types
    only."""

    importer: str
    imported: str
    line: int
    in_function: bool
    for_types: bool


class Tree:
    """The syntax trees of a checkout's package, or of other folders, by dotted module name."""

    def __init__(self, root: Path, folders: Sequence[str] = (PACKAGE,)) -> None:
        self.root = root
        self.folders = folders

    @cached_property
    def paths(self) -> dict[str, Path]:
        """The files of the modules by name; an `__init__.py` has the name of its folder."""
        found = (path for folder in self.folders for path in sorted((self.root / folder).rglob("*.py")))
        return {_dotted(path, self.root): path for path in found}

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """The syntax trees of the modules by name."""
        return {name: _parse(path) for name, path in self.paths.items()}

    @cached_property
    def packages(self) -> set[str]:
        """The names of the folders that have an `__init__.py`."""
        return {name for name, path in self.paths.items() if path.name == "__init__.py"}

    def lines(self, folder: str, pattern: str = "*.py") -> dict[str, int]:
        """Return the number of lines in each file below a folder of the checkout."""
        paths = sorted((self.root / folder).rglob(pattern))
        return {str(p.relative_to(self.root)): len(p.read_text(encoding="utf-8").splitlines()) for p in paths}

    def count_code(self) -> int:
        """Count the package's lines of code, without bare strings, comments, blank lines and imports."""
        return sum(_count_code(path.read_text(encoding="utf-8")) for path in (self.root / PACKAGE).rglob("*.py"))

    @cached_property
    def imports(self) -> list[Import]:
        """Every import within the package, including those in functions and under TYPE_CHECKING."""
        return [found for name, tree in self.modules.items() for found in self._imports_of(name, tree)]

    def _imports_of(self, name: str, tree: ast.Module) -> Iterator[Import]:
        package = name if name in self.packages else name.rpartition(".")[0]
        inside = _nodes_inside(tree, (ast.FunctionDef, ast.AsyncFunctionDef))
        for_types = _nodes_inside(tree, (ast.If,), lambda node: "TYPE_CHECKING" in ast.dump(node.test))
        for node in ast.walk(tree):
            for target in _targets(node, package):
                near = "" if package in self.packages else f"{package}."  # scripts import those next to them
                imported = self.find_module(target) or self.find_module(near + target)
                if imported is not None and imported != name:
                    yield Import(name, imported, node.lineno, id(node) in inside, id(node) in for_types)  # type: ignore[attr-defined]

    def find_module(self, target: str) -> str | None:
        """Return the module that contains `package.module.name`; None outside the folders."""
        while target and target not in self.modules:
            target = target.rpartition(".")[0]
        return target or None

    @cached_property
    def graph(self) -> dict[str, set[str]]:
        """The modules that each module imports; a package's `__init__` is a node even if it only re-exports."""
        graph: dict[str, set[str]] = {name: set() for name in self.modules}
        for each in self.imports:
            graph[each.importer].add(each.imported)
        return graph

    @cached_property
    def needed(self) -> dict[str, set[str]]:
        """The modules that each module imports when it runs, without imports for types."""
        needed: dict[str, set[str]] = {name: set() for name in self.modules}
        for each in self.imports:
            if not each.for_types:
                needed[each.importer].add(each.imported)
        return needed

    def folder_graph(self, folder: str) -> dict[str, set[str]]:
        """Return the siblings that each child of a folder imports; a child is a file, or a subfolder as a whole."""
        graph: dict[str, set[str]] = defaultdict(set)
        for each in self.imports:
            if each.importer == folder:  # the folder's `__init__` re-exports its children
                continue
            one, other = (_child(name, folder) for name in (each.importer, each.imported))
            if one and other and one != other:
                graph[one].add(other)
        return dict(graph)

    @cached_property
    def functions(self) -> list[Function]:
        """Every function and method of the package."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for tree in self.modules.values() for node in ast.walk(tree) if isinstance(node, kinds)]

    @cached_property
    def definitions(self) -> dict[str, list[str]]:
        """The modules that define each public module-level name."""
        found: dict[str, list[str]] = defaultdict(list)
        for module, tree in self.modules.items():
            for name in sorted(set(_defined(tree))):
                if not name.startswith("_"):
                    found[name].append(module)
        return dict(found)

    @property
    def duplicates(self) -> dict[str, list[str]]:
        """The public module-level names that more than one module defines."""
        return {name: modules for name, modules in self.definitions.items() if len(modules) > 1}


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components with more than one node (Tarjan 1972), each sorted."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            component = stack[at:]
            del stack[at:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def measure(root: Path) -> dict[str, Any]:
    """Return all figures of a checkout as JSON data."""
    tree = Tree(root)
    code, tests = tree.lines(PACKAGE), tree.lines("tests")
    folders = Counter(str(Path(path).parent) for path in code if not path.endswith("__init__.py"))
    public = [f for f in tree.functions if not f.name.startswith("_")]
    sizes = [(f.end_lineno or f.lineno) - f.lineno + 1 for f in tree.functions]
    arguments = [a for f in public for a in _arguments(f)]
    folder_cycles = [c for package in sorted(tree.packages) for c in cycles(tree.folder_graph(package))]
    return {
        "lines": sum(code.values()),
        "lines of code": tree.count_code(),
        "files": len(code),
        "files per folder, largest": dict(folders.most_common(5)),
        "folders of more than 16 modules": sum(count > 16 for count in folders.values()),
        "cycles between files": len(cycles(tree.graph)),
        "cycles between folders": len(folder_cycles),
        "imports inside functions": sum(each.in_function for each in tree.imports),
        "lines of a file (median, p90, max)": _spread(code.values()),
        "lines of a function (median, p90, max)": _spread(sizes),
        "public functions with a docstring, %": _share(ast.get_docstring(f) is not None for f in public),
        "arguments of public functions with a type, %": _share(a.annotation is not None for a in arguments),
        "public functions with a return type, %": _share(f.returns is not None for f in public),
        "public module-level names defined in several modules": len(tree.duplicates),
        "lines of tests": sum(tests.values()),
        "test lines per code line": round(sum(tests.values()) / sum(code.values()), 2),
        "test lines per code line, by folder": _ratios(code, tests),
    }


def _ratios(code: Mapping[str, int], tests: Mapping[str, int]) -> dict[str, float]:
    out = {}
    for folder in sorted({Path(path).parts[1] for path in code if len(Path(path).parts) > 2}):
        lines = sum(n for path, n in code.items() if Path(path).parts[1] == folder)
        tested = sum(n for path, n in tests.items() if Path(path).parts[1] == folder)
        out[folder] = round(tested / lines, 2)
    return out


def _count_code(source: str) -> int:
    return len(list_code_lines(source, lambda node: isinstance(node, (ast.Import, ast.ImportFrom)) or is_text(node)))


def list_code_lines(source: str, left_out: Callable[[ast.AST], bool]) -> list[str]:
    """Return the lines of a source, stripped, without comments, blank lines and the statements that are left out."""
    others = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and left_out(node)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(map(str.strip, source.splitlines()), 1)
    return [line for number, line in lines if line and not line.startswith("#") and number not in others]


def is_text(node: ast.AST) -> bool:
    """Return whether a statement is a bare string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _spread(values: Iterable[int]) -> list[int]:
    ordered = sorted(values)
    return [int(statistics.median(ordered)), ordered[int(0.9 * (len(ordered) - 1))], ordered[-1]]


def _share(flags: Iterable[bool]) -> int:
    listed = list(flags)
    return round(100 * sum(listed) / max(1, len(listed)))


def _arguments(function: Function) -> list[ast.arg]:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument for argument in given if argument.arg not in ("self", "cls")]


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _child(name: str, folder: str) -> str | None:
    """Return the child of a folder that is, or contains, a module."""
    return name[len(folder) + 1 :].partition(".")[0] if name.startswith(f"{folder}.") else None


def _nodes_inside(tree: ast.AST, kinds: tuple[type, ...], holds: Any = lambda node: True) -> set[int]:
    return {id(inner) for node in ast.walk(tree) if isinstance(node, kinds) and holds(node) for inner in ast.walk(node)}


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the dotted names in an import statement, with relative names resolved."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = package.split(".")
        base = parts[: len(parts) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a module defines at its top level, without imports."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def main() -> None:
    """Measure a checkout and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--names", action="store_true", help="list the duplicate names and the cycles")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    figures = measure(options.root)
    print(json.dumps(figures, indent=2) if options.json else "\n".join(f"{k}: {v}" for k, v in figures.items()))
    if options.names:
        tree = Tree(options.root)
        for name, modules in sorted(tree.duplicates.items()):
            print(f"{name}: {', '.join(m.removeprefix(PACKAGE + '.') for m in modules)}")
        for package in sorted(tree.packages):
            for cycle in cycles(tree.folder_graph(package)):
                print(f"cycle in {package}: {', '.join(cycle)}")
        for cycle in cycles(tree.graph):
            print(f"cycle: {', '.join(cycle)}")


if __name__ == "__main__":
    main()
