"""Load objects named by a string: `package.module:name` or `path/to/file.py:name`; values made at their first use.

A string in the caller's own code may name any object. A file may come from an untrusted source, so a string in a file
may only name a class in a module that the program has already imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .errors import mismatch, require, unknown

ItemT = TypeVar("ItemT")

TARGET_FORM = "package.module:name"

PLUGINS = "harvestgym.files"
"""The entry point group in which an installed package lists the modules whose classes files may name."""


def load_object(target: str, base: type | None = None, where: str = "") -> Any:
    """Import the object that `target` names; with `base`, it must be a subclass of `base`.

    Raises ConfigError, with the path `where`, if there is no such object. An ImportError raised by the module itself
    is passed on unchanged.
    """
    path = where or target
    module, _, name = target.rpartition(":")
    require(module and name and not module.startswith("."), path, TARGET_FORM, repr(target))
    found: Any = import_file(Path(module)) if module.endswith(".py") else _import_module(module, path)
    for part in name.split("."):
        if not hasattr(found, part):
            raise unknown("name", part, [known for known in vars(found) if not known.startswith("_")], path)
        found = getattr(found, part)
    if base is not None and not (isinstance(found, type) and issubclass(found, base)):
        raise mismatch(path, f"a subclass of {base.__name__}", repr(target))
    return found


def export_lazily(package: str, targets: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a package that loads the objects `targets` on first use."""

    def load_attribute(name: str) -> Any:
        if name not in targets:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load_object(targets[name])

    return load_attribute, lambda: sorted(sys.modules[package].__all__)


class LazyMapping(Mapping[str, ItemT]):
    """Values by name; each is made at its first use."""

    def __init__(self, makers: Mapping[str, Callable[[], ItemT]]) -> None:
        self._makers = makers
        self._make = cache(lambda name: makers[name]())

    def __getitem__(self, name: str) -> ItemT:
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def load_class_of_file(target: str, base: type, where: str) -> Any:
    """Return the class that a file names, a subclass of `base`, without importing its module or calling it.

    The module must have been imported by the program or by `allow_modules` (as a module, or as a file of that name), or
    be listed by an installed package in the entry point group `PLUGINS`; otherwise this raises ConfigError.
    """
    module, _, name = target.rpartition(":")
    key = _module_key(module)
    if key not in sys.modules and module in {point.value for point in entry_points(group=PLUGINS)}:
        _import_module(module, where)
    keys = (
        [key] if key in sys.modules else [path for path in list(sys.modules) if path.endswith(f"{os.sep}{module}.py")]
    )
    if len(keys) > 1:
        raise mismatch(where, "a class of a single module", f"{target!r} of {' and '.join(keys)}", f"{keys[0]}:{name}")
    if not keys:
        hint = f"allow=[{module!r}], or --allow {module}, if you trust its code"
        raise mismatch(where, "a class of a module that you allow", repr(target), hint)
    found: Any = sys.modules[keys[0]]
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)  # does not run the module's `__getattr__`
    require(isinstance(found, type) and issubclass(found, base), where, f"a subclass of {base.__name__}", repr(target))
    return found


def allow_modules(names: Sequence[str]) -> None:
    """Import modules, `package.module` or `path/to/file.py`, so that files may name their classes."""
    fits = (isinstance(n, str) and (n.endswith(".py") or all(map(str.isidentifier, n.split(".")))) for n in names)
    listed = not isinstance(names, str) and all(fits)
    require(listed, "allow", "a list of modules", repr(names), "allow=['mine'] or ['mine.py']")
    for name in names:
        if _module_key(name) not in sys.modules:
            import_file(Path(name)) if name.endswith(".py") else _import_module(name, "allow")


def without_allow(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `make` in a file without `allow`, because only the caller can allow code."""
    return {name: value for name, value in arguments.items() if name != "allow"}


def _module_key(name: str) -> str:
    """Return the key of a module or of a Python file in `sys.modules`."""
    return str(Path(name).resolve()) if name.endswith(".py") else name


def _import_module(name: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module exists, but one of its imports does not
        raise mismatch(path, TARGET_FORM, f"the unknown module {error.name!r}") from None


def import_file(path: Path) -> ModuleType:
    """Import a Python file with its path as module name, to avoid shadowing; raise ConfigError if it is missing.

    As with `python FILE`, it may import modules from its folder; installed modules with the same name take priority.
    """
    spec = importlib.util.spec_from_file_location(_module_key(str(path)), path)
    if spec is None or spec.loader is None or not path.is_file():
        raise mismatch(path, f"path/to/file.py:name or {TARGET_FORM}", "a file that does not exist")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # needed by dataclasses
    added = {str(path.resolve().parent)}.difference(sys.path)
    sys.path.extend(added)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    finally:
        sys.path[:] = [folder for folder in sys.path if folder not in added]
    return module
