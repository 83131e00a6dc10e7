"""Pests on the move: steps that lose nobody and follow the wind, and loads that sum to the plot."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.farm.entities.pests import equations
from harvestgym.farm.entities.pests.equations import PESTS_MAX
from tests.long_form import long

from .test_pests import UNLIKELY, fits, uniforms


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether two tables of counts can be of one distribution, by chi-squared."""
    result: Any = stats.chi2_contingency([one.ravel(), other.ravel()])
    return result.pvalue > UNLIKELY


WINDS = [(0.0, 1, 0), (60.0, 1, 0), (60.0, -1, 0), (60.0, 0, 1), (60.0, 0, -1), (25.0, 0.7, -0.7), (400.0, -0.7, 0.7)]


@jax.jit
def _step(population: jax.Array, wind: jax.Array, key: jax.Array) -> jax.Array:
    pull, turn = (
        jax.random.uniform(k, (*population.shape, n)) for k, n in zip(jax.random.split(key), (5, 4), strict=True)
    )
    return jax.vmap(lambda n, p, u: equations.walk(n, equations.step_weights(p, *wind), u))(population, pull, turn)


def step(population: Any, wind: tuple[float, float, float], seed: int) -> jax.Array:
    """Return a step of the pests of each plot, (environment, length, width)."""
    return _step(jnp.asarray(population, jnp.int32), jnp.asarray(wind, jnp.float32), jax.random.key(seed))


@pytest.mark.parametrize("shape", [(3, 4), (1, 5)])
def test_nobody_is_lost_on_the_way(shape: tuple[int, int]) -> None:
    """Also on crowded fields: no plot gets more than it has room for."""
    rng = np.random.default_rng(5)
    start = rng.integers(0, 1 + np.where(np.arange(200) < 100, 6, PESTS_MAX)[:, None, None], (200, *shape))
    for seed, wind in enumerate(WINDS):
        after = np.asarray(step(start, wind, seed))
        np.testing.assert_array_equal(after.sum((1, 2)), start.sum((1, 2)))
        assert after.min() >= 0 and after.max() <= PESTS_MAX
        assert (after != start).any()


def test_a_full_plot_takes_nobody_in() -> None:
    start = np.full((200, 3, 4), PESTS_MAX)
    np.testing.assert_array_equal(step(start, (60.0, 1, 0), 3), start)


def test_a_step_goes_to_a_neighbour_at_most() -> None:
    start = np.zeros((200, 3, 4), int)
    start[:, 1, 2] = 80
    x, y = np.indices((3, 4))
    reached = np.asarray(step(start, (10.0, 0.7, 0.7), 7)).sum(0) > 0
    np.testing.assert_array_equal(reached, np.abs(x - 1) + np.abs(y - 2) <= 1)


def chances(push: tuple[float, ...]) -> np.ndarray:
    """Return the chance of each way (north, south, east, west, stay), by simulation in numpy; -1: it is closed."""
    weights = (np.random.default_rng(0).random((500_000, 5)) + np.maximum(push, 0)) * (np.asarray(push) >= 0)
    return (weights / weights.sum(1, keepdims=True)).mean(0)


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (3, 1)])
def test_only_steps_within_the_field_have_weight(shape: tuple[int, int]) -> None:
    """North, south, east, west, stay: a way is open where the plot next to it exists."""
    weights = equations.step_weights(jnp.ones((*shape, 5)), *map(jnp.float32, (0, 1, 0)))
    for x, y in np.ndindex(shape):
        next_to = [(x, y - 1), (x, y + 1), (x + 1, y), (x - 1, y), (x, y)]
        inside = [0 <= i < shape[0] and 0 <= j < shape[1] for i, j in next_to]
        assert (weights[x, y] > 0).tolist() == inside


def test_a_wind_of_ten_weighs_as_much_as_the_largest_draw() -> None:
    """Of 20 km/h to the north-east, by its components; it pushes nobody to the south or west, or to stay."""
    weights = equations.step_weights(jnp.full((3, 3, 5), 0.5), *map(jnp.float32, (20, 0.6, -0.8)))
    np.testing.assert_allclose(weights[1, 1], [0.5 + 1.6, 0.5, 0.5 + 1.2, 0.5, 0.5], rtol=1e-6)


