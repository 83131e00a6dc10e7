"""Integer arithmetic shared by both engines: hashes, bounded draws and a keyed bijection of a grid.

Every value is a word below 2^32 held in an unsigned integer: uint32 under JAX, where products wrap around,
and uint64 on the host, where a mask truncates them. The same source code runs in both; no value here is a float.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Word: TypeAlias = Any
"""uint32 under JAX (any shape), uint64 on the host."""

MASK = np.uint32(0xFFFFFFFF)
LOW = np.uint32(0xFFFF)
GOLDEN = np.uint32(0x9E3779B9)
_A, _B = np.uint32(0x7FEB352D), np.uint32(0x846CA68B)
_0, _1, _8, _15, _16, _24, _31 = (np.uint32(n) for n in (0, 1, 8, 15, 16, 24, 31))
_SIX = np.uint32(6 * 65535)

ROUNDS = 4
"""Rounds of the bijection; the quality tests use this number."""

PLACE_0, PLACE_1, DELAY, RETURN, JUMP, NOISE, SERIES, SEASON, TINT = range(1, 10)
"""Streams of `draw_word`, one for each purpose, so that draws for one purpose do not affect those for others."""

STREAMS = 16
"""Distance between the streams of repeated draws for one purpose, such as candidate cells or the kinds of a series."""


def mix(x: Word) -> Word:
    """Mix 32 bits by a bijection; each input bit flips each output bit half of the time (lowbias32, Wellons 2018)."""
    x = ((x ^ (x >> _16)) * _A) & MASK
    x = ((x ^ (x >> _15)) * _B) & MASK
    return x ^ (x >> _16)


def scale_word(x: Word, n: Word) -> Word:
    """Return floor(x * n / 2^32): a word scaled to 0 ... n - 1; the bias is at most n / 2^32."""
    x_low, x_high, n_low, n_high = x & LOW, x >> _16, n & LOW, n >> _16
    middle = (x_high * n_low + ((x_low * n_low) >> _16)) & MASK
    other = (x_low * n_high + (middle & LOW)) & MASK
    return (x_high * n_high + (middle >> _16) + (other >> _16)) & MASK


def draw_word(k0: Word, k1: Word, a: Word, b: Word, c: Word) -> Word:
    """Return the word of stream `a` at position (`b`, `c`) in the world whose seed is (k0, k1)."""
    h = mix(k0 ^ mix((a * GOLDEN) & MASK))
    h = mix(((h ^ k1) + b) & MASK)
    return mix((h + ((c * GOLDEN) & MASK) + k0) & MASK)


def draw_bell(k0: Word, k1: Word, a: Word, b: Word, c: Word) -> tuple[Word, Word]:
    """Return a bell-shaped draw as (absolute value, 1 if negative), in units of 1/65536 standard deviation.

    It is the sum of twelve uniform half-words minus the mean (Irwin-Hall): its distribution function is within 0.0025
    of the normal one, its absolute value is at most six deviations, and it is the same integer in both engines.
    """
    word = draw_word(k0, k1, a, b, c)
    total = (word & LOW) + (word >> _16)
    for _ in range(5):
        word = mix((word + GOLDEN) & MASK)
        total = total + (word & LOW) + (word >> _16)
    off = (total - _SIX) & MASK
    below = off >> _31
    return (off - ((off * below) << _1)) & MASK, below


def modulo(high: Word, low: Word, period: Word) -> Word:
    """Return (high * 2^32 + low) mod period, computed exactly, byte by byte, for periods below 2^24."""
    rest = high % period
    for shift in (_24, _16, _8, _0):
        rest = ((rest << _8) + ((low >> shift) & np.uint32(0xFF))) % period
    return rest


def rotate(x: Word, by: Word, n: Word) -> Word:
    """Return (x + by) mod n for x < n, by <= n, n <= 2^30; the top bit of the difference decides whether to add n."""
    rest = (x + by - n) & MASK
    return (rest + n * (rest >> _31)) & MASK


def permute_once(p: Word, q: Word, a: Word, b: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Do one round of `permute`; return the pair and the keys for the next round."""
    p = rotate(p, scale_word(mix(q ^ k0), a), a)
    q = rotate(q, scale_word(mix(p ^ k1), b), b)
    return p, q, (k0 + GOLDEN) & MASK, (k1 + GOLDEN) & MASK


def permute(p: Word, q: Word, a: Word, b: Word, k0: Word, k1: Word) -> tuple[Word, Word]:
    """Return a keyed bijection of the grid {0 ... a-1} x {0 ... b-1}.

    Each half-round rotates one coordinate by a hash of the other, which is invertible on any shape: a Feistel
    network whose halves need not be powers of two.
    """
    for _ in range(ROUNDS):
        p, q, k0, k1 = permute_once(p, q, a, b, k0, k1)
    return p, q


def seed_words(seed: int | tuple[int, int]) -> tuple[int, int]:
    """Return the two words of a seed: an integer from 0 to 2^64 - 1, or the words themselves."""
    if isinstance(seed, tuple):
        return seed[0] & 0xFFFFFFFF, seed[1] & 0xFFFFFFFF
    if isinstance(seed, bool) or not 0 <= int(seed) < 2**64:
        raise ValueError(f"seed: expected an integer from 0 to 2^64 - 1, got {seed!r}")
    return int(seed) & 0xFFFFFFFF, int(seed) >> 32
