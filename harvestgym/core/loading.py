"""Load objects named by a string: `package.module:name` or `path/to/file.py:name`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ConfigError, unknown

TARGET_FORM = "package.module:name"


def load_object(target: str, base: type | None = None, where: str = "") -> Any:
    """Import the object that `target` names; with `base`, it must be a subclass of `base`.

    Raises ConfigError, with the path `where`, if there is no such object. An ImportError raised by the module itself
    is passed on unchanged.
    """
    path = where or target
    module, _, name = target.rpartition(":")
    if not module or not name or module.startswith("."):
        raise ConfigError(f"{path}: expected {TARGET_FORM}, got {target!r}")
    found: Any = import_file(Path(module)) if module.endswith(".py") else _import_module(module, path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise unknown("name", part, [known for known in vars(found) if not known.startswith("_")], path)
        found = getattr(found, part)
    if base is not None and not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigError(f"{path}: expected a subclass of {base.__name__}, got {target!r}")
    return found


def _import_module(name: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports does not
        raise ConfigError(f"{path}: expected {TARGET_FORM}, got no module {error.name!r}") from None


def import_file(path: Path) -> ModuleType:
    """Import a Python file with its path as module name, to avoid shadowing; ConfigError if it is missing.

    As with `python FILE`, it may import modules from its folder; installed modules with the same name take priority.
    """
    spec = importlib.util.spec_from_file_location(str(path.resolve()), path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ConfigError(f"{path}: expected path/to/file.py:name or {TARGET_FORM}, got no such file")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # needed by dataclasses
    sys.path.append(str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.pop()
    return module
