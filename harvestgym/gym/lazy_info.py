"""`LazyInfo`, an info whose values are converted when they are first used: most learners never read an info."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax

UNREAD = object()
"""The value of every key before the first use; only C code that skips the methods of a dict can see it."""

_METHODS = (
    "__getitem__", "__setitem__", "__delitem__", "__iter__", "__reversed__", "__eq__", "__ne__", "__repr__", "__or__",
    "__ror__", "__ior__", "get", "items", "values", "copy", "pop", "popitem", "clear", "setdefault", "update",
)  # fmt: skip
"""The methods of a dict that use its values, or change it; `__iter__` because `dict(info)` would not use the others."""


class LazyInfo(dict[str, Any]):
    """A dict of `UNREAD` values, replaced by the values of `source` when one is used; copies and pickles are plain
    dicts."""

    source: Callable[[], dict[str, Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


def _fill_before(name: str) -> Callable[..., Any]:
    inherited = getattr(dict, name)

    @wraps(inherited)
    def method(self: LazyInfo, *args: Any, **kwargs: Any) -> Any:
        if self.source is not None:
            dict.update(self, self.source())
            self.source = None
        return inherited(self, *args, **kwargs)

    return method


for _name in _METHODS:
    setattr(LazyInfo, _name, _fill_before(_name))

_plain: Any = lambda _, inside: inside[0]  # noqa: E731
jax.tree_util.register_pytree_node(LazyInfo, lambda info: ((dict(info),), None), _plain)
