"""Integer arithmetic: exact against Python integers, bijective, and without visible pattern."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.forager.hashing import (
    MASK,
    ROUNDS,
    draw_bell,
    draw_word,
    mix,
    modulo,
    permute,
    permute_once,
    rotate,
    scale_word,
    seed_words,
)
from harvestgym.forager.host_engine.rewards import draw_noise

KEYS = (jnp.uint32(0x12345678), jnp.uint32(0xF2345679))
LEVEL = 1e-4
"""Probability that a statistical test fails for a perfect generator."""


def random_words(number: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, number, np.uint32)


def host(function, *words: int) -> int:
    """Return the function as the host engine computes it: words below 2^32 in 64-bit integers."""
    with np.errstate(over="ignore"):
        return int(function(*(np.uint64(w) for w in words)))


def is_uniform(words: np.ndarray, cells: int = 64) -> bool:
    """Return whether a chi-square test accepts that the top bits of words are uniform."""
    counts = np.bincount(np.asarray(words, np.uint64) * np.uint64(cells) >> np.uint64(32), minlength=cells)
    return stats.chisquare(counts).pvalue > LEVEL


# -- exactness -----------------------------------------------------------------------------------------------


def test_scale_is_the_exact_product():
    x, n = random_words(10_000), random_words(10_000, 1)
    exact = (x.astype(np.uint64) * n) >> np.uint64(32)
    assert (np.asarray(scale_word(jnp.array(x), jnp.array(n))) == exact).all()


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**31, 2**32 - 1])
def test_scale_stays_below_its_bound(n):
    words = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    scaled = np.asarray(scale_word(jnp.array(words), jnp.uint32(n)), np.int64)
    assert scaled.min() == 0
    assert scaled.max() == (2**32 - 1) * n >> 32


@pytest.mark.parametrize("clock", [0, 10**9 + 7, 2**32 - 1, 2**32, 123456789012345678, 2**64 - 1])
def test_modulo_of_a_clock_of_64_bits_is_exact(clock):
    for period in (1, 7, 1000, 2**24 - 1):
        high, low = jnp.uint32(clock >> 32), jnp.uint32(clock & 0xFFFFFFFF)
        assert int(modulo(high, low, jnp.uint32(period))) == clock % period


def test_rotate_is_addition_modulo_n():
    rng = np.random.default_rng(2)
    for n in (1, 2, 9, 1000, 2**30):
        x, by = rng.integers(0, n, 200), rng.integers(0, n + 1, 200)
        got = rotate(jnp.array(x, jnp.uint32), jnp.array(by, jnp.uint32), jnp.uint32(n))
        assert (np.asarray(got, np.int64) == (x + by) % n).all()


@pytest.mark.parametrize("name", ["mix", "draw_word", "scale_word", "rotate"])
def test_words_are_the_same_in_64_and_in_32_bits(name):
    function, arguments = {"mix": (mix, 1), "draw_word": (draw_word, 5), "scale_word": (scale_word, 2), "rotate": (
        lambda x, by: rotate(x % 1000, by % 1000, x * 0 + 1000), 2)}[name]  # fmt: skip
    words = random_words(50 * arguments, 3).reshape(arguments, 50)
    wide = [host(function, *row) for row in words.T.tolist()]
    assert np.asarray(function(*map(jnp.array, words)), np.int64).tolist() == wide


# -- bijections ----------------------------------------------------------------------------------------------


def test_mix_is_injective_on_a_sample_and_on_neighbours():
    words = np.unique(np.concatenate([random_words(100_000), np.arange(100_000, dtype=np.uint32)]))
    assert len(np.unique(np.asarray(mix(jnp.array(words))))) == len(words)


def test_mix_flips_half_of_the_bits_for_every_flipped_bit():
    words = random_words(4000)
    for bit in range(32):
        changed = np.asarray(mix(jnp.array(words)) ^ mix(jnp.array(words ^ np.uint32(1 << bit))))
        share = np.unpackbits(changed.view(np.uint8)).mean()
        assert share == pytest.approx(0.5, abs=0.02), bit


@pytest.mark.parametrize(("a", "b"), [(1, 1), (8, 9), (100, 57), (3, 700), (6, 6)])
def test_permute_is_a_bijection(a, b):
    p, q = (v.ravel() for v in np.meshgrid(np.arange(a, dtype=np.uint32), np.arange(b, dtype=np.uint32)))
    u, v = permute(p, q, jnp.uint32(a), jnp.uint32(b), *KEYS)
    assert (int(u.max()), int(v.max())) == (a - 1, b - 1)
    assert len(np.unique(np.asarray(u, np.int64) * b + np.asarray(v))) == a * b


def test_permute_is_its_rounds_one_after_another():
    p, q, a, b = jnp.uint32(5), jnp.uint32(11), jnp.uint32(9), jnp.uint32(20)
    pair = p, q, *KEYS
    for _ in range(ROUNDS):
        pair = permute_once(*pair[:2], a, b, *pair[2:])
    assert [int(v) for v in permute(p, q, a, b, *KEYS)] == [int(v) for v in pair[:2]]


def test_permute_depends_on_both_keys():
    p, q = (v.ravel() for v in np.meshgrid(np.arange(20, dtype=np.uint32), np.arange(20, dtype=np.uint32)))
    sides = jnp.uint32(20), jnp.uint32(20)
    first = permute(p, q, *sides, *KEYS)
    for keys in ((KEYS[0] + 1, KEYS[1]), (KEYS[0], KEYS[1] + 1)):
        other = permute(p, q, *sides, *keys)
        unmoved = np.mean((np.asarray(first[0]) == other[0]) & (np.asarray(first[1]) == other[1]))
        assert unmoved < 0.02


def test_permute_sends_every_cell_everywhere():
    """Over 4000 keys one cell of a 6 x 6 grid lands in each cell equally often."""
    keys = random_words(8000, 5).reshape(2, 4000)
    cell = jnp.full(4000, 2, jnp.uint32)
    u, v = permute(cell, cell, jnp.uint32(6), jnp.uint32(6), *map(jnp.array, keys))
    assert stats.chisquare(np.bincount(np.asarray(u) * 6 + np.asarray(v), minlength=36)).pvalue > LEVEL


# -- draws ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("varied", range(5), ids=["k0", "k1", "stream", "b", "c"])
def test_draws_are_uniform_along_every_argument(varied):
    arguments = [jnp.full(20_000, 7, jnp.uint32)] * 5
    arguments[varied] = jnp.arange(20_000, dtype=jnp.uint32)
    assert is_uniform(np.asarray(draw_word(*arguments)))


def test_streams_are_uncorrelated():
    index = jnp.arange(20_000, dtype=jnp.uint32)
    rows = np.stack([np.asarray(draw_word(*KEYS, jnp.uint32(stream), index, index)) for stream in range(1, 10)])
    off_diagonal = np.corrcoef(rows.astype(float))[~np.eye(9, dtype=bool)]
    assert np.abs(off_diagonal).max() < 5 / np.sqrt(20_000)


def test_the_bell_is_close_to_normal_and_the_same_in_both_engines():
    low = np.arange(20_000, dtype=np.uint32)
    size, negative = jax.jit(draw_bell)(*KEYS, jnp.uint32(6), low, jnp.uint32(0))
    z = np.where(negative, -1, 1) * np.asarray(size) / 65536
    assert stats.kstest(z, "norm").pvalue > 0.01
    assert np.abs(z).max() <= 6
    mine = [draw_noise(0x12345678, 0xF2345679, 6, int(i), 0) for i in low[:500]]
    assert mine == z[:500].tolist()


# -- seeds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**64 - 1, np.int64(5)])
def test_seed_words_hold_the_whole_seed(seed):
    low, high = seed_words(seed)
    assert low + (high << 32) == int(seed)
    assert max(low, high) <= int(MASK)


def test_seed_words_accept_words():
    assert seed_words((2**40 + 3, 9)) == (3, 9)


@pytest.mark.parametrize("seed", [-1, 2**64, True])
def test_seed_words_refuse_what_is_no_seed(seed):
    with pytest.raises(ValueError, match=r"seed: expected an integer from 0 to 2\^64 - 1"):
        seed_words(seed)
