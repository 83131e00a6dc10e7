"""`ForagerEnv`: the example of the Forager package, and the table of rules line by line."""

from __future__ import annotations

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.object_kinds import NEVER, Flower, ForagerObject, Kind, ReturnPlace, Wall
from harvestgym.forager.reward_laws import Constant
from tests.forager.worlds import EAST, NORTH, SOUTH, TYPES, WEST, Berry, one_berry, seed_example, where


def test_the_example_of_the_forager_package_runs():
    env = seed_example()
    obs = env.start()
    assert obs.shape == (7, 5, 3)
    assert obs.dtype == np.bool_
    obs, reward = env.step(0)
    assert isinstance(reward, float)
    assert env.names == ("flower", "thorns", "wall")


def test_row_0_is_north_and_column_0_is_west_also_when_not_square():
    for at, cell in (((5, 7), (0, 3)), ((5, 3), (4, 3)), ((8, 5), (2, 6)), ((2, 5), (2, 0))):
        env = one_berry(where=at, aperture=(5, 7))
        assert where(env.start()) == [cell], at


@pytest.mark.parametrize(("action", "place"), [(NORTH, (5, 6)), (EAST, (6, 5)), (SOUTH, (5, 4)), (WEST, (4, 5))])
def test_actions_go_north_east_south_west(action, place):
    env = one_berry(where=(0, 0))
    env.step(action)
    assert env.position == place


def test_the_world_is_a_torus():
    env = one_berry(where=(0, 0))
    for _ in range(11):
        env.step(EAST)
    assert env.position == (5, 5)


def test_a_wall_at_the_edge_stops_the_agent_and_is_seen():
    env = one_berry(where=(0, 0), edge="wall")
    for _ in range(9):
        obs, reward = env.step(NORTH)
    assert env.position == (5, 10)
    assert reward == 0
    assert obs[:2, :, 1].all() and not obs[2:, :, 1].any()


def test_blocking_pays_on_every_bump_and_keeps_the_agent():
    class Stone(Berry):
        blocking, collectable = True, False

    env = one_berry(Stone, (5, 6))
    for _ in range(3):
        _, reward = env.step(NORTH)
        assert (reward, env.position) == (2.5, (5, 5))


def test_permanent_object_pays_on_every_entry():
    class Mat(Berry):
        collectable = False

    env = one_berry(Mat, (5, 6))
    assert [env.step(a)[1] for a in (NORTH, SOUTH, NORTH)] == [2.5, 0, 2.5]


@pytest.mark.parametrize("delay", [2, 3, 7])
def test_object_returns_after_its_delay(delay):
    class Late(Berry):
        def regen_delay(self, rng, clock):
            return delay

    env = one_berry(Late, (5, 6))
    obs, reward = env.step(NORTH)
    assert (where(obs), reward) == ([], 2.5)
    path = [SOUTH, *(EAST, WEST) * delay][: delay - 1]
    for action in path:
        obs, reward = env.step(action)
        assert (where(obs), reward) == ([], 0)
    obs, _ = env.step(SOUTH)
    assert len(where(obs)) == 1


def test_a_place_that_is_taken_by_the_agent_waits_until_it_has_left():
    for delay in (0, 1):
        env = one_berry(type("Soon", (Berry,), {"delay": delay}), (5, 6))
        env.step(NORTH)
        obs, _ = env.step(SOUTH)
        assert where(obs) == []
        obs, reward = env.step(NORTH)
        assert reward == 2.5


def test_a_target_that_is_taken_by_an_object_waits_and_destroys_nothing():
    class Rock(Berry):
        blocking, collectable = True, False

    env = ForagerEnv(ForagerConfig(11, {"berry": lambda: Berry((5, 7)), "rock": lambda: Rock((5, 7))}, aperture=5))
    env.generate_objects(1 / 121, "rock")
    env.generate_objects(1 / 121, "berry")
    env.start()
    for _ in range(20):
        env.step(EAST)
    assert (env.cells() >= 0).sum() == 1
    assert env.memory["away"] == 1


