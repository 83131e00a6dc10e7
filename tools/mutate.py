"""Change one number or operator at a time, and count the changes that the corresponding tests notice.

    python tools/mutate.py --number 300 --minutes 60 --workers 2 --out out/mutants.json

The mutants are a seeded sample from the entities, the scoring and the growth laws. For each, the test files of its
module run in a copy of the clone, the quickest first, until one fails. A worker is one process that imports
the changed package again for each mutant and does not fork: starting Python and JAX takes longer than most of these
tests. It prints each mutant and whether a test noticed it.

Changes that no test can notice are left out: code that draws or describes, numbers that are equal in float32, and the
number in the inner of two `jnp.where` with the same condition, which replaces a value that the outer one does not use.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parent.parent
SOURCES = ("harvestgym/farm/entities/**/*.py", "harvestgym/farm/engine/reward_terms.py", "harvestgym/fishing/growth.py")
SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NOT_MODELS = ("drawing.py", "__init__.py")
OURS = ("harvestgym", "tests", "examples")
"""Packages that a worker imports again for each mutant."""
LIFETIME = 40
"""Number of mutants after which a worker is replaced, because JAX keeps former classes in memory."""


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
    fallbacks = {id(node) for node in find_unused_fallbacks(tree)}
    for node in _list_nodes(tree):
        for change, undo in () if id(node) in fallbacks else _changes(node):
            old = ast.unparse(node)
            change()
            text, new = ast.unparse(tree), ast.unparse(node)
            undo()
            yield Mutant(str(path.relative_to(ROOT)), getattr(node, "lineno", 0), old, new, text)


def _list_nodes(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of all functions and constants of a module, each once, except those of drawings."""
    bodies: list[ast.AST] = []
    for part in ast.walk(tree):
        if isinstance(part, ast.Assign) and part in tree.body:
            bodies.append(part.value)
        elif isinstance(part, ast.FunctionDef) and all(arg.arg != "seen" for arg in part.args.args):
            bodies += part.body
    return list({id(node): node for body in bodies for node in ast.walk(body)}.values())


def find_unused_fallbacks(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the numbers in `jnp.where(c, ... jnp.where(c, x, number) ..., y)`, which only keep gradients finite."""
    for outer in _find_wheres(tree):
        for inner in _find_wheres(outer.args[1]):
            if ast.unparse(inner.args[0]) == ast.unparse(outer.args[0]):
                yield inner.args[2]


def _find_wheres(tree: ast.AST) -> list[ast.Call]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return [call for call in calls if ast.unparse(call.func) == "jnp.where"]


def _changes(node: ast.AST) -> Iterator[tuple]:
    """Yield pairs of functions: one changes a node, the other restores it."""

    def setting(name: str, new: object) -> tuple:
        old = getattr(node, name)
        return lambda: setattr(node, name, new), lambda: setattr(node, name, old)

    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPPED:
        yield setting("op", SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield setting("ops", [SWAPPED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float) and type(node.value) is not bool:
        if np.float32(node.value) != np.float32(node.value + 1):
            yield setting("value", node.value + 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield setting("op", ast.UAdd())
    elif isinstance(node, ast.Attribute) and node.attr in ("minimum", "maximum"):
        yield setting("attr", "maximum" if node.attr == "minimum" else "minimum")


def find_tests(path: str) -> list[str]:
    """Return the test files of a module's kind of entity or, for other modules, the test files with its name."""
    mirrored = Path("tests", *Path(path).parts[1:])
    kind = mirrored.parent
    if path.endswith("reward_terms.py"):
        files = [Path("tests/farm/engine", f"test_{name}.py") for name in ("reward_terms", "engine")]
    elif "entities" in (kind.name, kind.parent.name):
        files = [file.relative_to(ROOT) for file in (ROOT / kind).glob("test_*.py")]
    else:
        files = [mirrored.with_name(f"test_{mirrored.name}")]
    return [str(file) for file in files]


def serve(clone: Path, pipe: Connection) -> None:
    """Run the test files that the pipe delivers, in a copy of the clone, and send back whether all passed."""
    import gymnasium
    import pytest

    os.chdir(clone)
    sys.path.insert(0, str(clone))
    sys.dont_write_bytecode = True  # two changes within a second would share their compiled file
    os.environ |= {"PYTHONPATH": str(clone), "JAX_PLATFORMS": "cpu"}
    quiet = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    while True:
        files = pipe.recv()
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]
        gymnasium.registry.clear()  # importing the package registers its ids
        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null), contextlib.redirect_stderr(null):
            pipe.send(all(pytest.main([*quiet, file]) in (0, 5) for file in files))


