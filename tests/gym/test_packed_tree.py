"""Packing is exact: what went into the buffers comes out, on the device and on the host."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.gym.packed_tree import LARGE, Layout, PackedTree, layout_of, make_word_reader, pack_together


def tree() -> dict[str, object]:
    return {
        "scalar": jnp.float32(-0.1),
        "nan": jnp.array([jnp.nan, jnp.inf, -0.0], jnp.float32),
        "grid": jnp.arange(12, dtype=jnp.int32).reshape(3, 4) - 5,
        "big": jnp.int32(2**31 - 1),
        "word": jnp.array([2**32 - 1, 2**24 + 1], jnp.uint32),
        "flags": (jnp.asarray(True), jnp.array([[False], [True]])),
        "byte": jnp.array([0, 255], jnp.uint8),
        "half": jnp.float16(0.1),
        "key": jax.random.key(2**32 - 1),
        "keys": jax.random.split(jax.random.key(3), (2, 2)),
        "large": jnp.arange(LARGE + 1, dtype=jnp.int32) % 2 == 0,
        "none": jnp.zeros((0, 3)),
    }


def bare(tree: object) -> list[np.ndarray]:
    """Return the leaves, keys as their data."""

    def data(leaf: jax.Array) -> np.ndarray:
        key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(jax.random.key_data(leaf) if key else leaf)

    return [data(leaf) for leaf in jax.tree.leaves(tree)]


def assert_same(one: object, other: object) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(bare(one), bare(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def pack(layout: Layout, tree: Any) -> PackedTree:
    """Pack a tree in compiled code."""
    return jax.jit(lambda tree: pack_together([layout], [tree]))(tree)


@pytest.fixture(scope="module")
def layout() -> Layout:
    return layout_of(jax.eval_shape(tree))


def test_a_round_trip_is_exact_compiled_and_from_the_host(layout: Layout) -> None:
    packed = pack(layout, tree())
    assert_same(jax.jit(layout.unpack)(packed), tree())
    assert_same(layout.unpack(layout.put(tree())), tree())


def test_both_ways_of_packing_fill_the_same_buffers(layout: Layout) -> None:
    compiled, host = pack(layout, tree()), layout.put(tree())
    assert_same(compiled, host)
    assert_same(jax.tree.map(jnp.zeros_like, compiled), jax.tree.map(jnp.asarray, layout.zeros()))


def test_few_buffers(layout: Layout) -> None:
    packed = layout.put(tree())
    assert packed.words.dtype == jnp.int32 and len(packed.large) == 1


def read(layout: Layout, packed: PackedTree) -> Any:
    return make_word_reader(layout.treedef, layout.slots)(np.array(packed.words), packed.large)


def test_the_host_reads_python_numbers_and_writable_arrays(layout: Layout) -> None:
    seen = read(layout, layout.put(tree()))
    assert seen["scalar"] == np.float32(-0.1) and type(seen["scalar"]) is float
    assert seen["big"] == 2**31 - 1 and type(seen["big"]) is int
    assert seen["flags"][0] is True
    arrays = {name: leaf for name, leaf in seen.items() if isinstance(leaf, np.ndarray)}
    for name in ("nan", "grid", "word", "byte", "large", "none"):
        np.testing.assert_array_equal(arrays[name], tree()[name])  # type: ignore[arg-type]
        assert arrays[name].dtype == tree()[name].dtype and arrays[name].flags.writeable  # type: ignore[attr-defined]


def test_a_large_unsigned_scalar_survives() -> None:
    layout = layout_of(jnp.uint32(2**32 - 2))
    assert read(layout, layout.put(jnp.uint32(2**32 - 2))) == 2**32 - 2


def test_equal_shapes_give_equal_layouts(layout: Layout) -> None:
    assert layout == layout_of(tree()) and hash(layout) == hash(layout_of(tree()))
    assert layout != layout_of(tree() | {"scalar": jnp.int32(0)})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scalar": jnp.int32(1)}, r"\['scalar'\]: expected float32\[\], got int32\[\]"),
        ({"grid": jnp.zeros((4, 3), jnp.int32)}, r"\['grid'\]: expected int32\[3, 4\], got int32\[4, 3\]"),
        ({"other": jnp.float32(0)}, "structure"),
    ],
)
def test_another_tree_is_refused_in_words(layout: Layout, change: dict[str, jax.Array], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        layout.put(tree() | change)


def test_an_empty_tree() -> None:
    layout = layout_of({})
    packed = pack(layout, {})
    assert isinstance(packed, PackedTree) and read(layout, packed) == {}
