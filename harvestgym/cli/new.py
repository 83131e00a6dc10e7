"""Parts of one's own to begin with: files that work as they stand, made from the templates of the package."""

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
from harvestgym.core import yaml_io
from harvestgym.core.config import merge
from harvestgym.core.errors import ConfigError, check_name

ENTITY = {"module.txt": "{module}.py", "sets.txt": "{module}.yaml", "test.txt": "test_{module}.py"}
"""The templates of an entity, and what the files made of them are called."""


def entity(name: str, folder: Path) -> list[Path]:
    """Write a module, its parameter sets and its test for a kind of entity; the paths of the files.

    Args:
        name: `GreenManure` or `green_manure`; the class has the first, the module the second spelling.
        folder: made if it is missing.

    Raises:
        ConfigError: if the name cannot be that of a new module, or a file is there already; nothing was written.
    """
    kind, module = _names(name)
    texts = {folder / path.format(module=module): _text(template, kind, module) for template, path in ENTITY.items()}
    there = [str(path) for path in texts if path.exists()]
    if there:
        raise ConfigError(f"{', '.join(there)}: there already, and nothing is overwritten; take another name or folder")
    if importlib.util.find_spec(module) is not None:
        raise ConfigError(f"{name!r}: Python has a module {module!r} already; take another name")
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: wanted a folder, found a file")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


FARM = """# Begun as {id}; change what you like.
# harvestgym show {file}                  what it is made of, and which names there are
# harvestgym run {file} --policy expert   plays it
# harvestgym schema                       for an editor that completes and checks it
"""
"""How a farm file begins."""

ORDER = ("doc", "tags", "mode", "fields", "farmers", "rules", "scoring", "expert")
"""Of the parts of a farm file, as people read them; others stand at the end."""


def farm(path: Path, like: str) -> Path:
    """Write the whole of a farm of the catalogue as a file of your own, which plays as that does; its path.

    Raises:
        ConfigError: if there is no such farm, or the file cannot be a new one; nothing was written.
    """
    catalogue = Path(__file__).parents[1] / "farm" / "catalogue"
    files_of = {f"farm/{file.stem}": file for file in catalogue.glob("*-v[0-9]*.yaml")}
    check_name("farm", like, files_of)
    if path.suffix not in registry.FILES:
        raise ConfigError(f"{path}: wanted the name of a farm file, which ends in .yaml")
    if path.exists():
        raise ConfigError(f"{path}: there already, and nothing is overwritten; take another name")
    if not path.absolute().parent.is_dir():
        raise ConfigError(f"{path}: wanted a file in a folder that exists; make the folder {path.parent} first")
    said = _whole(files_of[like])
    said.pop("history", None)  # of the versions of the other
    said = {part: said[part] for part in ORDER if part in said} | said
    node = yaml.representer.SafeRepresenter(sort_keys=False).represent_data(said)
    _fold(node)
    text = yaml.serialize(node, Dumper=yaml.SafeDumper, allow_unicode=True, width=110)
    path.write_text(FARM.format(id=like, file=path.name) + text, encoding="utf-8")
    return path


def _whole(file: Path) -> dict[str, Any]:
    """What a file of the catalogue says, on top of what it extends."""
    said = yaml_io.read(file)
    parent = said.pop("extends", None)
    return said if parent is None else merge(_whole(file.with_name(f"{parent}.yaml")), said)


def _fold(node: Any, within: int = 0) -> None:
    """A line for each item of the lists that a mapping holds, and all that is within an item on this line."""
    if isinstance(node, yaml.MappingNode):
        node.flow_style = within > 1
        for _, value in node.value:
            _fold(value, 2 * (within > 0))
    elif isinstance(node, yaml.SequenceNode):
        node.flow_style = within > 0 or all(isinstance(item, yaml.ScalarNode) for item in node.value)
        for item in node.value:
            _fold(item, within + 1)


def _names(name: str) -> tuple[str, str]:
    """The name of the class and of the module."""
    from harvestgym.farm.config.components import KINDS

    words = [word for part in re.split(r"[-_\s]+", name) for word in re.findall(r"[A-Z]?[^A-Z]+|[A-Z]+", part)]
    kind, module = "".join(word[:1].upper() + word[1:] for word in words), "_".join(words).lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", module) or keyword.iskeyword(module):
        raise ConfigError(f"{name!r}: wanted a name of letters and digits, such as GreenManure or green_manure")
    if kind in KINDS:
        raise ConfigError(f"{name!r}: {kind} is a kind of the package already; take another name")
    return kind, module


def _text(template: str, kind: str, module: str) -> str:
    text = files("harvestgym").joinpath("templates", "entity", template).read_text(encoding="utf-8")
    return Template(text).substitute(kind=kind, module=module)
