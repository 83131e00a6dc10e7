"""The worlds that the tests of the stateful face share."""

from __future__ import annotations

import numpy as np

from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.kinds import Flower, ForagerObject, Thorns, Wall

NORTH, EAST, SOUTH, WEST = range(4)
TYPES = {"wall": Wall, "flower": Flower, "thorns": Thorns}


def seed_example(**more) -> ForagerEnv:
    config = ForagerConfig(size=1_000, object_types=TYPES, observation_mode="objects", aperture=(7, 5), **more)
    env = ForagerEnv(config)
    env.generate_objects(freq=0.1, name="flower")
    env.generate_objects(freq=0.01, name="wall")
    env.generate_objects(freq=0.2, name="thorns")
    return env


class Berry(ForagerObject):
    """Stands at one place and comes back to it."""

    blocking = False
    collectable = True
    delay: int | None = 3
    worth = 2.5

    def __init__(self, where=(5, 7)):
        super().__init__()
        self.target_location = where

    def reward(self, rng, clock):
        self.seen = (clock, self.last_collision)
        return self.worth

    def regen_delay(self, rng, clock):
        return self.delay


def one_berry(cls=Berry, where=(5, 7), size=11, aperture=5, **more) -> ForagerEnv:
    """An 11 x 11 world, the agent at (5, 5), with one object at `where`."""
    env = ForagerEnv(ForagerConfig(size, {"berry": lambda: cls(where)}, aperture=aperture, **more))
    env.generate_objects(1 / size**2, "berry")
    env.start()
    return env


def where(obs) -> list[tuple[int, int]]:
    return [(int(r), int(c)) for r, c in np.argwhere(obs[..., 0])]
