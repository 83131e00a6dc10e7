"""Placement and draws: bijections, exact clocks, and statistics of density, independence and shape."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.forager.hashing import draw_bell, modulo, permute, scale_word
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.kinds import Flower, Wall
from harvestgym.forager.numba_engine.env import host_twin
from harvestgym.forager.reward_context import draw_noise
from harvestgym.forager.world import Region, World

WORDS = (jnp.uint32(0x12345678), jnp.uint32(0xF2345679))


def meadow(width: int, height: int, freq: float, seed: int = 1, aperture=(1, 1)):
    layers = ((0, int(freq * width * height)), (1, int(0.01 * width * height)))
    world = World(width, height, (Flower.row, Wall.row), (Region(0, 0, width, height, layers),))
    env = host_twin(Forager(world, aperture), seed)
    env.start()
    return env


@pytest.mark.parametrize(("a", "b"), [(1, 1), (8, 9), (100, 57), (3, 700)])
def test_permute_is_a_bijection(a, b):
    p, q = (v.ravel() for v in np.meshgrid(np.arange(a, dtype=np.uint32), np.arange(b, dtype=np.uint32)))
    sides = jnp.uint32(a), jnp.uint32(b)
    u, v = permute(p, q, *sides, *WORDS)
    assert len(np.unique(np.asarray(u, np.int64) * b + np.asarray(v))) == a * b


def test_scale_and_phase_are_exact():
    rng = np.random.default_rng(0)
    x, n = rng.integers(0, 2**32, (2, 10_000), np.uint32)
    assert (np.asarray(scale_word(jnp.array(x), jnp.array(n))) == (x.astype(np.uint64) * n >> np.uint64(32))).all()
    for clock in (0, 10**9 + 7, 2**32 - 1, 2**32, 123456789012345678):
        for period in (1, 7, 1000, 2**24 - 1):
            high, low = jnp.uint32(clock >> 32), jnp.uint32(clock & 0xFFFFFFFF)
            assert int(modulo(high, low, jnp.uint32(period))) == clock % period


def test_the_bell_is_close_to_normal_and_the_same_in_both_engines():
    low = np.arange(20_000, dtype=np.uint32)
    size, negative = jax.jit(draw_bell)(*WORDS, jnp.uint32(6), low, jnp.uint32(0))
    z = np.where(negative, -1, 1) * np.asarray(size) / 65536
    assert stats.kstest(z, "norm").pvalue > 0.01
    mine = [draw_noise(0x12345678, 0xF2345679, 6, int(i), 0) for i in low[:500]]
    assert mine == z[:500].tolist()


@pytest.mark.parametrize(("width", "height"), [(10**6, 10**6), (2**30, 2**30), (64, 10**9), (1, 10**8)])
def test_density_and_independence_in_a_window_of_an_endless_world(width, height):
    """Chi-square of counts in blocks, and correlation of neighbours, at a 1e-4 level over 20,000 cells."""
    env = meadow(width, height, 0.1)
    w = min(width, 64)
    h = 20_000 // w
    kinds = np.array([[env.kind_at(x, height // 3 + y) for x in range(w)] for y in range(h)])
    here = kinds == 0
    assert abs(here.mean() - 0.1) < 4 * np.sqrt(0.09 / here.size)
    blocks = here[: h // 8 * 8].reshape(-1, 8 * w).sum(1)
    chi2 = ((blocks - 0.8 * w) ** 2 / (0.72 * w)).sum()
    assert 1e-4 < stats.chi2.cdf(chi2, len(blocks)) < 1 - 1e-4
    for x, y in ((here[1:], here[:-1]), (here[:, 1:], here[:, :-1])):
        if x.size > 1:
            assert abs(((x - 0.1) * (y - 0.1)).mean() / 0.09) < 4 / np.sqrt(x.size)


@pytest.mark.parametrize("size", [(9, 9), (15, 4), (9, 4), (15, 6), (1, 30)])
def test_every_cell_of_a_small_world_is_as_likely_as_any_other(size):
    """Over 1500 seeds: each cell but the start equally often, and pairs of neighbours as often as chance says."""
    env = meadow(*size, 0.3)
    seen = np.zeros((1500, size[1], size[0]))
    for seed in range(1500):
        env.start(seed=seed)
        seen[seed] = env.cells() == 0
    start = size[1] - 1 - size[1] // 2, size[0] // 2
    free = np.delete(seen.reshape(1500, -1), start[0] * size[0] + start[1], 1)
    p = free.mean()
    z = (free.mean(0) - p) / np.sqrt(p * (1 - p) / 1500)
    assert stats.chi2.sf((z**2).sum(), z.size - 1) > 1e-3
    together = (free[:, 1:] * free[:, :-1]).mean()
    n = free.shape[1]
    k = round(p * n)
    assert abs(together - k * (k - 1) / (n * (n - 1))) < 4 * p / np.sqrt(1500 * n)


def test_the_view_equals_a_look_at_every_cell_after_each_step():
    env = meadow(10**6, 10**6, 0.2, aperture=(5, 9))
    rng = np.random.default_rng(0)
    for action in rng.integers(0, 4, 2000).tolist():
        env.step(action)
        view = env.observe()
        x, y = env.position
        for row, col in rng.integers(0, (5, 9), (3, 2)).tolist():
            kind = env.kind_at(x + col - 4, y + 2 - row)
            assert view[row, col].tolist() == [kind == 0, kind == 1]
