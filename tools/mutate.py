"""Change one number or operator at a time, and count the changes that the nearest tests notice.

    python tools/mutate.py --number 300 --workers 2 --out out/mutants.json      # an hour or two

The mutants are a seeded sample from the entities, the scoring and the growth laws. For each, the tests of its module
run in a copy of the clone, in a new process that does not fork, until one fails. (Mutation libraries fork after JAX has
started threads, or import the package again for each test.) Prints each mutant and whether a test detected it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCES = ("harvestgym/farm/entities/**/*.py", "harvestgym/farm/engine/scoring.py", "harvestgym/fishing/growth.py")
SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NOT_MODELS = ("drawing.py", "__init__.py")


class Mutant(NamedTuple):
    """A change: its file and line, the smallest changed expression before and after, and the new text of the file."""

    path: str
    line: int
    old: str
    new: str
    source: str


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file: an operator is swapped, a number increases by one, or a minus sign is dropped."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Assign)):
        if isinstance(function, ast.Assign) and function not in tree.body:
            continue
        if isinstance(function, ast.FunctionDef) and any(arg.arg == "seen" for arg in function.args.args):
            continue  # it draws or describes, which the tests of pictures check
        body = function.body if isinstance(function, ast.FunctionDef) else [function.value]
        for node in (n for part in body for n in ast.walk(part)):
            for change, undo in _changes(node):
                old = ast.unparse(node)
                change()
                text, new = ast.unparse(tree), ast.unparse(node)
                undo()
                yield Mutant(str(path.relative_to(ROOT)), getattr(node, "lineno", 0), old, new, text)


def _changes(node: ast.AST) -> Iterator[tuple]:
    """Yield pairs of functions: one changes a node, the other restores it."""

    def setting(name: str, new: object) -> tuple:
        old = getattr(node, name)
        return lambda: setattr(node, name, new), lambda: setattr(node, name, old)

    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield setting("op", SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield setting("ops", [SWAPPED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield setting("value", node.value + 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield setting("op", ast.UAdd())
    elif isinstance(node, ast.Attribute) and node.attr in ("minimum", "maximum"):
        yield setting("attr", "maximum" if node.attr == "minimum" else "minimum")


def find_tests(path: str) -> list[str]:
    """Return the tests that mirror a module: the folder of a kind of entity, or the file with its name."""
    mirrored = Path("tests", *Path(path).parts[1:])
    kind = mirrored.parent
    if path.endswith("scoring.py"):
        return ["tests/farm/engine/test_reward_terms.py", "tests/farm/engine/test_engine.py"]
    if kind.name == "entities":
        return [str(p.relative_to(ROOT)) for p in (ROOT / kind).glob("test_*.py")]
    return [str(kind)] if kind.parent.name == "entities" else [str(mirrored.with_name(f"test_{mirrored.name}"))]


def survives(mutant: Mutant, clone: Path, seconds: float) -> bool:
    """Return whether the nearest tests still pass in a copy of the clone that contains the change."""
    file = clone / mutant.path
    kept = file.read_text(encoding="utf-8")
    file.write_text(mutant.source, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *find_tests(mutant.path),
    ]
    variables = os.environ | {"PYTHONPATH": str(clone), "JAX_PLATFORMS": "cpu"}
    try:
        done = subprocess.run(command, cwd=clone, env=variables, capture_output=True, timeout=seconds)
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        file.write_text(kept, encoding="utf-8")


def main() -> None:
    """Test a sample of mutants, and print which of them survive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=600, help="a mutant that takes longer counts as noticed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    files = sorted({p for pattern in SOURCES for p in ROOT.glob(pattern) if p.name not in NOT_MODELS})
    every = [mutant for file in files for mutant in find_mutants(file)]
    chosen = random.Random(options.seed).sample(every, min(options.number, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        clones: Queue[Path] = Queue()
        for number in range(options.workers):
            clone = Path(folder, str(number))
            shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".git", "__pycache__", "out", ".venv"))
            clones.put(clone)

        def attempt(mutant: Mutant) -> bool:
            clone = clones.get()
            try:
                survived = survives(mutant, clone, options.seconds)
            finally:
                clones.put(clone)
            where = f"{mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}"
            print("survived" if survived else "noticed ", where, flush=True)
            return survived

        with ThreadPoolExecutor(options.workers) as pool:
            survived = list(pool.map(attempt, chosen))
    killed = 1 - sum(survived) / len(chosen)
    print(f"{len(chosen)} of {len(every)} mutants, {killed:.0%} noticed")
    if options.out:
        rows = [m._asdict() | {"survived": s} for m, s in zip(chosen, survived, strict=True)]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(
            json.dumps([{k: v for k, v in r.items() if k != "source"} for r in rows], indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
