"""Kinds and Python objects: their derived numbers, their checks, and the delays that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.config import build_world
from harvestgym.forager.object_kinds import (
    Delay,
    DelayLaw,
    Flower,
    ForagerObject,
    Kind,
    ReturnPlace,
    Thorns,
    Wall,
    check_color,
)
from harvestgym.forager.reward_laws import Constant, Sine

from .worlds import EAST, NORTH, WEST, Berry, measure_delays

# -- kinds ---------------------------------------------------------------------------------------------------


def test_the_share_of_a_kind_is_its_part_of_the_cycle():
    assert Kind("rock").share == 1.0
    assert Kind("fog", lasts=3, rests=1).share == 0.75


@pytest.mark.parametrize(
    ("kind", "constant"),
    [
        (Kind("food", reward=Constant(2.0)), 2.0),
        (Kind("rock"), 0.0),
        (Kind("food", reward=Constant(2.0), noise=0.1), None),
        (Kind("food", reward=Constant(2.0), pays_after=1), None),
        (Kind("food", reward=Constant(2.0), python=True), None),
        (Kind("food", reward=Sine(1.0, 9)), None),
    ],
)
def test_a_reward_is_constant_only_if_it_is_always_paid_at_once(kind, constant):
    assert kind.constant == constant


@pytest.mark.parametrize("color", [(0, 0, 0), [255, 1, 2], np.array([3, 4, 5]), (1.0, 2.0, 3.0)])
def test_a_color_is_three_whole_numbers(color):
    assert check_color(color, "food") == tuple(int(v) for v in color)


@pytest.mark.parametrize("color", [(0, 0), (0, 0, 256), (0, -1, 0), (0.5, 0, 0), 7, "red"])
def test_another_color_is_refused(color):
    with pytest.raises((ConfigError, ValueError)):
        check_color(color, "food")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: Kind("food", noise=-1),
            "kind 'food': 1 mistake\n  noise: expected greater",
        ),
        (lambda: Kind("food", noise=float("nan")), "noise: expected a finite number, got nan"),
        (lambda: Kind("food", pays_after=5000), "pays_after: expected less than or equal to 4096, got 5000"),
        (lambda: Kind("food", pays_after=-1), "pays_after: expected greater than or equal to 0"),
        (lambda: Kind("food", colors=((1, 2, 300),)), "colors > 0 > 2: expected less than or equal to 255, got 300"),
        (lambda: Kind("food", rests=5), "lasts and rests of 1 or more"),
        (lambda: Kind("food", lasts=1.5, rests=2), "lasts: expected a valid integer"),
        (lambda: Delay(a=9, b=3), "delay: expected low <= high, got 9, 3"),
        (lambda: Delay(a=0, b=2**31), "b: expected less than or equal to 1073741824"),
        (lambda: Delay(DelayLaw.NORMAL, 10, 5000), "delay: expected a deviation of at most 4096 steps, got 5000"),
    ],
)
def test_a_kind_that_cannot_be_is_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()


# -- objects -------------------------------------------------------------------------------------------------


def test_the_objects_of_the_package_are_data_only():
    rows = {"wall": (True, False, 0.0), "flower": (False, True, 1.0), "thorns": (False, False, -1.0)}
    for cls in (Wall, Flower, Thorns):
        kind = build_world(ForagerConfig(9, {cls.name: cls})).kinds[0]
        assert (kind.blocking, kind.collectable, kind.constant) == rows[cls.name]
        assert not kind.python
        assert cls().reward(np.random.default_rng(0), 0) == kind.constant


def test_an_object_with_methods_is_a_kind_that_calls_python():
    kind = Berry().to_kind()
    assert kind.python and kind.collectable and not kind.blocking
    assert kind.constant is None


def test_attributes_of_an_instance_override_those_of_its_row():
    def strong_flower():
        flower = Flower()
        flower.blocking, flower.color, flower.lasts, flower.rests = True, (1, 2, 3), 4, 5
        return flower

    kind = build_world(ForagerConfig(9, {"flower": strong_flower})).kinds[0]
    assert (kind.blocking, kind.collectable, kind.colors, kind.lasts, kind.rests) == (True, True, ((1, 2, 3),), 4, 5)
    assert not kind.python


def test_a_subclass_with_another_reward_calls_python():
    class Rich(Flower):
        def reward(self, rng, clock):
            return 10.0

    assert build_world(ForagerConfig(9, {"rich": Rich})).kinds[0].python


def test_an_object_without_a_reward_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="expected a method reward"):
        ForagerObject().reward(np.random.default_rng(0), 0)


def test_the_default_delay_of_an_object_is_uniform_from_10_to_99():
    rng = np.random.default_rng(0)
    delays = [ForagerObject().regen_delay(rng, 0) for _ in range(5000)]
    assert (min(delays), max(delays)) == (10, 99)
    assert np.mean(delays) == pytest.approx((10 + 99) / 2, abs=1.5)


def test_location_is_the_target_location():
    thing = ForagerObject("rock")
    thing.location = (3, 4)
    assert (thing.target_location, thing.name) == ((3, 4), "rock")


# -- delays --------------------------------------------------------------------------------------------------


def test_uniform_delays_are_uniform_and_within_their_bounds():
    delays = measure_delays(Delay(a=5, b=12), 2000)
    counts = np.bincount(delays, minlength=13)[5:]
    assert len(counts) == 8
    assert stats.chisquare(counts).pvalue > 1e-4


def test_normal_delays_have_their_mean_and_deviation():
    delays = measure_delays(Delay(DelayLaw.NORMAL, 60, 9), 2000)
    assert delays.mean() == pytest.approx(60, abs=4 * 9 / np.sqrt(2000) + 0.5)
    assert delays.std() == pytest.approx(9, rel=0.1)


def test_a_normal_delay_is_never_negative():
    delays = measure_delays(Delay(DelayLaw.NORMAL, 2, 50), 500)
    assert delays.min() == 1, "0 and 1 are alike"
    assert 0.3 < (delays == 1).mean() < 0.7


@pytest.mark.parametrize(
    ("place", "standing"), [(ReturnPlace.SAME, [True, False, True]), (ReturnPlace.FIXED, [False, False, True])]
)
def test_an_object_returns_to_the_place_of_its_kind(place, standing):
    """Of two objects that were taken, both return to their own cells, or one to the only target and one waits."""
    food = Kind("food", True, True, delay=Delay(a=3, b=3), place=place, target=(2, 0))
    env = ForagerEnv(ForagerConfig((3, 1), {"food": food}, aperture=1))
    env.generate_objects(1.0, "food")
    env.start()
    for action in (WEST, EAST, NORTH, NORTH, NORTH, NORTH):
        env.step(action)
    assert env.position == (1, 0)
    assert [env.kind_at(x, 0) == 0 for x in range(3)] == standing
    assert env.memory["away"] == 2 - sum(standing)
