"""The hash generator: uniform, without correlation between years, environments or neighbours; the same dynamics."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy import stats

from examples import hash_keys as keys
from harvestgym.core.rollout import evaluate
from harvestgym.fishing import control
from harvestgym.fishing.family import make
from tests.long_form import long


def _uniforms() -> np.ndarray:
    """Draw a table by environment and year, as a rollout does: a key per environment, folded by the year."""
    environments = jax.random.split(keys.key(7), 500)
    draw = jax.vmap(lambda key: jax.vmap(lambda t: jax.random.uniform(jax.random.fold_in(key, t)))(np.arange(400)))
    return np.asarray(draw(environments))


def test_uniform_and_uncorrelated() -> None:
    """Kolmogorov-Smirnov on 200 000 draws; correlations along years and across environments within five errors of 0."""
    u = _uniforms()
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    for one, other in ((u[:, 1:], u[:, :-1]), (u[1:], u[:-1]), (u[5:, 3:], u[:-5, :-3])):
        r = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert abs(r) < 5 / np.sqrt(one.size)


def test_pairs_fill_the_square() -> None:
    """Chi-square of successive pairs over 32 x 32 cells."""
    u = _uniforms()
    counts = np.histogram2d(u[:, ::2].ravel(), u[:, 1::2].ravel(), bins=32, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(counts.ravel()).pvalue > 1e-3


def test_every_bit_is_fair() -> None:
    """Each of the 32 bits is set half of the time, in successive words and over successive seeds."""
    words = jax.random.bits(keys.key(0), (50_000,))
    seeds = np.asarray([jax.random.key_data(keys.key(s)) for s in range(300)])
    for sample in (np.asarray(words), seeds.ravel()):
        share = ((sample[:, None] >> np.arange(32, dtype=np.uint32)) & 1).mean(0)
        assert np.abs(share - 0.5).max() < 5 * 0.5 / np.sqrt(len(sample))
    with jax.enable_x64(True), pytest.raises(ValueError, match="expected a width of 8, 16 or 32, got 64"):
        jax.random.bits(keys.key(0), (), "uint64")


def test_avalanche() -> None:
    """Flipping any bit of a key, or of a counter, flips each bit of the word half of the time, over 4000 keys."""
    n = 4000
    data = jax.random.bits(jax.random.key(5), (n, 2), "uint32")
    count = jax.random.bits(jax.random.key(6), (n,), "uint32")
    flips = np.uint32(1) << np.arange(32, dtype=np.uint32)
    word = jax.jit(jax.vmap(lambda k, c: keys.hash_word(k, c, 0)))
    plain = word(data, count)
    for changed in ("first", "second", "counter"):
        for flip in flips:
            key = (
                data
                if changed == "counter"
                else data.at[:, int(changed == "second")].set(data[:, int(changed == "second")] ^ flip)
            )
            moved = np.asarray(plain ^ word(key, count ^ flip if changed == "counter" else count))
            share = ((moved[:, None] >> np.arange(32, dtype=np.uint32)) & 1).mean(0)
            # Six standard errors, as 3072 shares are looked at.
            assert np.abs(share - 0.5).max() < 6 * 0.5 / np.sqrt(n), (changed, flip)


@long
def test_same_fishery() -> None:
    """Mean and spread of returns are those of JAX's own generator, to five standard errors."""
    env = make("logistic-v0")
    rule, n = control.escapement(env, 0.5), 4000
    mine, theirs = (np.asarray(evaluate(env, rule, key, n, 100).returns) for key in (keys.key(1), jax.random.key(1)))
    assert abs(mine.mean() - theirs.mean()) < 5 * np.sqrt(2 / n) * theirs.std()
    assert mine.std() == pytest.approx(theirs.std(), rel=5 / np.sqrt(n))
