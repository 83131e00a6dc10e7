"""An environment in mid-episode as one file: how it is made, plus its arrays and its key. Loading runs nothing.

The file is a ZIP of JSON and NumPy arrays (`encoding`), readable by every patch version of harvestgym. A restored
environment continues bit for bit.

An environment that can be saved has these methods:
    recipe(): how it is made, see `encoding`;
    kept(): a dict of what changes, pytrees as `to_arrays` gives them;
    restore(kept): continue from there.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.envs.registration import EnvSpec

from harvestgym.core.xla.compilation import enable_cache

from .encoding import class_name, decode, encode_value, find_class, is_key
from .env import Env
from .errors import ConfigError

FORMAT = "harvestgym checkpoint"
FORMAT_VERSION = 2
"""Raised whenever the file, or what an environment keeps in it, changes its form."""

HEADER_FILE = "checkpoint.json"


class Snapshot(NamedTuple):
    """A functional environment in mid-episode, or a batch: state and key have the same leading axes."""

    env: Env[Any, Any]
    state: Any
    key: jax.Array
    params: Any

    def recipe(self) -> dict[str, Any]:
        return {"env": self.env}

    @classmethod
    def from_recipe(cls, env: Env[Any, Any]) -> Snapshot:
        """Make the snapshot before any state."""
        return cls(env, None, jax.random.key(0), env.params)

    def kept(self) -> dict[str, Any]:
        return {"state": to_arrays(self.state), "key": self.key, "params": to_arrays(self.params)}

    def restore(self, kept: dict[str, Any]) -> Snapshot:
        """Return the snapshot that was kept."""
        params, key = from_arrays(kept["params"], self.params, "params"), kept["key"]

        def begin(key: jax.Array) -> Any:
            return self.env.reset(key, params)[0]

        for _ in key.shape:
            begin = jax.vmap(begin)
        return Snapshot(self.env, from_arrays(kept["state"], jax.eval_shape(begin, key), "state"), key, params)


def save(env: Any, path: str | Path) -> None:
    """Write an environment, as it stands, to a file; an old file is replaced as a whole.

    Args:
        env: an environment of harvestgym, also in wrappers of Gymnasium, or a `Snapshot` of a functional environment.
        path: of the file.

    Raises:
        ConfigError: for a wrapper or an object that cannot be saved.
    """
    layers, inner = _layers(env)
    if not hasattr(inner, "kept"):
        raise ConfigError(f"save: expected an environment of harvestgym or a Snapshot, got {type(inner).__name__}")
    arrays: list[np.ndarray] = []
    made, reason = _recipe(inner, arrays)
    head = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "harvestgym": version("harvestgym"),
        "gymnasium": gymnasium.__version__,
        "class": class_name(type(inner)),
        "made": made,
        "not made": reason,
        "kept": encode_value(inner.kept(), arrays, "kept"),
        "rng": encode_value(getattr(inner, "np_random", None), arrays, "np_random"),
        "spec": _spec(inner),
        "wrappers": [[class_name(type(layer)), _memory(layer, arrays)] for layer in layers],
    }
    _write(Path(path), head, arrays)


def load(path: str | Path, env: Any = None) -> Any:
    """Return the environment of a file, ready to continue where it was saved.

    Switches JAX's persistent compilation cache on, as `make` does.

    Args:
        path: of the file.
        env: one made as the saved one was, to be put into that state; needed only where a part of it (a subclass, a
            law, your own wrapper) lives in Python. Without it the environment is made again.

    Raises:
        ConfigError: for a file that is damaged, of another version or of another environment; nothing was changed.
    """
    enable_cache()
    head, arrays = _read(Path(path))
    try:
        return _restored(head, arrays, env)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: not a checkpoint of this version: {error!r}") from error


def describes_itself(env: Any) -> bool:
    """Return whether a file can say how an environment is made, so that `load` needs the path only."""
    return _recipe(env, [])[0] is not None


def _restored(head: dict[str, Any], arrays: Sequence[np.ndarray], env: Any) -> Any:
    kept, rng = decode(head["kept"], arrays), decode(head["rng"], arrays)
    memories = [decode(memory, arrays) for _, memory in head["wrappers"]]
    if env is None:
        if head["made"] is None:
            raise ConfigError(f"{head['not made']}; give load(path, env) an environment that is made likewise")
        inner = decode(head["made"], arrays)
        layers = [_blank_wrapper(name) for name, _ in head["wrappers"]]
    else:
        layers, inner = _layers(env)
        _check_made_alike(inner, layers, head, arrays)
    try:
        inner = inner.restore(kept)
    except ConfigError as error:
        raise ConfigError(f"of another structure: {error}") from None
    if rng is not None:
        inner.np_random = rng
    if env is None and head["spec"] is not None:
        inner.spec = EnvSpec.from_json(head["spec"])
    for layer, memory in zip(reversed(layers), reversed(memories), strict=True):
        vars(layer).update(memory, env=inner)
        inner = layer
    return inner


def _recipe(env: Any, arrays: list[np.ndarray]) -> tuple[Any, str]:
    """Say how an environment is made; or None, and why that cannot be said."""
    start = len(arrays)
    try:
        return encode_value(env, arrays, type(env).__name__), ""
    except ConfigError as error:
        del arrays[start:]
        return None, str(error)


def _check_made_alike(inner: Any, layers: list[Any], head: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Raise ConfigError if an environment that was given is not made as the one that was saved."""
    names = [class_name(type(one)) for one in (inner, *layers)]
    expected = [head["class"], *(name for name, _ in head["wrappers"])]
    if names != expected:
        raise ConfigError(f"of another structure: expected {', '.join(expected)}, got {', '.join(names)}")
    mine: list[np.ndarray] = []
    made = _recipe(inner, mine)[0]
    if made is None or head["made"] is None:
        return
    same = all(map(np.array_equal, mine, arrays)) and _without_mode(made) == _without_mode(head["made"])
    if not same:
        raise ConfigError("of another structure: the environment given is not made as the saved one was")


