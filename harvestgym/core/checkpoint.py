"""An environment in mid-episode as one file, from which another process goes on bit for bit.

The file is a ZIP of JSON and NumPy arrays: it can be read without running anything. It says how the environment is
made (a farm by the text of its file), and holds parameters, state, keys and what wrappers remember.

An environment that can be saved has `recipe()`, see `codec`, `kept()`, a dict of what changes, and `restore(kept)`.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium.envs.registration import EnvSpec

from . import codec
from .env import Env
from .errors import ConfigError
from .packing import Layout, Packed, layout_of
from .xla.compilation import enable_cache

FORMAT = "harvestgym checkpoint"
VERSION = 1
"""Of the file; raised whenever an environment keeps something else, or goes on otherwise."""

HEAD = "checkpoint.json"
WRAPPERS: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "PassiveEnvChecker": ({}, ()),
    "OrderEnforcing": ({"disable_render_order_enforcing": "_disable_render_order_enforcing"}, ("_has_reset",)),
    "TimeLimit": ({"max_episode_steps": "_max_episode_steps"}, ("_elapsed_steps",)),
}
"""Gymnasium's wrappers that are kept: their arguments, and what they remember."""


@dataclass(frozen=True)
class Tree:
    """The leaves of a pytree; its structure is known to whoever reads it.

    Attributes:
        table: of each leaf its path, shape, dtype and, for a key, the kind of generator: the print of the structure.
        leaves: in the order of the table; of keys their data.
    """

    table: list[Any]
    leaves: list[np.ndarray]

    @classmethod
    def of(cls, tree: Any) -> Tree:
        """The leaves of a pytree of arrays, numbers and keys."""
        layout = layout_of(tree)
        return cls.packed(layout, layout.put(tree))

    @classmethod
    def packed(cls, layout: Layout, buffers: Packed) -> Tree:
        """The leaves of a pytree that is packed."""
        values = jax.tree.leaves(layout.read(buffers))
        return cls(_table(layout), [np.asarray(v, s.dtype) for v, s in zip(values, layout.slots, strict=True)])

    def into(self, layout: Layout, what: str) -> Any:
        """The pytree of this layout; ConfigError if it is not the one that was saved."""
        wanted = _table(layout)
        if self.table != wanted:
            raise ConfigError(f"{what}: {_difference(wanted, self.table)}")
        pairs = zip(self.leaves, layout.slots, strict=True)
        return layout.treedef.unflatten(
            [
                jax.random.wrap_key_data(jax.numpy.asarray(leaf), impl=slot.key_impl) if slot.key_impl else leaf
                for leaf, slot in pairs
            ]
        )

    def like(self, tree: Any, what: str) -> Any:
        """As `into`, each leaf of the type that it has in `tree`: a number, a NumPy or a JAX array."""
        return jax.tree.map(_as, tree, self.into(layout_of(tree), what))


class Snapshot(NamedTuple):
    """A functional environment on its way, or a batch of them: the state and the key have the same leading axes."""

    env: Env[Any, Any]
    state: Any
    key: jax.Array
    params: Any

    def recipe(self) -> dict[str, Any]:
        """See `codec`."""
        return {"env": self.env}

    @classmethod
    def from_recipe(cls, env: Env[Any, Any]) -> Snapshot:
        """The moment before any state."""
        return cls(env, None, jax.random.key(0), env.params)

    def kept(self) -> dict[str, Any]:
        """State, key and parameters."""
        return {"state": Tree.of(self.state), "key": self.key, "params": Tree.of(self.params)}

    def restore(self, kept: dict[str, Any]) -> Snapshot:
        """The moment that was kept."""
        params, key = kept["params"].like(self.params, "params"), kept["key"]

        def begin(key: jax.Array) -> Any:
            return self.env.reset(key, params)[0]

        for _ in key.shape:
            begin = jax.vmap(begin)
        state = kept["state"].into(layout_of(jax.eval_shape(begin, key)), "state")
        return Snapshot(self.env, jax.tree.map(jax.numpy.asarray, state), key, params)


