"""Make the published numbers and pictures again: the steps of `steps.yaml` whose code or files have changed.

python -m experiments.remake --list                    # each step, its state and the minutes that it takes
python -m experiments.remake --list --only study-card  # also what it makes, its commands and its files
python -m experiments.remake --only 'study-*'          # make these steps, if they are not fresh
python -m experiments.remake                           # make all; an interrupted run continues

A step is *fresh* if its commands, its files and its code are those with which this program last made it
(`results/made.json`). Otherwise it is *stale*, and the list names what has changed; *unknown* means that it was never
made by this program. The code means the modules that its program imports, followed statically, without comments
and docstrings, and with the parameter files next to them. It leaves out families that the step does not name, and code
that only draws, prints or formats (`PRESENTATION`) unless the step `looks`.

A step that needs something from outside, such as a clone of another package or a GPU, is made if the environment
variable in its commands is set. A step without results prints; it is made only if `--only` selects it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatch
from functools import cache, cached_property
from pathlib import Path

from harvestgym.core.config import Strict
from harvestgym.core.errors import ConfigError
from harvestgym.core.yaml_io import read_file
from harvestgym.registry import FAMILIES
from harvestgym.sweep.cases import hash_file, list_user_files
from tools.structure import Tree, is_text, list_code_lines

ROOT = Path(__file__).parents[1]
STEPS = Path(__file__).with_name("steps.yaml")
MADE = Path(__file__).with_name("results") / "made.json"

TREE = Tree(ROOT, ("harvestgym", "experiments", "examples", "tools", "tests/hosts"))
LAZY = {"harvestgym", "harvestgym.registry"}
"""Modules that name what they import only for some of their users, such as `gymnasium.make`."""

PRESENTATION = {"view", "render", "cli", "tools"}
"""Folders whose code does not change a number."""

PARAMETERS = (".yaml", ".csv")
NAMED = re.compile(r"((?:harvestgym|experiments)[\w.]+)(?::\w+)?|(?:examples/)?(\w+)\.py(?::\w+)?")
"""A string that names a module, an object of a module, or an example."""

VARIABLE = re.compile(r"\$(\w+)")
IDS = re.compile(r"\b(?:farm|fishing|forager)/[\w-]+-v\d+\b")


class Step(Strict):
    """A step of `steps.yaml`, whose first lines explain the entries."""

    name: str
    shows: str
    run: list[str]
    minutes: int
    reads: list[str] = []
    writes: list[str] = []
    families: list[str] = list(FAMILIES)
    uses: list[str] = []
    looks: bool = False
    needs: dict[str, str] = {}

    @property
    def missing(self) -> list[str]:
        """The environment variables that are not set."""
        return [name for name in self.needs if name not in os.environ]

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern is the name of the step, or names one of its results."""
        return fnmatch(self.name, pattern) or any(fnmatch(n, pattern) or fnmatch(pattern, n) for n in self.writes)

    @cached_property
    def modules(self) -> set[str]:
        """The modules whose code matters."""
        families = [f"harvestgym.{name}.family" for name in self.families]
        return follow([*map(find_program, self.run), *self.uses, *families], self._leaves_out)

    def _leaves_out(self, module: str) -> bool:
        """Return whether a module does not matter, although another imports it."""
        package, *folders = module.split(".")
        other = package == "harvestgym" and folders[:1] and folders[0] in set(FAMILIES) - set(self.families)
        return bool(other) or (not self.looks and not PRESENTATION.isdisjoint(module.split(".")))

    @property
    def key(self) -> dict[str, str]:
        """Fingerprints of what the results depend on, by its name in the list."""
        own = sorted(name for name in self.modules if not name.startswith("harvestgym"))
        programs = [TREE.paths[name].read_text(encoding="utf-8") for name in own]
        ids = {id for text in (*self.run, *programs) for id in IDS.findall(text)}
        catalogue = find_files(f"harvestgym/{id.replace('/', '/catalogue/')}.yaml" for id in ids)
        read = {*find_files(self.reads), *list_user_files(*map(str, catalogue)), *find_parameters(self.modules)}
        files = sorted(read - {*find_files(self.writes)})
        return {
            "commands": fingerprint(self.run),
            "files": fingerprint(f"{path.relative_to(ROOT)} {hash_file(path)}" for path in files),
            "code": fingerprint(f"{name} {hash_code(name)}" for name in sorted(self.modules)),
        }

    def state(self, made: dict[str, dict[str, str]]) -> str:
        """Return the state, as the list shows it."""
        if not self.writes:
            return "prints"
        if not all(find_files([name]) for name in self.writes):
            return "missing"
        if self.name not in made:
            return "unknown"
        changed = [part for part, value in self.key.items() if made[self.name].get(part) != value]
        return f"stale: {', '.join(changed)}" if changed else "fresh"

    def make(self) -> None:
        """Run the commands, and record what they depended on; raises CalledProcessError if one fails."""
        key = self.key
        for command in self.run:
            print(f"{self.name}: python {command}", flush=True)
            line, _, target = os.path.expandvars(command).partition(" > ")
            shown = subprocess.run(
                [sys.executable, *shlex.split(line)], cwd=ROOT, check=True, stdout=subprocess.PIPE if target else None
            ).stdout
            if target:
                (ROOT / target).write_bytes(shown)
        if self.writes:
            write_made(read_made() | {self.name: key})


