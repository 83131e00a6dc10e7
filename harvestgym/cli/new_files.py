"""Files of a new farm or a new entity, made from the catalogue and from the templates of the package."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import yaml

from harvestgym import registry
from harvestgym.core.config import read_extended
from harvestgym.core.errors import ConfigError, check_name
from harvestgym.farm.public_names import KINDS

ENTITY_FILES = {"module.txt": "{module}.py", "sets.txt": "{module}.yaml", "test.txt": "test_{module}.py"}
"""Templates of an entity and the names of the files made from them."""

HEADER = """# A copy of {id}; change what you like.
# harvestgym show {file} --all            prints its variables, actions and parameters
# harvestgym run {file} --policy expert   runs the expert on it
"""

FARM_HEADER = (
    HEADER
    + """# harvestgym tune {file}                  tunes its expert to your changes
# harvestgym schema                       prints a schema for editors
"""
)

PART_ORDER = ("doc", "hard", "tags", "mode", "fields", "farmers", "rules", "scoring", "expert")
"""Order of the parts of a new farm file; other parts follow."""


def write_new_entity(name: str, folder: Path) -> list[Path]:
    """Write a module, its parameter sets and its test for a kind of entity; return their paths.

    Args:
        name: `GreenManure` or `green_manure`; the first spelling names the class, the second the module.
        folder: created if it is missing.

    Raises:
        ConfigError: if the name is already taken, or a file exists; nothing is written.
    """
    kind, module = _class_and_module(name)
    texts = {folder / path.format(module=module): _fill(source, kind, module) for source, path in ENTITY_FILES.items()}
    existing = [str(path) for path in texts if path.exists()]
    if existing:
        raise ConfigError(f"{', '.join(existing)}: expected new files, got existing ones; try another name or folder")
    if importlib.util.find_spec(module) is not None:
        raise ConfigError(f"{name!r}: expected a new module, got Python's {module!r}; try another name")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder, got a file")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _class_and_module(name: str) -> tuple[str, str]:
    words = [word for part in re.split(r"[-_\s]+", name) for word in re.findall(r"[A-Z]?[^A-Z]+|[A-Z]+", part)]
    kind, module = "".join(word[:1].upper() + word[1:] for word in words), "_".join(words).lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or keyword.iskeyword(module):
        raise ConfigError(f"name: expected letters and digits, got {name!r}; try GreenManure or green_manure")
    if kind in KINDS:
        raise ConfigError(f"{name!r}: expected a new kind, got {kind} of the package; try another name")
    return kind, module


def _fill(template: str, kind: str, module: str) -> str:
    text = files("harvestgym").joinpath("templates", "entity", template).read_text(encoding="utf-8")
    return Template(text).substitute(kind=kind, module=module)


def write_new_farm(path: Path, like: str) -> Path:
    """Write a complete copy of a catalogue farm as a new farm file; return its path.

    Raises:
        ConfigError: if there is no such farm, or the file cannot be created; nothing is written.
    """
    return _write_copy(path, "farm", "farm", like, FARM_HEADER)


def write_new_fishery(path: Path, like: str) -> Path:
    """Write a complete copy of a catalogue fishery as a new file; return its path. Raises like `write_new_farm`."""
    from harvestgym.fishing.spec import override_entries  # imports JAX

    return _write_copy(path, "fishing", "fishery", like, HEADER, override_entries)


def write_new_forager(path: Path, like: str) -> Path:
    """Write a complete copy of a catalogue forager as a new file; return its path. Raises as `write_new_farm`."""
    return _write_copy(path, "forager", "forager", like, HEADER)


def _write_copy(path: Path, family: str, what: str, like: str, header: str, combine: Any = None) -> Path:
    catalogue = Path(__file__).parents[1] / family / "catalogue"
    known = {f"{family}/{file.stem}": file for file in catalogue.glob("*-v[0-9]*.yaml")}
    check_name(what, like, known)
    if path.suffix not in registry.FARM_SUFFIXES:
        raise ConfigError(f"{path}: expected a {what} file, got {path.suffix or 'no suffix'}; try a name in .yaml")
    if path.exists():
        raise ConfigError(f"{path}: expected a new file, got an existing one; try another name")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path}: expected an existing folder, got none; try creating {path.parent} first")
    description = read_extended(known[like], what, combine)
    description.pop("history", None)  # the versions of the catalogue farm
    description = {part: description[part] for part in PART_ORDER if part in description} | description
    node = yaml.representer.SafeRepresenter(sort_keys=False).represent_data(description)
    _fold(node)
    text = yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True, width=110)
    path.write_text(header.format(id=like, file=path.name) + text, encoding="utf-8")
    return path


def _fold(node: Any, depth: int = 0) -> None:
    """Write each item of the lists in a mapping on one line."""
    if isinstance(node, yaml.MappingNode):
        node.flow_style = depth > 1
        for _, value in node.value:
            _fold(value, 2 * (depth > 0))
    elif isinstance(node, yaml.SequenceNode):
        node.flow_style = depth > 0 or all(isinstance(item, yaml.ScalarNode) for item in node.value)
        for item in node.value:
            _fold(item, depth + 1)
