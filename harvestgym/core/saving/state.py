"""The parts of an environment that are saved to a file: its constructor arguments and the arrays that change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.errors import require


class Savable:
    """An environment that `core.saving.checkpoint` can save; a subclass only lists attribute names and needs no code.

    Attributes:
        made_of: the constructor arguments that are also attributes.
        changes: the attributes that a step changes; an attribute with `kept` and `restore` is saved with these methods.
    """

    made_of: ClassVar[tuple[str, ...]] = ()
    changes: ClassVar[tuple[str, ...]] = ()

    def recipe(self) -> dict[str, Any]:
        """Return the arguments for `from_recipe` or the constructor."""
        return {name: getattr(self, name) for name in self.made_of}

    def kept(self) -> dict[str, Any]:
        """Return the attributes that change, by name."""
        values = {name: getattr(self, name) for name in self.changes}
        return {name: value.kept() if hasattr(value, "kept") else value for name, value in values.items()}

    def restore(self, kept: Mapping[str, Any]) -> Self:
        """Restore the attributes returned by `kept`; raise ConfigError without changing anything if they do not fit."""
        for name in self.changes:
            mine = getattr(self, name)
            if hasattr(mine, "restore"):
                mine.restore(kept[name])
            else:
                setattr(self, name, kept[name])
        return self


def to_arrays(tree: Any) -> dict[str, Any]:
    """Return the leaves (arrays, numbers and keys) of a pytree by path."""
    return {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def from_arrays(saved: Mapping[str, Any], like: Any, what: str) -> Any:
    """Return a pytree with the structure of `like` from the leaves saved by `to_arrays`.

    The leaves of `like` are numbers, arrays or shapes. Raises ConfigError, with the name `what`, if the saved leaves do
    not fit.
    """
    leaves = to_arrays(like)
    for name in {**leaves, **saved}:
        expected, got = (_leaf_text(name, given) for given in (leaves, saved))
        require(expected == got, what, expected, got)
    return jax.tree.unflatten(jax.tree.structure(like), [saved[name] for name in leaves])


def _leaf_text(name: str, leaves: Mapping[str, Any]) -> str:
    if name not in leaves:
        return "none"
    return f"{name or 'an array'} {jnp.result_type(leaves[name])}{list(np.shape(leaves[name]))}"