def _without_mode(made: Any) -> Any:
    name, arguments = made["of"]
    return name, {k: v for k, v in arguments.items() if k != "render_mode"}


def _spec(env: Any) -> str | None:
    spec = getattr(env, "spec", None)
    try:
        return None if spec is None else spec.to_json()
    except (TypeError, ValueError):
        return None


# -- wrappers of Gymnasium -----------------------------------------------------------------------------------


def _layers(env: Any) -> tuple[list[Any], Any]:
    """The wrappers around an environment, the outermost first, and what is inside."""
    layers = []
    while isinstance(env, gymnasium.Wrapper):
        layers.append(env)
        env = env.env
    return layers, env


def _memory(wrapper: Any, arrays: list[np.ndarray]) -> Any:
    """The attributes of a wrapper: plain data, and what it only caches of the environment inside as None."""
    inside, memory = wrapper.env, {}
    for name, value in vars(wrapper).items():
        cached = isinstance(value, EnvSpec) or value is inside.action_space or value is inside.observation_space
        memory[name] = None if cached or value is inside else value
    try:
        return encode_value(memory, arrays, type(wrapper).__name__)
    except ConfigError as error:
        raise ConfigError(f"wrapper {error}; save `env.unwrapped`") from None


def _blank_wrapper(name: str) -> Any:
    cls = find_class(name, gymnasium.Wrapper)
    return cls.__new__(cls)


# -- pytrees -------------------------------------------------------------------------------------------------


def to_arrays(tree: Any) -> dict[str, Any]:
    """Return the leaves of a pytree of arrays, numbers and keys by their path, on the host."""
    leaves = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
    return {name: leaf if is_key(leaf) else np.asarray(leaf, jnp.result_type(leaf)) for name, leaf in leaves.items()}


def from_arrays(saved: Mapping[str, Any], like: Any, what: str) -> Any:
    """Return the pytree whose leaves were saved by `to_arrays`, with the structure and leaf types of `like`.

    The leaves of `like` are numbers, arrays or shapes. ConfigError, under the name `what`, if they do not fit.
    """

    def restore(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        found, expected = saved.get(name), f"{name or 'an array'} {jnp.result_type(leaf)}{list(np.shape(leaf))}"
        got = "none" if found is None else f"{name or 'an array'} {found.dtype}{list(found.shape)}"
        if found is None or got != expected:
            raise ConfigError(f"{what}: expected {expected}, got {got}")
        if isinstance(leaf, (bool, int, float)):
            return type(leaf)(found.item())
        if isinstance(leaf, np.generic):
            return found[()]
        return found if isinstance(leaf, np.ndarray) or is_key(leaf) else jnp.asarray(found)

    tree = jax.tree_util.tree_map_with_path(restore, like)
    if len(saved) != (count := len(jax.tree.leaves(like))):
        raise ConfigError(f"{what}: expected {count} arrays, got {len(saved)}")
    return tree


# -- the file ------------------------------------------------------------------------------------------------


def _write(path: Path, head: dict[str, Any], arrays: list[np.ndarray]) -> None:
    """Write a new file and put it in the place of the old one."""
    if not path.parent.is_dir():
        raise ConfigError(f"{path}: there is no folder {path.parent}")
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
            for i, array in enumerate(arrays):
                with archive.open(zipfile.ZipInfo(f"{i}.npy"), "w") as part:
                    np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(HEADER_FILE), json.dumps(head))
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _read(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Read the head of a file and its arrays; ConfigError if it is not whole, or of another version."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such file; check the name and the folder")
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read(HEADER_FILE))
            _check_version(path, head)
            parts = [archive.read(f"{i}.npy") for i in range(len(archive.namelist()) - 1)]
        return head, [np.lib.format.read_array(io.BytesIO(part), allow_pickle=False) for part in parts]
    except ConfigError:
        raise
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, OSError) as error:
        raise ConfigError(f"{path}: not a whole checkpoint, it was cut off or changed: {error}") from None


def _check_version(path: Path, head: Any) -> None:
    """Raise ConfigError unless a file is of this format and minor version."""
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise ConfigError(f"{path}: expected a {FORMAT}, got another file")
    mine, theirs = (_minor(v) for v in (version("harvestgym"), head["harvestgym"]))
    if (head["version"], theirs) != (FORMAT_VERSION, mine):
        raise ConfigError(
            f"{path}: expected format {FORMAT_VERSION} of harvestgym {mine}, got format {head['version']} of {theirs}; "
            f"try pip install 'harvestgym=={theirs}.*'"
        )
    if head["wrappers"] and _minor(head["gymnasium"]) != _minor(gymnasium.__version__):
        found = head["gymnasium"]
        raise ConfigError(f"{path}: expected wrappers of Gymnasium {gymnasium.__version__}, got those of {found}; "
                          f"try pip install 'gymnasium=={found}'")  # fmt: skip


def _minor(version: str) -> str:
    """`0.1` of `0.1.7`: versions that differ in the patch number only can read each other's files."""
    return ".".join(version.split(".")[:2])