def test_what_expires_stands_and_is_gone_by_turns():
    env = one_berry(type("Truffle", (Berry,), {"collectable": False, "lasts": 3, "rests": 4}), (5, 7))
    stood = [len(where(env.step(action)[0])) for action in (EAST, WEST) * 14]
    assert stood[:7] * 4 == stood
    turns = [a != b for a, b in zip(stood[:7], stood[1:8], strict=True)]
    assert (sum(stood[:7]), sum(turns)) == (3, 2)


def test_none_is_gone_for_ever():
    env = one_berry(type("Once", (Berry,), {"delay": None}), (5, 6))
    env.step(NORTH)
    for _ in range(300):
        env.step(EAST)
    assert (env.cells() == -1).all()


def test_blocking_and_collectable_together_work():
    env = one_berry(type("Nut", (Berry,), {"blocking": True, "delay": 2}), (5, 6))
    obs, reward = env.step(NORTH)
    assert (reward, env.position, where(obs)) == (2.5, (5, 5), [])
    assert env.step(NORTH)[1] == 0
    assert env.position == (5, 6)


def test_last_collision_is_the_clock_of_the_collision_before():
    env = one_berry(type("Mat", (Berry,), {"collectable": False}), (5, 6))
    seen = []
    for action in (SOUTH, NORTH, NORTH, SOUTH, NORTH):
        env.step(action)
        seen.append(getattr(next(iter(env.things), None), "seen", None))
    assert seen == [None, None, (2, 0), (2, 0), (4, 2)]


def test_location_may_be_set_when_it_is_taken():
    class Wanderer(Berry):
        delay = 1

        def regen_delay(self, rng, clock):
            self.location = (self.location[0] + 1, self.location[1])
            return 1

    env = one_berry(Wanderer, (5, 6))
    env.step(NORTH)
    for _ in range(3):
        assert env.step(EAST)[1] == 2.5


