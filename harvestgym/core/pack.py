"""A pytree in a few buffers: floats, ints, and each large leaf on its own.

What a compiled call costs from Python grows with the number of arrays it takes and gives. A `Layout` is
computed once from shapes; `pack` and `unpack` run inside compiled code, `read` on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

LARGE = 4096
"""Leaves of more elements stay as they are: copying them would cost more than one buffer more."""


class Packed(NamedTuple):
    """The leaves of a pytree: float32[n], int32[m], and the large ones; on the device or the host."""

    floats: jax.Array | np.ndarray
    ints: jax.Array | np.ndarray
    large: tuple[jax.Array | np.ndarray, ...]


@dataclass(frozen=True)
class Slot:
    """Where one leaf lies: from `start` in its buffer, or the `start`-th of the large ones."""

    buffer: Literal["floats", "ints", "large"]
    start: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    key_impl: str = ""

    @property
    def stop(self) -> int:
        """The end of the leaf in its buffer."""
        return self.start + prod(self.shape)


@dataclass(frozen=True)
class Layout:
    """How a pytree of given structure (a PyTreeDef), shapes and dtypes is packed; hashable."""

    treedef: Any
    slots: tuple[Slot, ...]

    def pack(self, tree: Any) -> Packed:
        """The buffers of `tree`; a tree of another structure, shape or dtype raises ValueError."""
        self.check(tree)
        words = [_words(leaf, slot) for leaf, slot in zip(jax.tree.leaves(tree), self.slots, strict=True)]
        floats = _join([w.ravel() for w in self._of("floats", words)], jnp.float32)
        ints = _join([w.ravel() for w in self._of("ints", words)], jnp.int32)
        return Packed(floats, ints, self._of("large", words))

    def put(self, tree: Any) -> Packed:
        """`pack` from the host: the buffers are filled with NumPy and put on the device, nothing is compiled."""
        self.check(tree)
        words = [_host_words(leaf, slot) for leaf, slot in zip(jax.tree.leaves(tree), self.slots, strict=True)]
        floats = np.concatenate([np.zeros(0, np.float32), *(w.ravel() for w in self._of("floats", words))])
        ints = np.concatenate([np.zeros(0, np.int32), *(w.ravel() for w in self._of("ints", words))])
        return jax.device_put(Packed(floats, ints, self._of("large", words)))

    def zeros(self) -> Packed:
        """Buffers of zeros, on the host."""
        floats, ints = (max((s.stop for s in self.slots if s.buffer == name), default=0) for name in _DTYPES)
        large = tuple(np.zeros(s.shape, s.dtype) for s in self.slots if s.buffer == "large")
        return Packed(np.zeros(floats, np.float32), np.zeros(ints, np.int32), large)

    def unpack(self, packed: Packed) -> Any:
        """The pytree, exactly as it was packed."""
        return self.treedef.unflatten([_leaf(_take(packed, slot), slot) for slot in self.slots])

    def read(self, packed: Packed) -> Any:
        """The pytree on the host: Python numbers for scalars, own writable NumPy arrays for the rest."""
        for buffer in jax.tree.leaves(packed):
            buffer.copy_to_host_async()
        here = Packed(np.asarray(packed.floats), np.asarray(packed.ints), packed.large)
        return self.treedef.unflatten([_READ[slot.buffer](here, slot) for slot in self.slots])

    def _of(self, buffer: str, words: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(w for w, slot in zip(words, self.slots, strict=True) if slot.buffer == buffer)

    def check(self, tree: Any) -> None:
        """Raise ValueError, in words, if `tree` does not fit this layout."""
        other = layout_of(tree)
        if other.treedef != self.treedef:
            raise ValueError(f"wanted a tree of structure {self.treedef}, found {other.treedef}")
        names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
        for name, mine, theirs in zip(names, self.slots, other.slots, strict=True):
            if (mine.shape, mine.dtype, mine.key_impl) != (theirs.shape, theirs.dtype, theirs.key_impl):
                wanted, found = f"{mine.dtype}{list(mine.shape)}", f"{theirs.dtype}{list(theirs.shape)}"
                raise ValueError(f"leaf {name or 'itself'}: wanted {wanted}, found {found}")


_DTYPES = {"floats": jnp.float32, "ints": jnp.int32}


def layout_of(tree: Any) -> Layout:
    """The layout for a pytree of arrays, or of shapes as `jax.eval_shape` gives them."""
    leaves, treedef = jax.tree.flatten(tree)
    next_free = {"floats": 0, "ints": 0, "large": 0}
    slots = []
    for leaf in leaves:
        shape, dtype, impl = _describe(leaf)
        buffer = _buffer(shape, dtype)
        slots.append(Slot(buffer, next_free[buffer], shape, dtype, impl))
        next_free[buffer] += 1 if buffer == "large" else prod(shape)
    return Layout(treedef, tuple(slots))


def _describe(leaf: Any) -> tuple[tuple[int, ...], np.dtype[Any], str]:
    """Shape and dtype of a leaf as stored; for a key those of its data, and the kind of generator."""
    dtype = jnp.result_type(leaf)
    if not jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return tuple(np.shape(leaf)), np.dtype(dtype), ""
    impl: list[str] = []

    def data(key: jax.Array) -> jax.Array:
        impl.append(str(jax.random.key_impl(key)))
        return jax.random.key_data(key)

    stored = jax.eval_shape(data, leaf)
    return stored.shape, np.dtype(stored.dtype), impl[0]


def _buffer(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Literal["floats", "ints", "large"]:
    if prod(shape) > LARGE or dtype.itemsize > 4:
        return "large"
    return "floats" if jnp.issubdtype(dtype, jnp.floating) else "ints"


def _words(leaf: Any, slot: Slot) -> jax.Array:
    """A leaf as its buffer stores it."""
    array = jax.random.key_data(leaf) if slot.key_impl else jnp.asarray(leaf)
    if slot.buffer == "large":
        return array
    if slot.dtype == np.uint32:
        return jax.lax.bitcast_convert_type(array, jnp.int32)
    return array.astype(_DTYPES[slot.buffer])


def _host_words(leaf: Any, slot: Slot) -> np.ndarray:
    array = np.asarray(jax.random.key_data(leaf) if slot.key_impl else leaf, slot.dtype)
    return array if slot.buffer == "large" else array.astype(_DTYPES[slot.buffer])


def _join(parts: Sequence[jax.Array], dtype: Any) -> jax.Array:
    """One vector of many. Slice by slice on CPU: XLA's concatenation of sixty parts took three times as long."""
    if len(parts) < 2:
        return parts[0] if parts else jnp.zeros(0, dtype)
    return jax.lax.platform_dependent(*parts, cpu=_write, default=lambda *p: jnp.concatenate(p))


