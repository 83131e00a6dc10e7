"""`LazyInfo`, an info whose values are converted when they are first used: most learners never read an info."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Self

import jax

UNREAD = object()
"""The value of every key before the first use; only C code that skips the methods of a dict can see it."""

_METHODS = (
    "__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__eq__", "__ne__", "__repr__", "__or__",
    "__ror__", "__ior__", "get", "items", "values", "copy", "pop", "popitem", "clear", "setdefault", "update",
)  # fmt: skip
"""The methods of a dict that use its values, or change it; `__iter__` because `dict(info)` would not use the others."""


class LazyInfo(dict[str, Any]):
    """A dict that reads its values once, when they are first used; its copies and pickles are plain dicts."""

    _read: Callable[[], dict[str, Any]] | None = None

    @classmethod
    def unread(cls, names: dict[str, Any], read: Callable[[], dict[str, Any]]) -> Self:
        """Return an info with the given keys, whose values `read` returns."""
        made = cls(names)
        made._read = read
        return made

    def _fill(self) -> None:
        if self._read is not None:
            dict.update(self, self._read())
            self._read = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print like a dict in IPython."""
        printer.pretty(self.copy())


def _fill_before(name: str) -> Callable[..., Any]:
    inherited = getattr(dict, name)

    @wraps(inherited)
    def method(self: LazyInfo, *args: Any, **kwargs: Any) -> Any:
        self._fill()
        return inherited(self, *args, **kwargs)

    return method


for _name in _METHODS:
    setattr(LazyInfo, _name, _fill_before(_name))


def _flatten(info: LazyInfo) -> tuple[Iterable[Any], tuple[str, ...]]:
    """Return the children of an info and its keys, in the order of a dict for JAX."""
    names = tuple(sorted(info))
    return [(jax.tree_util.DictKey(name), info[name]) for name in names], names


def _unflatten(names: tuple[str, ...], values: Iterable[Any]) -> Any:
    return dict(zip(names, values, strict=True))


jax.tree_util.register_pytree_with_keys(LazyInfo, _flatten, _unflatten)