def save(env: Any, path: str | Path) -> None:
    """Write an environment, as it stands, to a file; whatever was there before is replaced as a whole.

    Args:
        env: a `GymEnv`, `VecEnv`, `Farm`, `FishingEnv`, one of the forager's faces, what `gymnasium.make` gives, or a
            `Snapshot` of a functional environment.
        path: of the file.

    Raises:
        ConfigError: for a wrapper whose memory is not known, or an object that cannot be kept.
    """
    inner, wrappers = _unwrapped(env)
    if not hasattr(inner, "kept"):
        raise ConfigError(f"save: wanted an environment of harvestgym or a Moment, found {type(inner).__name__}")
    kept = {"face": inner.kept(), "wrappers": wrappers, "rng": getattr(inner, "_np_random", None)}
    head = {"format": FORMAT, "version": VERSION, "harvestgym": installed("harvestgym"), "spec": _spec(inner)}
    head |= {"class": codec.class_name(type(inner))}
    arrays: dict[str, list[np.ndarray]] = {"made": [], "kept": []}
    head["kept"] = codec.encode(kept, arrays["kept"], "kept")
    head["made"], head["not made"] = _structure(inner, arrays["made"])
    _write(Path(path), head, arrays)


def load(path: str | Path, env: Any = None) -> Any:
    """The environment that a file keeps, ready to go on where it was saved.

    Switches JAX's persistent compilation cache on, as `make` does.

    Args:
        path: of the file.
        env: one made as the saved one was, to be put into that state; wanted only where a part of it (a subclass, a
            law, a wrapper of your own) lives in Python. Without it the environment is made anew.

    Raises:
        ConfigError: for a file that is damaged, of another version or of another environment; nothing was changed.
    """
    enable_cache()
    head, arrays = _read(Path(path))
    kept = _decoded(path, head["kept"], arrays["kept"])
    if env is None:
        if head["made"] is None:
            raise ConfigError(f"{path}: {head['not made']}; give load(path, env) an environment that is made likewise")
        inner = _decoded(path, head["made"], arrays["made"])
    else:
        inner = _unwrapped(env)[0]
        _check_made(Path(path), inner, head, arrays["made"])
    try:
        inner = inner.restore(kept["face"])
    except ConfigError as error:
        raise ConfigError(f"{path}: of another structure: {error}") from None
    if kept["rng"] is not None:
        inner._np_random = kept["rng"]
    return _rewrapped(inner, head, kept["wrappers"]) if env is None else _remembering(env, inner, kept["wrappers"])


def describes_itself(env: Any) -> bool:
    """Whether a file can say how an environment is made, so that `load` needs the path only."""
    return _structure(env, [])[0] is not None


# -- wrappers ------------------------------------------------------------------------------------------------


def _unwrapped(env: Any) -> tuple[Any, list[Any]]:
    """What is inside Gymnasium's wrappers, and of each, from the inside out, its name, arguments and memory."""
    found = []
    while isinstance(env, gymnasium.Wrapper):
        name = type(env).__name__
        if name not in WRAPPERS or not type(env).__module__.startswith("gymnasium."):
            raise ConfigError(f"{name}: what this wrapper remembers is not known; save `env.unwrapped`, and what it "
                              f"remembers beside; known: {', '.join(WRAPPERS)}")  # fmt: skip
        arguments, memory = WRAPPERS[name]
        found.append([name, {k: getattr(env, attr) for k, attr in arguments.items()},
                      {attr: getattr(env, attr) for attr in memory if hasattr(env, attr)}])  # fmt: skip
        env = env.env
    return env, found[::-1]


def _rewrapped(env: Any, head: dict[str, Any], wrappers: list[Any]) -> Any:
    if head["spec"] is not None:
        env.spec = EnvSpec.from_json(head["spec"])
    for name, arguments, memory in wrappers:
        env = getattr(gymnasium.wrappers, name)(env, **arguments)
        _remember(env, memory)
    return env


def _remember(wrapper: Any, memory: dict[str, Any]) -> None:
    """Let a wrapper remember; a checker, whose checks begin at a reset, has done its checks."""
    if isinstance(wrapper, gymnasium.wrappers.PassiveEnvChecker):
        memory = {name: True for name in vars(wrapper) if name.startswith("checked_")}
    vars(wrapper).update(memory)


def _remembering(env: Any, inner: Any, wrappers: list[Any]) -> Any:
    """`env`, its wrappers as they were; the restored `inner` itself where it has none."""
    layers = []
    while isinstance(env, gymnasium.Wrapper):
        layers.append(env)
        env = env.env
    for layer, (_, _, memory) in zip(layers[::-1], wrappers, strict=True):
        _remember(layer, memory)
    return layers[0] if layers else inner


