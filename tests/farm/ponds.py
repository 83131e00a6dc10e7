"""A small farm of a spring and reeds in the classes of the paper, and its actions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from harvestgym.farm import BasicRule, BasicScore, Farm, Field

from . import kinds

SPRING = kinds.Spring(flow=np.float32(1.0))  # pyright: ignore[reportArgumentType]
REED = kinds.Reed(thirst=np.float32(2.0))  # pyright: ignore[reportArgumentType]
WATER, STAGE = ("Field-0", "Spring-0", "available_Water#L"), ("Field-0", "Reed-0", "stage")
COSTS = {"observation_cost": 0.25, "intervention_cost": 0.5}


def pond() -> Field:
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30}
    return Field(localization=place, shape={"length#nb": 2, "width#nb": 3}, entities=[SPRING, REED])


def farm(mode: str = "ao", farmers: Any = (), **rules: Any) -> Farm:
    rules = {"free_observations": [(*WATER, [])], "max_action_schedule_size": 3, "horizon": 9} | rules
    return Farm([pond()], farmers, BasicScore(**COSTS), BasicRule(**rules), mode)


def pour(x: int, y: int, litres: float = 2.0, farmer: str = "BasicFarmer-0") -> tuple[Any, ...]:
    return (farmer, "Field-0", "Spring-0", "pour", {"plot": (x, y), "amount#L": litres})


def look(ref: tuple[Any, ...], *path: Any, farmer: str = "BasicFarmer-0") -> tuple[Any, ...]:
    return (farmer, *ref, list(path))


CUT = ("BasicFarmer-0", "Field-0", "Reed-0", "cut", {})


def assert_same(a: Any, b: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, a, b)