def _write(*parts: jax.Array) -> jax.Array:
    out, start = jnp.zeros(sum(p.size for p in parts), parts[0].dtype), 0
    for part in parts:
        out = jax.lax.dynamic_update_slice(out, part, (start,))
        start += part.size
    return out


def _take(packed: Packed, slot: Slot) -> Any:
    if slot.buffer == "large":
        return packed.large[slot.start]
    return getattr(packed, slot.buffer)[slot.start : slot.stop].reshape(slot.shape)


def _leaf(words: jax.Array, slot: Slot) -> jax.Array:
    """A leaf from what its buffer stores."""
    if slot.dtype == np.uint32 and slot.buffer != "large":
        words = jax.lax.bitcast_convert_type(words, jnp.uint32)
    if slot.key_impl:
        return jax.random.wrap_key_data(words, impl=slot.key_impl)
    return words.astype(slot.dtype)


def _read_float(packed: Packed, slot: Slot) -> Any:
    if not slot.shape:
        return packed.floats.item(slot.start)
    return _take(packed, slot).astype(slot.dtype)


def _read_int(packed: Packed, slot: Slot) -> Any:
    if slot.shape:
        return _take(packed, slot).astype(slot.dtype)
    value = packed.ints.item(slot.start)
    return bool(value) if slot.dtype == np.bool_ else value % 2**32 if slot.dtype == np.uint32 else value


def _read_large(packed: Packed, slot: Slot) -> Any:
    return np.array(packed.large[slot.start])


_READ: dict[str, Callable[[Packed, Slot], Any]] = {"floats": _read_float, "ints": _read_int, "large": _read_large}
