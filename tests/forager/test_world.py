"""The world as structure: geometry of regions, counts, checks; and the statistics of the maps that it stands for."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harvestgym.core.errors import ConfigError
from harvestgym.forager.host_engine.env import ForagerEnv, host_twin
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Flower, Kind, ReturnPlace, Wall
from harvestgym.forager.world import MOVES, NARROW, Region, World, count_objects

FOOD = Kind("food", collectable=True)


def plain(width: int = 20, height: int = 10, kinds=(FOOD,), **more) -> World:
    return World(width, height, kinds, (Region(0, 0, width, height),), **more)


# -- regions -------------------------------------------------------------------------------------------------


@given(width=st.integers(1, 300), height=st.integers(1, 300))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_grid_of_a_region_holds_all_its_cells(width, height):
    region = Region(0, 0, width, height)
    a, b = region.grid
    assert region.cells == width * height <= a * b < region.cells + a
    assert region.narrow == (min(width, height) < NARROW)
    if not region.narrow:
        assert (a, b) == (width, height)


@pytest.mark.parametrize("cells", [63, 64, 1000, 10**6, 10**8])
def test_the_grid_of_a_narrow_region_is_near_a_square(cells):
    a, b = Region(0, 0, 1, cells).grid
    assert 0.4 < a / b < 2.5


def test_thresholds_are_the_cumulated_counts_as_rank_pairs():
    region = Region(0, 0, 10, 9, layers=((2, 7), (0, 13), (1, 5)))
    a = region.grid[0]
    assert [(q * a + p, kind) for q, p, kind in region.thresholds] == [(7, 2), (20, 0), (25, 1)]


def test_the_region_of_a_cell_is_the_last_region_that_contains_a_cell():
    regions = (Region(0, 0, 9, 8), Region(1, 1, 5, 5), Region(4, 4, 3, 2))
    world = World(9, 8, (FOOD,), regions)
    x, y = np.meshgrid(np.arange(9), np.arange(8))
    expected = [[max(i for i, g in enumerate(regions) if g.contains(c, r)) for c in range(9)] for r in range(8)]
    assert world.find_region(x, y).tolist() == expected


def test_room_leaves_a_cell_where_an_agent_may_stand():
    start, far = Region(8, 3, 5, 5), Region(0, 0, 3, 3)
    world = plain()
    assert world.start == (10, 5)
    assert start.count_room(world.start) == 24
    assert far.count_room(world.start) == 9
    assert dataclasses.replace(far, renew_every=5).count_room(world.start) == 8
    assert dataclasses.replace(far, renew_eaten=5).count_room(world.start) == 8


# -- counts --------------------------------------------------------------------------------------------------


@given(freq=st.floats(0, 1), cells=st.integers(1, 10**6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_frequency_stands_for_the_floor_of_its_share(freq, cells):
    count = count_objects(freq, cells - 1, cells)
    assert 0 <= count <= cells - 1
    if freq < 1:
        assert count == min(cells - 1, math.floor(freq * cells + 1e-6))


def test_a_frequency_of_one_fills_every_free_cell():
    assert count_objects(1.0, 99, 100) == 99
    assert count_objects(1, 100, 100) == 100


def test_a_decimal_frequency_is_not_rounded_down_by_floats():
    assert count_objects(0.29, 100, 100) == 29
    assert count_objects(0.57, 100, 100) == 57


@pytest.mark.parametrize("freq", [-0.1, 1.1, float("nan"), "0.1", True, None])
def test_a_frequency_outside_0_to_1_is_refused(freq):
    with pytest.raises(ConfigError, match="freq: expected a number from 0 to 1, got"):
        count_objects(freq, 10, 10)


# -- the whole world -----------------------------------------------------------------------------------------


def test_steps_are_north_east_south_west():
    assert MOVES.tolist() == [[0, 1], [1, 0], [0, -1], [-1, 0]]


def test_a_world_knows_whether_it_changes():
    still = plain(kinds=(Kind("rock", blocking=True),))
    assert (still.moves, still.perishes, still.renews) == (False, False, False)
    assert plain(kinds=(FOOD,)).moves
    assert not plain(kinds=(dataclasses.replace(FOOD, place=ReturnPlace.SAME),)).moves
    assert plain(kinds=(Kind("fog", lasts=3, rests=1),)).perishes
    rich = dataclasses.replace(FOOD, place=ReturnPlace.REGION)
    assert World(20, 10, (rich,), (Region(0, 0, 20, 10, renew_every=9),)).renews


def test_a_world_is_hashable_and_equal_by_content():
    assert plain() == plain()
    assert hash(plain()) == hash(plain())
    assert plain() != plain(edge="wall")


def test_an_index_is_found_by_name_or_the_nearest_is_named():
    assert plain().index("food") == 0
    with pytest.raises(ConfigError, match="try 'food'"):
        plain().index("foods")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: plain(0), "width: expected greater than or equal to 1, got 0"),
        (lambda: plain(2**30 + 1), "width: expected less than or equal to 1073741824"),
        (lambda: plain(2.5), "width: expected a valid integer, got 2.5"),
        (lambda: plain(edge="walls"), "try 'wall'"),
        (lambda: plain(capacity=0), "capacity: expected greater than or equal to 1, got 0"),
        (lambda: plain(kinds=(FOOD, FOOD)), "expected distinct names, got 'food' twice"),
        (lambda: World(9, 9, (FOOD,), ()), "regions: expected the whole world first"),
        (lambda: World(9, 9, (FOOD,), (Region(0, 0, 8, 9),)), "regions: expected the whole world first"),
        (lambda: plain(teleport_to=(0, 1)), "teleport_to: expected an index below 1"),
        (lambda: World(9, 9, (FOOD,), (Region(0, 0, 9, 9), Region(5, 5, 5, 1))), "expected cells in the 9 x 9 world"),
        (lambda: World(9, 9, (FOOD,), (Region(0, 0, 9, 9), Region(5, 5, 0, 1))), "width: expected greater"),
        (lambda: World(3, 2**30, (FOOD,), (Region(0, 0, 3, 2**30),)), "expected at least 8 cells across"),
        (
            lambda: World(3, 3, (FOOD,), (Region(0, 0, 3, 3, ((0, 9),)),)),
            "expected 0 to 8 objects, got 9",
        ),
        (lambda: World(3, 3, (FOOD,), (Region(0, 0, 3, 3, ((0, -1),)),)), "layers > 0 > 1: expected greater"),
        (lambda: World(9, 9, (FOOD,), (Region(0, 0, 9, 9, renew_every=5),)), "expected a return to its own cell"),
    ],
)
def test_a_world_that_cannot_be_is_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()


# -- statistics of the maps ----------------------------------------------------------------------------------


def meadow(width: int, height: int, freq: float, seed: int = 1, aperture=(1, 1)) -> ForagerEnv:
    """Return an episode in a world with a share `freq` of flowers and one per cent of walls."""
    layers = ((0, int(freq * width * height)), (1, int(0.01 * width * height)))
    world = World(width, height, (Flower.row, Wall.row), (Region(0, 0, width, height, layers),))
    env = host_twin(Forager(world, aperture), seed)
    env.start()
    return env


@pytest.mark.parametrize(("width", "height"), [(10**6, 10**6), (2**30, 2**30), (64, 10**9), (1, 10**8)])
def test_density_and_independence_in_a_window_of_an_endless_world(width, height):
    """Chi-square of counts in blocks, and correlation of neighbours, at a 1e-4 level over 20,000 cells."""
    env = meadow(width, height, 0.1)
    w = min(width, 64)
    h = 20_000 // w
    here = np.array([[env.kind_at(x, height // 3 + y) == 0 for x in range(w)] for y in range(h)])
    assert abs(here.mean() - 0.1) < 4 * np.sqrt(0.09 / here.size)
    blocks = here[: h // 8 * 8].reshape(-1, 8 * w).sum(1)
    chi2 = ((blocks - 0.8 * w) ** 2 / (0.72 * w)).sum()
    assert 1e-4 < stats.chi2.cdf(chi2, len(blocks)) < 1 - 1e-4
    for x, y in ((here[1:], here[:-1]), (here[:, 1:], here[:, :-1])):
        if x.size > 1:
            assert abs(((x - 0.1) * (y - 0.1)).mean() / 0.09) < 4 / np.sqrt(x.size)


@pytest.mark.parametrize("size", [(9, 9), (15, 4), (9, 4), (15, 6), (1, 30)])
def test_every_cell_of_a_small_world_is_as_likely_as_any_other(size):
    """Over 1500 seeds: each cell but the start equally often, and pairs of neighbours as often as if independent."""
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


def test_maps_of_two_seeds_are_unrelated():
    maps = [meadow(100, 100, 0.3, seed).cells() == 0 for seed in (1, 2, 2**32 + 1)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs((maps[one] & maps[other]).mean() - 0.09) < 4 * 0.09 / np.sqrt(10**4) * 3
