"""Commands that write new files and never overwrite one: `new farm`, `new fishery`, `new forager`, `new entity`."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated, Any

import numpy as np
import typer

from harvestgym import registry
from harvestgym.core.config import read_extended
from harvestgym.core.errors import check_name, mismatch, require
from harvestgym.core.yaml_io import parse
from harvestgym.evaluate.export import check_folder
from harvestgym.farm.public_names import KINDS

from .console import check_new_yaml

group = typer.Typer(no_args_is_help=True, help="Create a farm, fishery, forager or entity from a working template.")

COPIED = {"farm": "farm/bean-1x1-v0", "fishery": "fishing/logistic-v0", "forager": "forager/flowers-v0"}
"""The kinds of files that can be copied from the catalogues, and the default id for each."""

ENTITY_FILES = {"module.txt": "{module}.py", "sets.txt": "{module}.yaml", "test.txt": "test_{module}.py"}
"""Templates for an entity and the names of the files made from them."""

HEADER = """# A copy of {id}; change anything you like.
# harvestgym show {file} all              prints its variables, actions and parameters
# harvestgym run {file} --policy expert   runs the expert on it
# harvestgym tune {file}                  tunes the numbers of its expert to your changes
"""

FARM_HEADER = """# harvestgym schema                       prints a schema for editors
"""

PART_ORDER = ("doc", "hard", "tags", "mode", "fields", "farmers", "rules", "scoring", "expert")
"""Order of the parts in a new farm file; other parts follow."""


def _add_command(what: str) -> None:
    """Add the command that copies a farm, a fishery or a forager."""

    @group.command(
        what, help=f"Write a {what} file, a complete copy of one from the catalogue. Existing files are kept."
    )
    def new_copy(
        file: Annotated[Path, typer.Argument(help="the file to write, *.yaml")],
        like: Annotated[str, typer.Option(help="the id to copy (see `harvestgym list`)")] = COPIED[what],
    ) -> None:
        typer.echo(f"wrote {write_copy(file, what, like)}; try `harvestgym run {file} --policy expert`")


for _what in COPIED:
    _add_command(_what)


@group.command("entity")
def new_entity(
    name: Annotated[str, typer.Argument(help="name of the kind, GreenManure or green_manure")],
    folder: Annotated[Path, typer.Option(help="folder for the files")] = Path(),
) -> None:
    """Write a new kind of entity: a module, its parameter sets and a passing test. Existing files are kept."""
    kind, module = _class_and_module(name)
    texts = {folder / path.format(module=module): _fill(source, kind, module) for source, path in ENTITY_FILES.items()}
    existing = [str(path) for path in texts if path.exists()]
    require(not existing, ", ".join(existing), "new files", "existing ones", "another name or folder")
    if importlib.util.find_spec(module) is not None:
        raise mismatch(repr(name), "a new module", f"Python's module {module!r}", "another name")
    check_folder("--folder", folder)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    code, sets, test = texts
    typer.echo(f"wrote {code}, {sets} and {test}; try `pytest {test}`")


def _class_and_module(name: str) -> tuple[str, str]:
    """Return the name of the class, as in `GreenManure`, and of the module, as in `green_manure`."""
    words = [word for part in re.split(r"[-_\s]+", name) for word in re.findall(r"[A-Z]?[^A-Z]+|[A-Z]+", part)]
    kind, module = "".join(word[:1].upper() + word[1:] for word in words), "_".join(words).lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or keyword.iskeyword(module):
        raise mismatch("name", "letters and digits", repr(name), "GreenManure or green_manure")
    require(kind not in KINDS, repr(name), "a new kind", f"the existing kind {kind}", "another name")
    return kind, module


def _fill(template: str, kind: str, module: str) -> str:
    text = files("harvestgym").joinpath("templates", "entity", template).read_text(encoding="utf-8")
    return Template(text).substitute(kind=kind, module=module)


def write_copy(path: Path, what: str, like: str) -> Path:
    """Write a complete copy of a farm, fishery or forager from the catalogue to a new file; return its path.

    Args:
        path: the path of the new file.
        what: one of `COPIED`.
        like: the id to copy.

    Raises:
        ConfigError: if there is no such id or the file cannot be created; nothing is written.
    """
    family = COPIED[what].partition("/")[0]
    check_name(what, registry.spec(like).id, registry.ids(family))
    check_new_yaml(path)
    header = HEADER + FARM_HEADER * (family == "farm")
    path.write_text(header.format(id=like, file=path.name) + _complete_text(family, like), encoding="utf-8")
    return path


def _complete_text(family: str, id: str) -> str:
    """Return the YAML for an id, with everything it extends and its tuned expert, in the order of `PART_ORDER`."""
    from harvestgym.farm.build.farm_writer import to_yaml, write_farm
    from harvestgym.fishing.spec import hash_numbers, override_entries, read_entries

    combine = override_entries if family == "fishing" else None
    description = read_extended(registry.locate_file(id), family, combine)
    env: Any = registry.make(id)
    if family == "farm":
        description["rules"].setdefault("max_action_schedule_size", env.schedule)
        description |= {name: part for name, part in parse(write_farm(env.spec)).items() if name == "expert"}
    elif env.expert is not None:
        description["expert"] = env.expert.model_dump(exclude={"made"})
    if family == "fishing" and not {"stock", "stocks"} & set(description):
        description["start"] = description.get("start", np.asarray(env.params.start).tolist())
    description |= {name: value for name, value in registry.spec(id).kwargs.items() if name != "name"}
    description.pop("history", None)  # the version history belongs to the catalogue
    description = {part: description[part] for part in PART_ORDER if part in description} | description
    if family == "fishing" and env.expert is not None:  # changed numbers are noticed when the file is read
        description["expert"]["made"] = {"numbers": hash_numbers(read_entries(description, id))}
    return to_yaml(description)
