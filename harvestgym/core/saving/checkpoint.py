"""Save an environment to one file, even in the middle of an episode: how to make it, its arrays and its key. Loading
runs no steps.

The file is compressed JSON (`encoding`); versions of harvestgym that differ only in the patch number can read each
other's files. A restored environment continues bit for bit.

Objects that can be saved have the methods of `Savable`: `recipe` describes how to make the object; `kept` and
`restore` save and restore the parts that change.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from harvestgym.core.env import Env
from harvestgym.core.errors import ConfigError, check_parent, locate_errors, mismatch, require
from harvestgym.core.loading import allow_modules
from harvestgym.core.xla.setup import set_up_jax

from .encoding import class_name, decode_value, encode_value
from .files import replacing

FORMAT = "harvestgym checkpoint"
FORMAT_VERSION = 8
"""Incremented whenever the format of the file, or of an environment's data in it, changes."""

MOST_BYTES = 2**31
"""Maximum number of bytes of the decompressed text, because a small untrusted file could fill the memory."""


class Savable:
    """An environment that `save` can save; a subclass only lists attribute names and needs no code.

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


class Snapshot(NamedTuple):
    """A functional environment, or a batch, in the middle of an episode; state and key have the same leading axes."""

    env: Env[Any, Any]
    state: Any
    key: Array
    params: Any

    def recipe(self) -> dict[str, Any]:
        return {"env": self.env}

    @classmethod
    def from_recipe(cls, env: Env[Any, Any]) -> Snapshot:
        """Make a snapshot without a state."""
        return cls(env, None, jax.random.key(0), env.params)

    def kept(self) -> dict[str, Any]:
        return {"state": to_arrays(self.state), "key": self.key, "params": to_arrays(self.params)}

    def restore(self, kept: dict[str, Any]) -> Snapshot:
        """Return the saved snapshot."""
        params, key = from_arrays(kept["params"], self.params, "params"), kept["key"]

        def begin(key: Array) -> Any:
            return self.env.reset(key, params)[0]

        for _ in key.shape:
            begin = jax.vmap(begin)
        return Snapshot(self.env, from_arrays(kept["state"], jax.eval_shape(begin, key), "state"), key, params)


def save(env: Any, path: str | Path) -> None:
    """Save an environment in its current state to a file; an existing file is replaced atomically.

    Args:
        env: a harvestgym environment, or a `Snapshot` of a functional environment. Gymnasium's wrappers are not saved:
            the file contains `env.unwrapped`.
        path: the file.

    Raises:
        ConfigError: for an object that cannot be saved.
    """
    inner = getattr(env, "unwrapped", env)
    require(hasattr(inner, "kept"), "save", "an environment of harvestgym or a Snapshot", type(inner).__name__)
    made, reason = _describe(inner)
    head = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "harvestgym": version("harvestgym"),
        "class": class_name(type(inner)),
        "made": made,
        "not made": reason,
        "kept": encode_value(inner.kept(), "kept"),
        "rng": encode_value(getattr(inner, "np_random", None), "np_random"),
    }
    text = json.dumps(head).encode()
    require(len(text) <= MOST_BYTES, "save", f"at most {MOST_BYTES} bytes", len(text), "a smaller batch")
    check_parent(Path(path))
    with replacing(Path(path)) as partial:
        partial.write_bytes(gzip.compress(text, mtime=0))


def load(path: str | Path, env: Any = None, allow: Sequence[str] = ()) -> Any:
    """Load an environment from a file, ready to continue where it was saved.

    Sets up JAX like `make`.

    Args:
        path: the file.
        env: an environment made like the saved one, which receives the saved state; only needed if a part of it (a
            subclass, a law) is Python code. By default the environment is rebuilt.
        allow: modules to import, so that the farm file in a checkpoint may name their classes.

    Raises:
        ConfigError: if the file is damaged or belongs to another version or environment; nothing is changed.
    """
    set_up_jax()
    allow_modules(allow)
    try:
        return _restore(_read(Path(path)), env)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (AttributeError, EOFError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise mismatch(path, "a checkpoint of this version", repr(error)) from error


def describes_itself(env: Any) -> bool:
    """Return whether a file can contain a recipe for the environment, so that `load` only needs the path."""
    return _describe(env)[0] is not None


def _restore(head: dict[str, Any], env: Any) -> Any:
    kept, rng = decode_value(head["kept"]), decode_value(head["rng"])
    if env is not None:
        inner = getattr(env, "unwrapped", env)
        _check_made_alike(inner, head)
    elif head["made"] is not None:
        inner = decode_value(head["made"])
    else:
        raise ConfigError(f"{head['not made']}; try load(path, env) with an environment made in the same way")
    with locate_errors("structure: "):
        inner = inner.restore(kept)
    if rng is not None:
        inner.np_random = rng
    return inner


def _describe(env: Any) -> tuple[Any, str]:
    """Return the recipe for an environment, or None and the reason why a file cannot contain one."""
    try:
        return encode_value(env, type(env).__name__), ""
    except ConfigError as error:
        return None, str(error)


def _check_made_alike(inner: Any, head: dict[str, Any]) -> None:
    """Raise ConfigError unless the given environment was made in the same way as the saved one."""
    require((name := class_name(type(inner))) == head["class"], "env", head["class"], name)
    mine, theirs = _describe(inner)[0], head["made"]
    if None not in (mine, theirs):
        pairs = {name: (mine["of"].get(name), theirs["of"].get(name)) for name in mine["of"] | theirs["of"]}
        differing = [name for name, (one, other) in pairs.items() if json.dumps(one) != json.dumps(other)]
        if differing and differing != ["render_mode"]:
            names = ", ".join(differing)
            raise mismatch("env", "the arguments of the saved environment", f"different values for {names}")


# -- the file ------------------------------------------------------------------------------------------------


def _read(path: Path) -> dict[str, Any]:
    """Return the content of a file; raise ConfigError if it is incomplete or from another version."""
    require(path.is_file(), "", "a file", "none", "another name or folder")
    try:
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(path.read_bytes(), MOST_BYTES)
        if not unpacker.eof:
            raise EOFError(f"no end within {MOST_BYTES} bytes")
        head = json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise mismatch("", "an intact checkpoint", f"a truncated or modified one: {error}") from None
    require(isinstance(head, dict) and head.get("format") == FORMAT, "", f"a {FORMAT}", "a different kind of file")
    _check_versions(head)
    return head


def _check_versions(head: dict[str, Any]) -> None:
    """Raise ConfigError for a file with a different format or minor version, `0.1` of `0.1.7`."""
    mine, theirs = (".".join(v.split(".")[:2]) for v in (version("harvestgym"), head["harvestgym"]))
    if (head["version"], theirs) != (FORMAT_VERSION, mine):
        got = f"format {head['version']} of {theirs}; try pip install 'harvestgym=={theirs}.*'"
        raise mismatch("", f"format {FORMAT_VERSION} of harvestgym {mine}", got)


# -- arrays ------------------------------------------------------------------------------------------------


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
