"""Pack the small leaves of a pytree into one buffer of 32-bit words; large leaves stay separate.

The overhead of a compiled call from Python grows with the number of its arrays. A `Layout` is computed once from
shapes; `pack_together` and `unpack` run inside compiled code, readers run on the host. Several trees may share the
buffers, one after another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

LARGE = 4096
"""Leaves with more elements than this are not packed: copying them would cost more than another buffer."""


class PackedTree(NamedTuple):
    """The leaves of a pytree: an int32[n] array (floats stored as bits) and the large leaves; on the device or host."""

    words: Array | np.ndarray
    large: tuple[Array | np.ndarray, ...]


@dataclass(frozen=True)
class Slot:
    """The location of a leaf: words `start` to `stop` or, if `large`, number `start` of the large leaves.

    Attributes:
        sort: the letter of the leaf's type, a key of `_STORED`.
        as_stored: whether the words have the same dtype as the leaf.
        key_impl: the generator of a random key; empty for other leaves.
    """

    large: bool
    start: int
    stop: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    sort: str
    as_stored: bool
    key_impl: str


@dataclass(frozen=True)
class Layout:
    """The packing of a pytree with a given structure (a PyTreeDef), shapes and dtypes; hashable.

    The words start with the scalars, grouped by type letter (`scalars`: each letter and where its group ends), so that
    compiled code can read all scalars of a type at once; the arrays follow.
    """

    treedef: Any
    slots: tuple[Slot, ...]
    scalars: tuple[tuple[str, int], ...]

    def put(self, tree: Any) -> PackedTree:
        """Pack on the host: fill the buffers with NumPy and transfer them to the device, without compiling."""
        words, large = self.divide(tree, _host_words)
        return jax.device_put(PackedTree(np.concatenate([np.zeros(0, np.int32), *words]), large))

    def zeros(self) -> PackedTree:
        """Return buffers of zeros on the host."""
        words = max((s.stop for s in self.slots if not s.large), default=0)
        return PackedTree(np.zeros(words, np.int32), tuple(np.zeros(s.shape, s.dtype) for s in self.slots if s.large))

    def unpack(self, packed: PackedTree) -> Any:
        """Return the original pytree."""
        scalars = self._apart_scalars(packed)
        return self.treedef.unflatten([_leaf(packed, slot, scalars) for slot in self.slots])

    def _apart_scalars(self, packed: PackedTree) -> list[Array]:
        """Return the scalars by type letter, with one slice each instead of three operations; there may be hundreds."""
        found, start = [], 0
        for sort, stop in self.scalars:
            words = jax.lax.bitcast_convert_type(packed.words[start:stop], _STORED[sort])
            found += jax.lax.split(words != 0 if sort == "b" else words, [1] * (stop - start))
            start = stop
        return found

    def reader_of(self, entries: slice) -> Reader:
        """Return a function that reads some entries of a tuple of trees, as a tuple."""
        numbers = iter(range(len(self.slots)))
        parts = [(part, [next(numbers) for _ in range(part.num_leaves)]) for part in self.treedef.children()][entries]
        slots = [self.slots[i] for _, mine in parts for i in mine]
        return make_word_reader(jax.tree_util.treedef_tuple([part for part, _ in parts]), slots)

    def divide(self, tree: Any, to_words: Callable[[Any, Slot], Any]) -> tuple[list[Any], tuple[Any, ...]]:
        """Return the words of the small leaves of `tree`, in the order of the buffer, and the large leaves."""
        self.check(tree)
        parts = [to_words(leaf, slot) for leaf, slot in zip(jax.tree.leaves(tree), self.slots, strict=True)]
        pairs = sorted((slot.start, i) for i, slot in enumerate(self.slots) if not slot.large and prod(slot.shape))
        large = tuple(part for part, slot in zip(parts, self.slots, strict=True) if slot.large)
        return [parts[i].ravel() for _, i in pairs], large

    def check(self, tree: Any) -> None:
        """Raise ValueError if `tree` does not fit this layout."""
        other = layout_of(tree)
        if other.treedef != self.treedef:
            raise ValueError(f"expected a tree of structure {self.treedef}, got {other.treedef}")
        names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
        for name, mine, theirs in zip(names, self.slots, other.slots, strict=True):
            if (mine.shape, mine.dtype, mine.key_impl) != (theirs.shape, theirs.dtype, theirs.key_impl):
                expected, got = f"{mine.dtype}{list(mine.shape)}", f"{theirs.dtype}{list(theirs.shape)}"
                raise ValueError(f"leaf {name or 'itself'}: expected {expected}, got {got}")


_STORED = {"f": np.float32, "i": np.int32, "u": np.uint32, "b": np.int32}
"""The dtype of the words for each type letter; a bool is stored as 0 or 1."""

_CODES = {"f": "f", "i": "i", "u": "I", "b": "?3x"}
"""The code of `struct` for a word of each type letter."""


def join_on_host(*packed: PackedTree) -> PackedTree:
    """Return the buffers that `pack_together` fills, on the host, from the buffers of each tree."""
    large = tuple(leaf for one in packed for leaf in one.large)
    return PackedTree(np.concatenate([one.words for one in packed]), large)


def pack_together(layouts: Sequence[Layout], trees: Sequence[Any]) -> PackedTree:
    """Return the buffers of several trees, one after another.

    Raises ValueError if the structure, shapes or dtypes of a tree differ from its layout.
    """
    vectors: list[Array] = []
    large: tuple[Any, ...] = ()
    for layout, tree in zip(layouts, trees, strict=True):
        words, apart = layout.divide(tree, _words)
        vectors, large = vectors + words, large + apart
    return PackedTree(_join(vectors), large)


def layout_of(tree: Any) -> Layout:
    """Return the layout of a pytree of arrays, or of shapes from `jax.eval_shape`."""
    leaves, treedef = jax.tree.flatten(tree)
    about = [_describe(leaf) for leaf in leaves]
    starts, scalars, end = {}, [], 0
    for sort in _STORED:
        mine = [i for i, (shape, dtype, _) in enumerate(about) if not shape and not _large(shape, dtype)]
        found = [i for i in mine if _sort(about[i][1]) == sort]
        starts |= {i: end + n for n, i in enumerate(found)}
        end += len(found)
        scalars += [(sort, end)] if found else []
    many = 0
    for i, (shape, dtype, _) in enumerate(about):
        if _large(shape, dtype):
            starts[i], many = many, many + 1
        elif shape:
            starts[i], end = end, end + prod(shape)
    slots = tuple(_make_slot(starts[i], *leaf) for i, leaf in enumerate(about))
    return Layout(treedef, slots, tuple(scalars))


def _make_slot(start: int, shape: tuple[int, ...], dtype: np.dtype[Any], impl: str) -> Slot:
    large, stop, sort = _large(shape, dtype), start + prod(shape), _sort(dtype)
    return Slot(large, start, stop, shape, dtype, sort, dtype == _STORED.get(sort), impl)


def _describe(leaf: Any) -> tuple[tuple[int, ...], np.dtype[Any], str]:
    """Return the stored shape and dtype of a leaf; for a key, the shape and dtype of its data, and the generator."""
    dtype = jnp.result_type(leaf)
    if not jnp.issubdtype(dtype, jax.dtypes.prng_key):
        return tuple(np.shape(leaf)), np.dtype(dtype), ""
    impl: list[str] = []

    def data(key: Array) -> Array:
        impl.append(str(jax.random.key_impl(key)))
        return jax.random.key_data(key)

    stored = jax.eval_shape(data, leaf)
    return stored.shape, np.dtype(stored.dtype), impl[0]


def _large(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return prod(shape) > LARGE or dtype.itemsize > 4


def _sort(dtype: np.dtype[Any]) -> str:
    return "f" if jnp.issubdtype(dtype, jnp.floating) else dtype.kind


def _words(leaf: Any, slot: Slot) -> Array:
    """Return a leaf as a vector of the words that its buffer stores."""
    array = jax.random.key_data(leaf) if slot.key_impl else jnp.asarray(leaf)
    return array if slot.large else jax.lax.bitcast_convert_type(array.astype(_STORED[slot.sort]), jnp.int32)


def _host_words(leaf: Any, slot: Slot) -> np.ndarray:
    array = np.asarray(jax.random.key_data(leaf) if slot.key_impl else leaf, slot.dtype)
    return array if slot.large else array.astype(_STORED[slot.sort]).view(np.int32)


def _join(parts: Sequence[Array]) -> Array:
    """Join vectors; on a CPU slice by slice, because XLA's concatenation of sixty parts took three times as long."""
    if len(parts) < 2:
        return parts[0] if parts else jnp.zeros(0, jnp.int32)
    return jax.lax.platform_dependent(*parts, cpu=_write, default=lambda *p: jnp.concatenate(p))