def read_steps() -> list[Step]:
    """Return the steps in their order."""
    steps = read_file(STEPS)
    return [Step(name=name, **about | {"run": list_of(about["run"])}) for name, about in steps.items()]


def list_of(commands: str | list[str]) -> list[str]:
    """Return one command, or several, as a list."""
    return [commands] if isinstance(commands, str) else commands


def read_made() -> dict[str, dict[str, str]]:
    """Return the keys with which steps were made, by name."""
    return json.loads(MADE.read_text(encoding="utf-8")) if MADE.exists() else {}


def write_made(made: dict[str, dict[str, str]]) -> None:
    """Store the keys, a line for each step."""
    lines = (f" {json.dumps(name)}: {json.dumps(made[name])}" for name in sorted(made))
    MADE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def find_files(patterns: Iterable[str]) -> list[Path]:
    """Return the files of the clone that match patterns."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()})


def find_program(command: str) -> str:
    """Return the module of a command line, `-m MODULE …` or `FILE.py …`; an empty text for code (`-c`)."""
    first, second = f"{command} ".split(" ", 2)[:2]
    name = {"-m": second, "-c": ""}.get(first, first.removesuffix(".py").replace("/", "."))
    return f"{name}.__main__" if f"{name}.__main__" in TREE.modules else name


@cache
def list_used(module: str) -> set[str]:
    """Return the modules that a module imports, those that its strings name, and the packages that contain it."""
    strings = [node.value for node in ast.walk(TREE.modules[module]) if isinstance(node, ast.Constant)]
    named = [match for text in strings if module not in LAZY and (match := NAMED.fullmatch(str(text)))]
    found = {TREE.find_module(match[1] or f"examples.{match[2]}") or "" for match in named}
    parts = module.split(".")
    packages = {".".join(parts[:i]) for i in range(1, len(parts))}
    return (found | packages | TREE.needed[module]) & set(TREE.modules)


def follow(names: Iterable[str], leaves_out: Callable[[str], bool]) -> set[str]:
    """Return the modules of some programs, and those that they use in turn, without those that are left out."""
    found, waiting = set(), [name for name in names if name]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [used for used in list_used(name) if not leaves_out(used)]
    return found


def find_parameters(modules: Iterable[str]) -> list[Path]:
    """Return the parameter files of the package next to modules, and in folders there that have no modules."""
    folders = {TREE.paths[name].parent for name in modules if name.startswith("harvestgym.")}
    plain = {path for folder in folders for path in folder.iterdir() if path.is_dir() and not any(path.glob("*.py"))}
    files = (path for folder in folders | plain for path in folder.iterdir() if path.suffix in PARAMETERS)
    return [path for path in files if path.parent.name not in ("catalogue", "tuned")]


@cache
def hash_code(module: str) -> str:
    """Return the fingerprint of a module's code, without comments and docstrings."""
    return fingerprint(list_code_lines(TREE.paths[module].read_text(encoding="utf-8"), is_text))


def fingerprint(parts: Iterable[str]) -> str:
    """Return twelve digits of the SHA-256 of some texts."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def choose(steps: Sequence[Step], pattern: str | None) -> list[Step]:
    """Return the steps whose name or one of whose results matches a pattern; ConfigError if there is none."""
    if pattern is None:
        return list(steps)
    found = [step for step in steps if step.matches(pattern)]
    if not found:
        names = "".join(f"\n  {step.name}" for step in steps)
        raise ConfigError(f"--only: expected the name or a result of a step, got {pattern!r}; the steps are:{names}")
    return found


def print_list(steps: Sequence[Step], details: bool) -> None:
    """Print the state and the minutes of each step; with details, also what it makes, how, and with which files."""
    made, states = read_made(), {}
    for step in steps:
        states[step.name] = state = step.state(made)
        needs = f"  needs {', '.join(step.missing)}" if step.missing else ""
        print(f"{step.name:24} {state:24} {step.minutes:5} min{needs}")
        if details:
            print(f"    {step.shows}", *(f"    python {command}" for command in step.run), sep="\n")
            print(*(f"    writes {name}" for name in step.writes), f"    {len(step.modules)} modules", sep="\n")
            print(*(f"    {name}: {about}" for name, about in step.needs.items()), sep="\n", end="\n\n")
    waiting = [step.minutes for step in steps if states[step.name] not in ("fresh", "prints")]
    print(f"{len(waiting)} of {len(steps)} steps to make: {sum(waiting) / 60:.1f} hours of one core")


def make_all(steps: Sequence[Step], chosen: bool) -> None:
    """Make the steps that are not fresh, in their order; SystemExit with those that failed."""
    failed = []
    for step in steps:
        state = step.state(read_made())
        if state == "fresh" or (state == "prints" and not chosen):
            continue
        if step.missing:
            print(*(f"{step.name}: left out; set {name}: {step.needs[name]}" for name in step.missing), sep="\n")
            continue
        try:
            step.make()
        except subprocess.CalledProcessError:
            failed.append(step.name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def main(words: Sequence[str] | None = None) -> None:
    """List the steps, or make them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the state of each step, and make nothing")
    parser.add_argument("--only", metavar="PATTERN", help="name of a step or of a result; * stands for any text")
    given = parser.parse_args(words)
    try:
        steps = choose(read_steps(), given.only)
    except ConfigError as error:
        sys.exit(str(error))
    if given.list:
        print_list(steps, details=given.only is not None)
    else:
        make_all(steps, chosen=given.only is not None)


if __name__ == "__main__":
    main()