@pytest.mark.parametrize("freq", [0, 0.001, 0.1, 0.25, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("size", [(7, 9), (40, 31), (1, 300)])
def test_counts_are_exact_and_the_start_is_free(freq, size):
    for seed in range(3):
        env = ForagerEnv(ForagerConfig(size, TYPES, aperture=1, seed=seed))
        env.generate_objects(freq, "wall")
        env.start()
        cells = env.cells()
        free = size[0] * size[1] - 1
        assert (cells >= 0).sum() == (free if freq == 1 else min(free, int(freq * (free + 1) + 1e-6)))
        x, y = env.position
        assert cells[size[1] - 1 - y, x] == -1


def test_layers_exclude_each_other():
    env = ForagerEnv(ForagerConfig(100, TYPES))
    env.generate_objects(0.6, "flower")
    env.generate_objects(0.3, "wall")
    env.start()
    assert np.bincount(env.cells().ravel() + 1).tolist() == [1000, 6000, 0, 3000]
    with pytest.raises(ConfigError, match="expected 0 to 9999 objects, got 11000"):
        env.generate_objects(0.2, "thorns")
    assert (env.cells() >= 0).sum() == 9000


def test_objects_generated_in_mid_episode_wait_where_their_cell_is_taken():
    env = ForagerEnv(ForagerConfig(12, {"flower": Flower, "wall": Wall}, aperture=5, seed=4))
    env.generate_objects(0.5, "flower")
    env.start()
    for action in np.random.default_rng(0).integers(0, 4, 500).tolist():
        env.step(action)
    env.generate_objects(0.49, "wall")
    assert (env.cells() == 1).sum() + env.memory["away"] >= 70
    for action in np.random.default_rng(1).integers(0, 4, 50).tolist():
        obs, _ = env.step(action)
        assert obs.sum(-1).max() <= 1


def test_start_restarts_and_a_seed_reseeds():
    env, actions = seed_example(), np.random.default_rng(0).integers(0, 4, 200).tolist()
    episodes = []
    for seed in (None, None, 5, None, 0):
        first = env.start(seed=seed)
        episodes.append([first.tobytes(), *(env.step(a)[0].tobytes() for a in actions)])
    assert episodes[0] == episodes[1] == episodes[4]
    assert episodes[2] == episodes[3] != episodes[0]


def test_noise_in_rewards_never_moves_the_map():
    class Plain(ForagerObject):
        collectable = True

        def reward(self, rng, clock):
            return 1.0

    class Noisy(Plain):
        def reward(self, rng, clock):
            return rng.normal(0, 1, 7).sum()

    def walk(cls):
        env = ForagerEnv(ForagerConfig(20, {"food": cls}, aperture=7))
        env.generate_objects(0.3, "food")
        env.start()
        return [env.step(a)[0].tobytes() for a in np.random.default_rng(0).integers(0, 4, 1000).tolist()]

    assert walk(Plain) == walk(Noisy)


def test_colors_have_a_palette_and_single_objects_may_differ():
    class Blush(Berry):
        collectable = False
        color = (10, 20, 30)

        def reward(self, rng, clock):
            self.color = (200, 0, 0)
            return 0.0

    env = one_berry(Blush, (5, 6), observation_mode="colors")
    obs = env.start()
    assert obs.dtype == np.uint8
    assert obs[1, 2].tolist() == [10, 20, 30]
    assert obs[0, 0].tolist() == [255, 255, 255]
    assert env.step(NORTH)[0][2, 2].tolist() == [200, 0, 0]
    assert env.step(SOUTH)[0][1, 2].tolist() == [200, 0, 0]


def test_world_mode_shows_all_and_the_agent():
    env = one_berry(where=(5, 7), observation_mode="world", size=11)
    obs = env.start()
    assert obs.shape == (11, 11, 2)
    assert (obs[10 - 7, 5, 0], obs[10 - 5, 5, 1], obs.sum()) == (True, True, 2)


def test_a_reward_may_be_paid_later():
    kinds = {"food": Kind("food", collectable=True, reward=Constant(1.0), pays_after=3, place=ReturnPlace.SAME)}
    env = ForagerEnv(ForagerConfig(9, kinds, aperture=3))
    env.generate_objects(1.0, "food")
    env.start()
    assert [env.step(a)[1] for a in (0, 0, 2, 2, 0, 0)] == [0, 0, 0, 1, 1, 0]


# -- the bound on changed objects ----------------------------------------------------------------------------


class Coin(ForagerObject):
    """A Python object that pays 2 and never comes back."""

    collectable = True

    def reward(self, rng, clock):
        return 2.0

    def regen_delay(self, rng, clock):
        return None


@pytest.mark.parametrize("factory", [Kind("coin", collectable=True, reward=Constant(2.0), delay=NEVER), Coin])
def test_an_object_that_cannot_be_taken_pays_nothing(factory):
    env = ForagerEnv(ForagerConfig(20, {"coin": factory}, capacity=5))
    env.generate_objects(1.0, "coin")
    env.start()
    rewards = [env.step(action)[1] for action in [0] * 19 + [1] + [0] * 19]
    assert sum(rewards) == 5 * 2.0
    assert env.memory["changed"] == 5
    assert env.memory["refused"] > 0


def test_memory_grows_to_a_stated_number_with_a_warning_before():
    most = 4096
    env = ForagerEnv(ForagerConfig(200, {"coin": Coin}, capacity=most))
    env.generate_objects(1.0, "coin")
    env.start()
    stated = env.memory["most_bytes"]
    route = ([0] * 199 + [1]) * 40
    with pytest.warns(UserWarning, match=f"once {most} have changed, the others cannot be collected"):
        for action in route:
            env.step(action)
    assert env.memory["changed"] == most
    assert env.memory["bytes"] == env.memory["most_bytes"] == stated
    assert len(env.things) <= most
