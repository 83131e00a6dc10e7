"""The configuration of `ForagerEnv` and the world that is built from it."""

from __future__ import annotations

import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig
from harvestgym.forager.config import build_world
from harvestgym.forager.object_kinds import Flower, Kind, Thorns, Wall
from harvestgym.forager.world import Region


def test_a_size_is_a_side_or_width_and_height():
    assert (build_world(ForagerConfig(7, {})).width, build_world(ForagerConfig(7, {})).height) == (7, 7)
    assert (build_world(ForagerConfig((7, 4), {})).width, build_world(ForagerConfig((7, 4), {})).height) == (7, 4)


def test_kinds_are_in_the_order_of_their_sorted_names():
    config = ForagerConfig(9, {"wall": Wall, "flower": Flower, "thorns": Thorns})
    assert build_world(config).names == ("flower", "thorns", "wall")


def test_the_name_in_the_config_is_that_of_the_kind():
    world = build_world(ForagerConfig(9, {"rose": Flower, "stone": Kind("rock", blocking=True)}))
    assert [(kind.name, kind.blocking) for kind in world.kinds] == [("rose", False), ("stone", True)]


def test_a_new_world_is_one_empty_region():
    world = build_world(ForagerConfig((7, 4), {"wall": Wall}, edge="wall", capacity=9))
    assert world.regions == (Region(0, 0, 7, 4),)
    assert (world.edge, world.capacity) == ("wall", 9)


@pytest.mark.parametrize("factory", ["Wall", None, 3])
def test_a_factory_that_cannot_be_called_is_refused(factory):
    with pytest.raises(ConfigError, match=r"object_types\['wall'\]: expected a class or function"):
        build_world(ForagerConfig(9, {"wall": factory}))
