"""Worlds and measurements that several tests share."""

from __future__ import annotations

import jax
import numpy as np

from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.object_kinds import Delay, Flower, ForagerObject, Kind, ReturnPlace, Thorns, Wall

NORTH, EAST, SOUTH, WEST = range(4)
TYPES = {"wall": Wall, "flower": Flower, "thorns": Thorns}

SMALL = {
    "doc": "A small world.",
    "size": [17, 12],
    "aperture": [5, 7],
    "kinds": {"fig": {"collectable": True, "reward": {"constant": {"value": 1}}}, "wall": {"blocking": True}},
    "density": {"fig": 0.1, "wall": 0.1},
    "horizon": 40,
}
"""A catalogue file of a small world."""

VARIED = SMALL | {
    "kinds": {
        "fig": {"collectable": True, "reward": {"sine": {"amplitude": 2, "period": 50}}, "noise": 0.5, "pays_after": 3},
        "nut": {"collectable": True, "reward": {"fourier": {"terms": 3, "period": 30}}, "lasts": 7, "rests": 3},
        "wall": {"blocking": True},
    },
    "density": {"fig": 0.2, "nut": 0.2, "wall": 0.1},
    "hint": [3, 7],
}
RENEWED = VARIED | {
    "kinds": {name: kind | {"place": "region"} for name, kind in VARIED["kinds"].items()},
    "density": {"fig": 0.2, "wall": 0.1},
    "regions": {"west": {"x": 0, "y": 0, "width": 8, "height": 12, "density": {"nut": 0.4}, "renew_eaten": 3}},
}
"""Worlds whose rewards change, come late or are noisy, whose objects expire; and one that renews itself."""


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
    """Return an 11 x 11 world, the agent at (5, 5), with one object at `where`."""
    env = ForagerEnv(ForagerConfig(size, {"berry": lambda: cls(where)}, aperture=aperture, **more))
    env.generate_objects(1 / size**2, "berry")
    env.start()
    return env


def where(obs) -> list[tuple[int, int]]:
    return [(int(r), int(c)) for r, c in np.argwhere(obs[..., 0])]


def measure_delays(delay: Delay, number: int) -> np.ndarray:
    """Steps from a collision to the return, of the only object of a world, many times."""
    kinds = {"food": Kind("food", blocking=True, collectable=True, delay=delay, place=ReturnPlace.SAME)}
    env = ForagerEnv(ForagerConfig((3, 1), kinds, aperture=1, seed=5))
    env.generate_objects(1.0, "food")
    env.start()
    delays, taken = [], None
    while len(delays) < number:
        if env.kind_at(2, 0) >= 0:
            if taken is not None:
                delays.append(env.clock - 1 - taken)
            taken = env.clock
            env.step(EAST)
        else:
            env.step(NORTH)
    return np.array(delays)


def same(mine, other) -> bool:
    """Return whether two observations are equal, also if they are dicts."""
    return jax.tree.all(jax.tree.map(lambda a, b: bool((np.asarray(a) == b).all()), mine, other))