class Worker:
    """A process that tests mutants in its own copy of the clone."""

    def __init__(self, clone: Path):
        shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".git", "__pycache__", "out", ".venv"))
        self.clone = clone
        self.start()

    def start(self) -> None:
        """Start the process."""
        self.age = 0
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(self.clone, other), daemon=True)
        self.process.start()
        other.close()

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()

    def passes(self, files: list[str], seconds: float) -> bool:
        """Return whether the test files pass in time; a process that does not answer in time is replaced."""
        self.age += 1
        with contextlib.suppress(EOFError, OSError):
            self.pipe.send(files)
            if self.pipe.poll(seconds):
                passed = self.pipe.recv()
                if self.age >= LIFETIME:
                    self.restart()
                return passed
        self.restart()
        return False

    def restart(self) -> None:
        """Replace the process by a new one."""
        self.stop()
        self.start()

    def survives(self, mutant: Mutant, files: list[str], seconds: float) -> bool:
        """Return whether the test files still pass with the change."""
        file = self.clone / mutant.path
        kept = file.read_text(encoding="utf-8")
        file.write_text(mutant.source, encoding="utf-8")
        try:
            return self.passes(files, seconds)
        finally:
            file.write_text(kept, encoding="utf-8")


def sample_mutants(number: int, seed: int) -> tuple[list[Mutant], int]:
    """Return a seeded sample of the mutants, and how many there are."""
    files = sorted({p for pattern in SOURCES for p in ROOT.glob(pattern) if p.name not in NOT_MODELS})
    every = [mutant for file in files for mutant in find_mutants(file)]
    return random.Random(seed).sample(every, min(number, len(every))), len(every)


def test_mutants(
    chosen: list[Mutant], workers: list[Worker], costs: dict[str, float], minutes: float, seconds: float
) -> list[bool | None]:
    """Return whether each mutant survives, None if the time ran out; print each."""
    free: Queue[Worker] = Queue()
    for worker in workers:
        free.put(worker)
    end = time.monotonic() + 60 * minutes

    def attempt(mutant: Mutant) -> bool | None:
        worker = free.get()
        try:
            if time.monotonic() > end:
                return None
            files = sorted(find_tests(mutant.path), key=costs.__getitem__)
            survived = worker.survives(mutant, files, seconds)
        finally:
            free.put(worker)
        where = f"{mutant.path}:{mutant.line}: {mutant.old}  ->  {mutant.new}"
        print("survived" if survived else "noticed ", where, flush=True)
        return survived

    with ThreadPoolExecutor(len(workers)) as pool:
        return list(pool.map(attempt, chosen))


def measure_costs(chosen: list[Mutant], worker: Worker, seconds: float) -> dict[str, float]:
    """Return the time of each test file without any change; a file that fails would seem to notice every mutant."""
    costs = {}
    for file in sorted({file for mutant in chosen for file in find_tests(mutant.path)}):
        start = time.monotonic()
        if not worker.passes([file], seconds):
            raise SystemExit(f"{file}: expected tests that pass without a change, got a failure; try running them")
        costs[file] = time.monotonic() - start
    return costs


def main() -> None:
    """Test a sample of mutants, and print which of them survive."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=60, help="minutes after which no further mutant is tested")
    parser.add_argument(
        "--seconds", type=float, default=600, help="time limit per mutant; a slower one counts as noticed"
    )
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    chosen, total = sample_mutants(options.number, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        workers = [Worker(Path(folder, str(number))) for number in range(options.workers)]
        try:
            costs = measure_costs(chosen, workers[0], options.seconds)
            survived = test_mutants(chosen, workers, costs, options.minutes, options.seconds)
        finally:
            for worker in workers:
                worker.stop()
    tried = [(mutant, survives) for mutant, survives in zip(chosen, survived, strict=True) if survives is not None]
    noticed = sum(not survives for _, survives in tried)
    print(f"{len(tried)} of {total} mutants tried, {noticed} noticed ({noticed / max(len(tried), 1):.0%})")
    if options.out:
        rows = [m._asdict() | {"survived": survives} for m, survives in tried]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps([{k: v for k, v in row.items() if k != "source"} for row in rows], indent=1)
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
