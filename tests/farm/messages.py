"""Messages as tests say them: what a test does not name is zero, so that a new field of a message breaks no test."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from harvestgym.core.pytree import replace
from harvestgym.farm.entities.base import Place
from harvestgym.farm.entities.messages import Air, Message, Need, zero_values

M = TypeVar("M", bound=Message)

MILD = {
    "day": 150, "t_min": 12, "t_mean": 18, "t_max": 24, "humidity": 60, "wind": 7.2, "wind_x": 1, "wind_y": 0,
    "rain": 0, "rain_class": 0, "rain_intensity": 0, "sun": 3, "dry_days": 0, "frost_days": 0, "et0": 5,
    "radiation": 25, "daylength": 15, "co2": 369.41,
}  # fmt: skip


def message(kind: type[M], place: Place, **values: Any) -> M:
    """Return a message with the given values, each on every plot, host, target or nutrient that it is for."""
    blank = zero_values(kind, place.sizes)
    full = {
        name: jnp.broadcast_to(jnp.asarray(value, jnp.float32), getattr(blank, name).shape)
        for name, value in values.items()
    }
    return replace(blank, **full)  # pyright: ignore[reportReturnType]


def air(**changes: float) -> Air:
    """Return a mild dry day, or what the test changes of it."""
    return Air(**{name: jnp.float32(value) for name, value in (MILD | changes).items()})


def stacked_needs(place: Place, *needs: dict[str, Any]) -> Need:
    """Return the needs of several hosts along a host axis, as the allocator reads them."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(message(Need, place, **need) for need in needs))
