"""Accessors of a host episode agree with each other, and reading changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.family import build_forager
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.object_kinds import Flower, Kind
from harvestgym.forager.reward_laws import Constant
from tests.forager.worlds import EAST, NORTH, RENEWED, SMALL, TYPES, WEST, seed_example


def walked(data=SMALL, steps: int = 100, **change) -> ForagerEnv:
    env = host_twin(build_forager(data | change), 4)
    env.start()
    for action in np.random.default_rng(2).integers(0, 4, steps).tolist():
        env.step(action)
    return env


@pytest.mark.parametrize("edge", ["torus", "wall"])
def test_the_view_cells_and_single_look_ups_agree(edge):
    env = walked(edge=edge)
    view, cells, (x, y) = env.in_view(), env.cells(), env.position
    for (row, across), kind in np.ndenumerate(view):
        cell = x + across - view.shape[1] // 2, y + view.shape[0] // 2 - row
        assert kind == env.kind_at(*cell)
        inside = 0 <= cell[0] < 17 and 0 <= cell[1] < 12
        if inside or edge == "torus":
            assert kind == cells[11 - cell[1] % 12, cell[0] % 17]
        else:
            assert kind == len(env.names)


def test_the_view_equals_a_look_up_of_every_cell_after_each_step():
    env, rng = seed_example(), np.random.default_rng(0)
    env.start()
    for action in rng.integers(0, 4, 2000).tolist():
        env.step(action)
        seen, (x, y) = env.observe(), env.position
        for row, across in rng.integers(0, (7, 5), (3, 2)).tolist():
            kind = env.kind_at(x + across - 2, y + 3 - row)
            assert seen[row, across].tolist() == [kind == i for i in range(3)]


@pytest.mark.parametrize("mode", ["objects", "colors", "world", "compass", "scalar"])
def test_observe_repeats_the_observation_of_the_last_step(mode):
    env = walked(observation_mode=mode)
    obs, _ = env.step(NORTH)
    assert (env.observe() == obs).all()
    assert (env.observe() == obs).all()


def test_reading_changes_nothing():
    env, twin = walked(RENEWED), walked(RENEWED)
    for action in (EAST, WEST, NORTH) * 20:
        _ = env.cells(), env.in_view(), env.biome_values, env.memory, env.observe(), env.things
        (seen, reward), (other, same) = env.step(action), twin.step(action)
        assert reward == same
        assert all((seen[part] == other[part]).all() for part in seen)


def test_the_last_collision_has_an_index_and_a_name():
    env = walked(steps=0)
    assert (env.met, env.collided) == (-1, None)
    while env.met < 0:
        env.step(EAST)
    assert env.collided == env.names[env.met]


def test_the_memory_of_an_episode_is_bounded_and_reported():
    env = walked(steps=400)
    memory = env.memory
    assert memory["bytes"] == sum(array.nbytes for array in env.arrays)
    assert memory["away"] <= memory["changed"] <= memory["capacity"]
    assert memory["collected"] > 0 == memory["refused"]


def test_biome_values_are_expected_rewards_per_cell():
    env = host_twin(build_forager(SMALL))
    env.start()
    assert env.biome_values == [pytest.approx(int(0.1 * 17 * 12) / (17 * 12))]


def test_cells_of_a_large_world_are_refused():
    env = ForagerEnv(ForagerConfig(10**5, {"flower": Flower}))
    with pytest.raises(ConfigError, match="try an aperture"):
        env.cells()


@pytest.mark.parametrize("seed", [0, 2**32, 2**64 - 1])
def test_a_seed_is_that_of_the_config_or_of_the_start(seed):
    def first(**start):
        env = ForagerEnv(ForagerConfig(50, TYPES, aperture=9, seed=start.pop("config", 0)))
        env.generate_objects(0.3, "flower")
        return env.start(**start).tobytes()

    assert first(config=seed) == first(seed=seed)
    assert first(seed=seed) != first(seed=(seed + 1) % 2**64)


def test_cells_are_those_of_the_last_observation() -> None:
    """Objects that expire are in the view of the step in which they stood last, and in the cells then."""
    kind = Kind("berry", collectable=True, reward=Constant(1.0), lasts=3, rests=2)
    env = ForagerEnv(ForagerConfig(9, {"berry": kind}, aperture=9))
    env.generate_objects(0.4, "berry")
    seen, rng, counts = env.start(), np.random.default_rng(0), set()
    for _ in range(60):
        np.testing.assert_array_equal(env.in_view() == 0, seen[..., 0])
        assert np.count_nonzero(env.cells() == 0) == np.count_nonzero(seen)
        counts.add(int(seen.sum()))
        seen, _ = env.step(int(rng.integers(4)))
    assert len(counts) > 3