def _write(*parts: Array) -> Array:
    out, start = jnp.zeros(sum(p.size for p in parts), parts[0].dtype), 0
    for part in parts:
        out = jax.lax.dynamic_update_slice(out, part, (start,))
        start += part.size
    return out


def _leaf(packed: PackedTree, slot: Slot, scalars: Sequence[Array]) -> Any:
    """Read a leaf from its buffer, inside compiled code."""
    if slot.large:
        stored: Any = packed.large[slot.start]
    elif not slot.shape:
        stored = scalars[slot.start].reshape(())
    else:
        words = packed.words[slot.start : slot.stop].reshape(slot.shape)
        stored = jax.lax.bitcast_convert_type(words, _STORED[slot.sort])
    return jax.random.wrap_key_data(stored, impl=slot.key_impl) if slot.key_impl else stored.astype(slot.dtype)


Reader = Callable[[Any, tuple[Any, ...]], Any]
"""A function of the words, on the host, and the large leaves; its arrays are views of the words."""


def make_word_reader(treedef: Any, slots: Sequence[Slot]) -> Reader:
    """Return a function that reads the pytree in some slots; one call of `struct` reads all scalars."""
    scalars = {slot.start: i for i, slot in enumerate(slots) if not (slot.large or slot.shape)}
    arrays = [i for i in range(len(slots)) if i not in scalars.values()]
    codes = (_CODES[slots[scalars[w]].sort] if w in scalars else "4x" for w in range(max(scalars, default=-1) + 1))
    unpack, take = struct.Struct("<" + "".join(codes)).unpack_from, [partial(_take_array, slots[i]) for i in arrays]
    order = np.argsort([*(scalars[w] for w in sorted(scalars)), *arrays]).tolist()

    def read(words: Any, large: tuple[Any, ...]) -> Any:
        values = [*unpack(words), *[one(words, large) for one in take]]
        return treedef.unflatten([values[i] for i in order])

    return read


def _take_array(slot: Slot, words: np.ndarray, large: tuple[Any, ...]) -> np.ndarray:
    if slot.large:
        return np.array(large[slot.start])
    array = words[slot.start : slot.stop].view(_STORED[slot.sort])
    array = array if len(slot.shape) == 1 else array.reshape(slot.shape)
    return array if slot.as_stored else array.astype(slot.dtype)
