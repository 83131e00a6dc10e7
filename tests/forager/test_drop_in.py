"""The stand-ins for the Forager package: its names, arguments and defaults."""

from __future__ import annotations

import json
import pickle
import warnings
from types import FunctionType

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager.drop_in import (
    Flower,
    ForagerConfig,
    ForagerEnv,
    ForagerObject,
    Palette,
    Thorns,
    Wall,
    warn_of_difference,
)

NORTH, EAST = 0, 1
TYPES = {"wall": Wall, "flower": Flower, "thorns": Thorns}


def test_the_readme_of_the_forager_package_runs_with_another_import():
    env = ForagerEnv(ForagerConfig(size=1_000, object_types=TYPES, observation_mode="objects", aperture=(7, 5)))
    for freq, name in ((0.1, "flower"), (0.01, "wall"), (0.2, "thorns")):
        env.generate_objects(freq=freq, name=name)
    assert env.start().shape == env.get_observation_shape() == (5, 7, 3)
    obs, reward = env.step(0)
    assert obs.shape == (5, 7, 3) and reward in (-1.0, 0.0, 1.0)


def test_objects_are_collectable_unless_they_say_otherwise():
    class Berry(ForagerObject):
        def __init__(self):
            super().__init__("berry")

        def reward(self, rng, clock):
            return 2.0

    assert Berry().collectable and not Berry().blocking
    assert Thorns().collectable and Flower((1, 2)).location == (1, 2)
    env = ForagerEnv(ForagerConfig(9, {"berry": Berry}))
    env.generate_objects(1.0, "berry")
    env.start()
    assert [env.step(action)[1] for action in (NORTH, 2)] == [2.0, 0.0]


def test_single_objects_stand_where_they_are_put():
    env = ForagerEnv(ForagerConfig(9, TYPES, aperture=9, observation_mode="objects"))
    walls = [(4, 6), (5, 6), (3, 6)]
    for place in walls:
        env.add_object(Wall(place))
    env.add_object(Flower((4, 5)))
    env.add_object(Thorns())
    for _ in range(2):
        env.start()
        assert all(env.kind_at(*place) == env.names.index("wall") for place in walls)
        assert np.bincount(env.cells().ravel() + 1).tolist() == [81 - 5, 1, 1, 3]
    assert env.step(NORTH) and env.collided == "flower"
    assert env.step(NORTH)[1] == 0.0 and env.collided == "wall" and env.position == (4, 5)
    env.step(2)
    for _ in range(100):
        env.step(2)
        env.step(NORTH)
    assert env.kind_at(4, 5) == env.names.index("flower"), "it returns to its own place"


def test_a_map_drawn_by_target_locations_has_all_its_objects():
    places = [(1, 1), (2, 1), (3, 1)]
    drawn = iter(places * 9)

    def make_wall():
        return Wall(next(drawn))

    env = ForagerEnv(ForagerConfig(10, {"wall": make_wall}))
    env.generate_objects(len(places) / 100, "wall")
    env.start()
    assert all(env.kind_at(*place) == 0 for place in places)


def test_an_object_is_removed_and_returns():
    env = ForagerEnv(ForagerConfig(9, {"flower": Flower}))
    env.generate_objects(0.5, "flower")
    env.start()
    place = next((x, y) for x in range(9) for y in range(9) if env.kind_at(x, y) == 0)
    env.remove_object(place)
    assert env.kind_at(*place) == -1 and env.memory["away"] == 1
    with pytest.raises(ConfigError, match="remove_object: expected a cell with an object"):
        env.remove_object(place)
    for _ in range(100):
        env.step(NORTH)
    assert np.count_nonzero(env.cells() == 0) + env.memory["away"] == 40


def test_a_pickled_world_with_single_objects_goes_on():
    env = ForagerEnv(ForagerConfig(9, TYPES))
    env.add_object(Wall((4, 6)))
    env.generate_objects(0.3, "thorns")
    env.start()
    env.step(NORTH)
    twin = pickle.loads(pickle.dumps(env))
    for action in (NORTH, NORTH, EAST, NORTH) * 9:
        (seen, reward), (same, paid) = env.step(action), twin.step(action)
        assert (seen == same).all() and reward == paid
    assert (twin.start() == env.start()).all() and twin.kind_at(4, 6) == env.names.index("wall")