CENTRE = ((1, 0), (1, 2), (2, 1), (0, 1), (1, 1))
"""Around plot (1, 1): where one gets by each way; north is y - 1."""


@pytest.mark.parametrize(
    ("wind", "push"),
    [
        ((0.0, 1, 0), (0, 0, 0, 0, 0)),
        ((20.0, 1, 0), (0, 0, 2, 0, 0)),
        ((20.0, 0, -1), (2, 0, 0, 0, 0)),
        ((10.0, -0.6, 0.8), (0, 0.8, 0, 0.6, 0)),
    ],
)
def test_pests_follow_the_wind_and_still_air_is_symmetric(wind: tuple[float, float, float], push: Any) -> None:
    """One pest per environment, so that its 20000 steps are independent: shares differ visibly from 0.02 on."""
    start = np.zeros((20_000, 3, 4), int)
    start[:, 1, 1] = 1
    ended = np.asarray(step(start, wind, 11)).sum(0)
    counts = [ended[at] for at in CENTRE]
    assert fits(counts, chances(push))
    if wind[0]:
        assert not fits(counts, np.ones(5))


def test_a_corner_shares_among_the_ways_that_are_left() -> None:
    start = np.zeros((20_000, 3, 4), int)
    start[:, 2, 3] = 1
    ended = np.asarray(step(start, (15.0, 1, 0), 13)).sum(0)
    assert fits([ended[2, 2], 0, 0, ended[1, 3], ended[2, 3]], chances((0, -1, -1, 0, 0)))


@long
def test_a_mirrored_field_with_a_mirrored_wind_is_the_same() -> None:
    """Four days of 20000 pests that begin in a corner; a wind the wrong way round would end elsewhere by far."""
    start = np.zeros((20_000, 3, 4), int)
    start[:, 0, 1] = 1

    def ended(flip: int | None, wind: tuple[float, float, float]) -> np.ndarray:
        now: Any = start if flip is None else np.flip(start, flip)
        for day in range(4):
            now = step(now, wind, 17 + 2 * day + (flip or 0))
        total = np.asarray(now).sum(0)
        return total if flip is None else np.flip(total, flip - 1)

    plain, eastwest, northsouth = ended(None, (8, 0.6, 0.8)), ended(1, (8, -0.6, 0.8)), ended(2, (8, 0.6, -0.8))
    for mirrored in (eastwest, northsouth):
        assert alike(plain, mirrored)
    assert not alike(plain, ended(1, (8, 0.6, 0.8)))


def test_every_pest_sits_on_one_of_the_living_hosts() -> None:
    """Shares are those of number times exp(-repulsion); by number alone they would be off by 0.1."""
    alive, repulsion = np.asarray([16.0, 0.0, 5.0]), np.asarray([0.1, -2.0, -0.5])
    plots = (100, 200)
    stand = [jnp.asarray(np.broadcast_to(v[:, None, None], (3, *plots)), jnp.float32) for v in (alive, repulsion)]
    population = jnp.asarray(np.random.default_rng(2).integers(0, 3, plots), jnp.int32)
    on_host = np.asarray(equations.spread_over_hosts(population, stand[0], stand[1], uniforms(3, *plots, 3)))
    np.testing.assert_array_equal(on_host.sum(0), population)
    assert fits(on_host.sum((1, 2)), alive * np.exp(-repulsion))
    assert not fits(on_host.sum((1, 2)), alive)


def test_nobody_sits_where_nothing_lives() -> None:
    alive = jnp.asarray([[[0.0, 3.0]], [[0.0, 0.0]]])
    on_host = equations.spread_over_hosts(
        jnp.asarray([[40, 40]]), alive, jnp.zeros_like(alive), jnp.full((1, 2, 2), 0.4)
    )
    np.testing.assert_array_equal(on_host, [[[0, 40]], [[0, 0]]])
