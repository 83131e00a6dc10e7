"""Objects that users write: they are in the world themselves, and their mistakes change nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.host_engine.env import host_twin
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Delay, Flower, ForagerObject, Kind, ReturnPlace, Wall
from harvestgym.forager.reward_laws import Square
from harvestgym.forager.world import Region, World
from tests.forager.worlds import EAST, NORTH, SOUTH, Berry, one_berry


class Rich(Flower):
    """A flower that counts its visits, and pays 5 by `collision`."""

    visits = 0

    def collision(self, rng: np.random.Generator, clock: int) -> float:
        self.visits += 1
        return 5.0


def small_world(**kinds: Any) -> ForagerEnv:
    """Return a world of 9 x 9 cells, with the agent at (4, 4)."""
    return ForagerEnv(ForagerConfig(9, kinds or {"flower": Flower, "wall": Wall}, aperture=3))


def describe(env: ForagerEnv) -> list[Any]:
    """Return all that a step changes."""
    things = [(id(thing), dict(vars(thing))) for thing in env.things]
    rngs = [rng.bit_generator.state for rng in (env.reward_rng, env.delay_rng)]
    return [env.clock, env.position, env.met, env.observe().tobytes(), env.cells().tobytes(), env.memory, things, rngs]


def test_an_added_object_is_in_the_world_itself() -> None:
    env, near, far = small_world(), Flower((4, 6)), Rich((4, 5))
    for thing in (near, far, Wall((5, 4))):
        env.add_object(thing)
    assert near.current_location == (4, 6)
    assert [env.step(action)[1] for action in (NORTH, NORTH, EAST)] == [5.0, 1.0, 0.0]
    assert (far.visits, near.last_collision, near.current_location) == (1, 1, (4, 6))
    env.start()
    assert (far.visits, near.last_collision) == (0, 0), "a start gives back the attributes of when it was added"
    assert env.step(EAST)[1] == 0.0 and env.things[2].last_collision == 0 and far in env.things


def test_an_object_without_a_target_knows_where_it_stands() -> None:
    env, thing = small_world(), Flower()
    env.add_object(thing)
    assert thing.current_location is None
    env.start()
    assert thing.current_location is not None and env.kind_at(*thing.current_location) == 0


def test_an_added_object_follows_its_own_methods_and_place() -> None:
    class Slow(Flower):
        def regen_delay(self, rng: np.random.Generator, clock: int) -> int:
            self.location = (7, 7)
            return 2

    env, slow = small_world(), Slow((4, 5))
    env.add_object(slow)
    assert [env.step(action)[1] for action in (NORTH, SOUTH)] == [1.0, 0.0]
    env.step(SOUTH)
    assert (env.kind_at(7, 7), env.kind_at(4, 5)) == (0, -1)


def test_an_added_object_that_is_only_data_pays_by_the_law_of_its_kind() -> None:
    class Tide(Wall):
        name = "tide"
        row = Kind("tide", blocking=True, reward=Square(2.0, 3.0, 4))

    env, tide = small_world(tide=Tide), Tide((4, 5))
    env.add_object(tide)
    assert [env.step(NORTH)[1] for _ in range(4)] == [2.0, 2.0, 3.0, 3.0] and tide.last_collision == 3


def test_an_added_object_has_the_flags_of_its_kind() -> None:
    env, stone = small_world(), Flower((4, 5))
    stone.blocking = True
    with pytest.raises(ConfigError, match="add_object: expected .*'blocking': False.* as for each 'flower'"):
        env.add_object(stone)
    assert not env.things and stone.current_location is None


@pytest.mark.parametrize("again", [lambda env: pickle.loads(pickle.dumps(env)), ForagerEnv.copy])
def test_a_copy_has_its_own_objects_of_the_same_classes(again: Any) -> None:
    env, rich = small_world(), Rich((4, 5))
    env.add_object(rich)
    for started in (False, True):
        twin = again(env)
        assert twin.step(NORTH)[1] == 5.0 and (rich.visits, twin.things[0].visits) == (0, 1)
        twin.start()
        assert twin.things[0].visits == 0 and twin.step(NORTH)[1] == 5.0, f"started: {started}"
        env.start()


def test_a_collision_is_called_in_place_of_the_reward() -> None:
    env = small_world(flower=Rich)
    env.generate_objects(1.0, "flower")
    assert env.step(NORTH)[1] == 5.0 and [thing.visits for thing in env.things] == [1]


def test_an_object_removed_before_the_start_stays_away() -> None:
    env = small_world()
    env.add_object(Flower((4, 5)))
    env.remove_object((4, 5))
    env.start()
    assert env.kind_at(4, 5) == -1 and env.memory["away"] == 1
    env.step(SOUTH)
    env.start()
    assert env.kind_at(4, 5) == 0, "a later start begins again"


MISTAKES = [None, np.array([1.0, 2.0]), 10**400, "1", float("nan"), 1j, [1.0], ZeroDivisionError("one of the user's")]


def give(answer: Any) -> Any:
    """Return an answer, or raise it if it is an error."""
    if isinstance(answer, Exception):
        raise answer
    return answer


class Wrong(Berry):
    """Draws, counts, and then gives a wrong answer in one of its methods."""

    answers: dict[str, Any] = {}
    count = 0

    def answer(self, method: str, rng: np.random.Generator, otherwise: Any) -> Any:
        self.count += int(rng.integers(1, 3))
        return give(self.answers.get(method, otherwise))

    def collision(self, rng: np.random.Generator, clock: int) -> float:
        return self.answer("collision", rng, super().collision(rng, clock))

    def reward(self, rng: np.random.Generator, clock: int) -> float:
        return self.answer("reward", rng, 1.0)

    def regen_delay(self, rng: np.random.Generator, clock: int) -> int | None:
        return self.answer("regen_delay", rng, 3)


def check_mistake(act: Callable[[], Any], name: str, env: ForagerEnv) -> None:
    """Check that an action raises an error of the object, in words, and changes nothing."""
    before = describe(env)
    with pytest.raises((ZeroDivisionError, ConfigError)) as caught:
        act()
    assert f"{name!r}" in f"{caught.value} {getattr(caught.value, '__notes__', '')}" and describe(env) == before


@pytest.mark.parametrize("method", ["reward", "regen_delay", "collision"])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: repr(m)[:9])
def test_a_mistake_names_the_object_and_changes_nothing(method: str, mistake: Any) -> None:
    answers = {method: -1 if method == "regen_delay" and mistake is None else mistake}
    env = one_berry(type("Wrong", (Wrong,), {"answers": answers}), (5, 6))
    check_mistake(lambda: env.step(NORTH), "berry", env)
    check_mistake(lambda: env.step(NORTH), "berry", env)
    if method == "regen_delay":
        check_mistake(lambda: env.remove_object((5, 6)), "berry", env)
    answers[method] = 2
    _, reward = env.step(NORTH)
    assert (reward, env.position) == (1.0 if method == "regen_delay" else 2.0, (5, 6))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: repr(m)[:9])
def test_a_mistake_of_a_law_names_the_kind_in_both_engines(mistake: Any) -> None:
    kind = Kind("fig", collectable=True, reward=lambda now: give(mistake))
    model = Forager(World(9, 9, (kind,), (Region(0, 0, 9, 9, ((0, 80),)),)), (3, 3))
    env = host_twin(model)
    env.start()
    for act in (lambda: env.step(NORTH), lambda: env.biome_values, lambda: model.reset(jax.random.key(0))):
        check_mistake(act, "fig", env)


def test_a_step_that_failed_and_is_left_out_changes_nothing_that_follows() -> None:
    """Also where the step of the mistake began with a new generation, which happens once."""

    right = [False]
    kind = Kind("fig", collectable=True, reward=lambda now: now.xp.float32(2.0) if right[0] else None)
    kind = replace(kind, place=ReturnPlace.REGION, delay=Delay(a=2, b=2))
    region = Region(0, 0, 17, 12, ((0, 100),), renew_every=5)
    env, twin = (host_twin(Forager(World(17, 12, (kind,), (region,)), (5, 7))) for _ in range(2))
    failed = 0
    for action in np.random.default_rng(0).integers(0, 4, 60).tolist():
        right[0] = False
        try:
            env.step(action)
        except ConfigError:
            right[0], failed = True, failed + 1
            env.step(action)
        right[0] = True
        twin.step(action)
        assert describe(env) == describe(twin)
    assert failed > 10


def test_a_plain_object_without_a_reward_says_so() -> None:
    env = small_world(thing=ForagerObject)
    env.generate_objects(1.0, "thing")
    with pytest.raises(NotImplementedError, match="expected a method reward"):
        env.step(NORTH)