@pytest.mark.parametrize("mode", ["objects", "colors"])
def test_a_view_larger_than_the_world_shows_it_several_times(mode):
    env = ForagerEnv(ForagerConfig((3, 2), {"flower": Flower}, aperture=(9, 7), observation_mode=mode))
    env.add_object(Flower((0, 1)))
    env.generate_objects(0.5, "flower")
    obs, shown = env.start(), set()
    assert obs.shape[:2] == env.in_view().shape == (7, 9)
    for action in np.random.default_rng(0).integers(0, 4, 300).tolist():
        obs, _ = env.step(action)
        x, y = env.position
        there = [[env.kind_at(x + across - 4, y + 3 - row) >= 0 for across in range(9)] for row in range(7)]
        assert ((obs[..., 0] if mode == "objects" else obs[..., 0] < 255) == there).all()
        shown.add(int(np.sum(there)))
    assert len(shown) > 3
    alone = ForagerEnv(ForagerConfig(1, {}))
    assert alone.step(NORTH)[0].shape == (3, 3, 0) and alone.position == (0, 0)
    with pytest.raises(ConfigError, match="aperture: expected at most 4194304 cells in view, got 3001 x 3001"):
        ForagerEnv(ForagerConfig(5, {}, aperture=3001))


def test_a_configuration_may_be_changed_until_it_is_used():
    config = ForagerConfig(9, TYPES)
    config.aperture, config.size = 5, 11
    env = ForagerEnv(config)
    assert env.get_observation_shape() == (5, 5, 3) and env.position == (5, 5), "in the middle before it starts"
    config.aperture = None
    with pytest.raises(ConfigError, match="aperture: expected"):
        ForagerEnv(config)
    config.observation_mode = "world"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ForagerEnv(config).get_observation_shape() == (11, 11, 4)


def test_a_palette_colors_what_has_no_color():
    palette = Palette(3, seed=1)
    red = palette.register("wall", (1.0, 0.0, 0.0))
    assert red.dtype == np.uint8 and red.tolist() == [255, 0, 0]
    palette.darken("wall", 0.5)
    assert palette.generate("wall").tolist() == [128, 0, 0]
    palette.brighten("wall", 1.0, ma=0.8)
    assert palette.generate("wall").tolist() == [204, 0, 0]
    env = ForagerEnv(ForagerConfig(9, TYPES, colors=palette, observation_mode="colors"))
    env.add_object(Wall((4, 5)))
    view = env.start()
    assert view.dtype == np.uint8 and view[0, 1].tolist() == [204, 0, 0]
    with pytest.raises(ConfigError, match="Palette: expected a known color, got 'wal'; try 'wall'"):
        palette.darken("wal", 0.5)


def test_a_configuration_is_read_from_a_file(tmp_path):
    path = tmp_path / "forager.json"
    path.write_text(json.dumps({"size": [9, 7], "object_types": {"wall": "wall", "thorns": "thorns"}, "aperture": 5}))
    env = ForagerEnv(config_path=str(path))
    assert env.names == ("thorns", "wall") and (env.world.width, env.world.height) == (9, 7)
    path.write_text(json.dumps({"size": 9, "object_types": {"wall": "wal"}}))
    with pytest.raises(ConfigError, match="object_types > wall: expected a known object, got 'wal'; try 'wall'"):
        ForagerEnv(config_path=path)
    path.write_text(json.dumps({"sise": 9}))
    with pytest.raises(ConfigError, match="try 'size'"):
        ForagerEnv(config_path=path)
    with pytest.raises(ConfigError, match="expected either config or config_path"):
        ForagerEnv()


def count_warnings(build: FunctionType) -> list[str]:
    """Return the warnings of two calls; the second must add none."""
    warn_of_difference.cache_clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        build(), build()
    users = __file__, build.__code__.co_firstlineno
    assert {(warning.filename, warning.lineno) for warning in found} <= {users}, "it points at the line of the user"
    return [str(warning.message).partition(";")[0] for warning in found]


def test_stand_ins_that_differ_warn_once():
    assert ForagerEnv(ForagerConfig(21, TYPES, aperture=8)).observation_space.shape == (9, 9, 3)
    (words,) = count_warnings(lambda: ForagerEnv(ForagerConfig(21, TYPES, aperture=8)))
    assert words == "forager: aperture: 8 is even and becomes 9, so that the agent is in the centre"
    (words,) = count_warnings(lambda: ForagerEnv(ForagerConfig(9, TYPES, observation_mode="world")))
    assert "'world' has the northernmost row first" in words
    assert count_warnings(lambda: ForagerEnv(ForagerConfig(9, TYPES, aperture=(3, 5)))) == []