def _spec(env: Any) -> str | None:
    spec = getattr(env, "spec", None)
    try:
        return None if spec is None else spec.to_json()
    except (TypeError, ValueError):
        return None


def _decoded(path: str | Path, data: Any, arrays: list[np.ndarray]) -> Any:
    try:
        return codec.decode(data, arrays)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (AttributeError, ImportError, IndexError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: no checkpoint of this version: {error!r}") from None


# -- structure -----------------------------------------------------------------------------------------------


def _structure(env: Any, arrays: list[np.ndarray]) -> tuple[Any, str]:
    """How an environment is made; or nothing, and why it cannot be said."""
    try:
        return codec.encode(env, arrays, type(env).__name__), ""
    except ConfigError as error:
        arrays.clear()
        return None, str(error)


def _check_made(path: Path, env: Any, head: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """ConfigError if an environment that was given is not made as the one that was saved."""
    if codec.class_name(type(env)) != head["class"]:
        raise ConfigError(f"{path}: of another structure: wanted {head['class']}, found {type(env).__name__}")
    mine: list[np.ndarray] = []
    made = _structure(env, mine)[0]
    same = len(mine) == len(arrays) and all(map(np.array_equal, mine, arrays))
    if made is not None and head["made"] is not None and not (same and _seen_off(made) == _seen_off(head["made"])):
        raise ConfigError(f"{path}: of another structure: the environment given is not made as the saved one was")


def _seen_off(made: Any) -> Any:
    """How an environment is made, whichever way it is looked at."""
    name, arguments = made["of"]
    return name, {k: v for k, v in arguments.items() if k != "render_mode"}


def _table(layout: Layout) -> list[Any]:
    paths = jax.tree_util.tree_leaves_with_path(layout.treedef.unflatten(range(len(layout.slots))))
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    return [[n, list(s.shape), str(s.dtype), s.key_impl] for n, s in zip(names, layout.slots, strict=True)]


def _difference(wanted: list[Any], found: list[Any]) -> str:
    for mine, theirs in zip(wanted, found, strict=False):
        if mine != theirs:
            told = [f"{name or 'itself'} {dtype}{shape}" for name, shape, dtype, _ in (mine, theirs)]
            return f"wanted {told[0]}, found {told[1]}"
    return f"wanted {len(wanted)} arrays, found {len(found)}"


def _as(like: Any, value: Any) -> Any:
    if isinstance(like, (bool, int, float)):
        return type(like)(value.item())
    if isinstance(like, np.generic):
        return np.asarray(value)[()]
    return jax.numpy.asarray(value) if isinstance(like, jax.Array) else value


# -- the file ------------------------------------------------------------------------------------------------


def _write(path: Path, head: dict[str, Any], arrays: dict[str, list[np.ndarray]]) -> None:
    """A new file in the place of the old one, whole or not at all."""
    parts = {HEAD: json.dumps(head).encode()}
    for group, members in arrays.items():
        parts |= {f"{group}/{i}.npy": _npy(array) for i, array in enumerate(members)}
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for part, data in parts.items():
                    archive.writestr(zipfile.ZipInfo(part), data, zipfile.ZIP_DEFLATED)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, list[np.ndarray]]]:
    """The head of a file and its arrays; ConfigError if it is not whole, or of another version."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; check the name and the folder")
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read(HEAD))
            _check_version(path, head)
            names = [n for n in archive.namelist() if n != HEAD]
            found = {n: np.lib.format.read_array(io.BytesIO(archive.read(n)), allow_pickle=False) for n in names}
    except ConfigError:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, OSError) as error:
        raise ConfigError(f"{path}: no whole checkpoint, it was cut off or changed: {error}") from None
    groups = {group: [n for n in found if n.startswith(f"{group}/")] for group in ("made", "kept")}
    return head, {g: [found[f"{g}/{i}.npy"] for i in range(len(members))] for g, members in groups.items()}


def _check_version(path: Path, head: Any) -> None:
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ConfigError(f"{path}: wanted a {FORMAT}, found another file")
    if head["version"] != VERSION or head["harvestgym"] != installed("harvestgym"):
        found = f"version {head['version']} of harvestgym {head['harvestgym']}"
        mine = f"version {VERSION} of harvestgym {installed('harvestgym')}"
        raise ConfigError(
            f"{path}: wanted {mine}, found {found}; an episode goes on bit for bit in the version that began it only: "
            f"pip install 'harvestgym=={head['harvestgym']}'"
        )
