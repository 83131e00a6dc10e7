"""The stages of a crop, in the order of section 4.2."""

from __future__ import annotations

from enum import IntEnum

from jax import Array


class Stage(IntEnum):
    """Stage of the plants on a plot."""

    NONE = 0
    SEED = 1
    GROW = 2
    BLOOM = 3
    FRUIT = 4
    RIPE = 5
    DEAD = 6


STAGES = tuple(stage.name.lower() for stage in Stage)
GLOBAL_STAGES = (*STAGES, "undefined", "harvested")
UNDEFINED, HARVESTED = len(STAGES), len(STAGES) + 1


def is_alive(stage: Array) -> Array:
    """Return whether plants are alive and have sprouted, elementwise."""
    return (stage >= Stage.GROW) & (stage <= Stage.RIPE)
