"""Parts of one's own to begin with: files that work as they stand, made from the templates of the package."""

from __future__ import annotations

import importlib.util
import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template

from .core.errors import ConfigError

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


def _names(name: str) -> tuple[str, str]:
    """The name of the class and of the module."""
    from .farm.parts import KINDS

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
