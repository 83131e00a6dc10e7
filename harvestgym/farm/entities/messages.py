"""Messages: daily values that the entities in a field publish to each other, with units and ranks.

A message of rank n may depend on messages of lower ranks only. Readers stack the messages of the hosts (plants and
weeds) along a host axis, or sum the messages of all publishers; the sum is zero if there are none.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import ClassVar, TypeVar

import jax
import jax.numpy as jnp
from jax import Array

from harvestgym.core.pytree import Meta, Pytree, iterate_metas, par, var

T = TypeVar("T")

NUTRIENTS = ("N", "P", "K", "C")
"""The order of the nutrient axis."""


def name_nutrients(key: str) -> tuple[str, ...]:
    """Return the key of each nutrient; `key` has `{}` in place of its letter."""
    return tuple(map(key.format, NUTRIENTS))


KMH = 3.6
"""Conversion factor of speeds from m/s to km/h."""

REPULSION = 20.0
"""Largest absolute effect of a host on pests, so that its exponential stays finite."""

repels = partial(par, low=-REPULSION, high=REPULSION)
"""A parameter of a host: its effect on pests."""

ALLOCATION_RANK = 2
"""Rank at which water and nutrients are allocated: after needs are known, before entities are updated."""


class Message(Pytree):
    """Base class of all messages."""

    rank: ClassVar[int] = 0

    def whole(self, sizes: dict[str, tuple[int, ...]]) -> Message:
        """Return the message with all arrays as float32, broadcast to their full shapes."""
        full = {name: meta_shape(meta, sizes) for name, meta in iterate_metas(type(self))}
        arrays = {name: jnp.asarray(getattr(self, name), jnp.float32) for name in full}
        return type(self)(**{name: jnp.broadcast_to(arrays[name], shape) for name, shape in full.items()})

    def __add__(self, other: Message) -> Message:
        return jax.tree.map(jnp.add, self, other)


def meta_shape(meta: Meta, sizes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape of the field that `meta` describes: the stacked keys first, then the named axes."""
    lead = (len(meta.keys),) if meta.stacked else ()
    return sum((sizes[axis] for axis in meta.axes), lead)


def zero_values(cls: type[T], sizes: dict[str, tuple[int, ...]]) -> T:
    """Return an instance of a pytree class with all variables zero, with their shapes and dtypes."""
    metas = iterate_metas(cls)
    return cls(**{name: jnp.zeros(meta_shape(meta, sizes), meta.array_dtype) for name, meta in metas})


_field_var = partial(var, axes=())
"""A variable with one value for the whole field."""


class Air(Message):
    """Weather of the day over the field."""

    day: Array = _field_var("day#int365", "day of the year, 1 to 365", low=1, high=365)
    t_min: Array = _field_var("t_min#°C", "minimum air temperature", low=-90, high=60)
    t_mean: Array = _field_var("t_mean#°C", "mean air temperature", low=-90, high=60)
    t_max: Array = _field_var("t_max#°C", "maximum air temperature", low=-90, high=60)
    humidity: Array = _field_var("humidity#%", "mean relative humidity", high=100)
    wind: Array = _field_var("wind#km.h-1", "mean wind speed at 2 m")
    wind_x: Array = _field_var("wind_x", "eastward component of the direction to which the wind blows", low=-1, high=1)
    wind_y: Array = _field_var("wind_y", "southward component of the direction to which the wind blows", low=-1, high=1)
    rain: Array = _field_var("rain#mm", "rain of the day")
    rain_class: Array = _field_var("rain_class", "0 none, 1 light, 2 heavy", high=2)
    rain_intensity: Array = _field_var("rain_intensity#%", "leaching strength of the rain, 0 to 1", high=1)
    sun: Array = _field_var("sun", "sun exposure class, 0 to 5", high=5)
    dry_days: Array = _field_var("dry#day", "consecutive days without rain")
    frost_days: Array = _field_var("frost#day", "consecutive days of frost")
    et0: Array = _field_var("et0#mm.day-1", "reference evapotranspiration, eq. (23)")
    daylength: Array = _field_var("daylength#h", "time from sunrise to sunset, FAO-56 eq. (34)", high=24)
    radiation: Array = _field_var("radiation#MJ.m-2.day-1", "solar radiation at the ground, FAO-56 eq. (50)")
    co2: Array = _field_var("co2#ppm", "carbon dioxide in the air")


class Ground(Message):
    """State of the soil on each plot this morning."""

    water: Array = var("water#L", "water in the soil")
    extractable: Array = var("extractable#L", "water above the wilting point")
    capacity: Array = var("capacity#L", "water that the soil can hold")
    wilting: Array = var("wilting#L", "water that plants cannot extract")
    depth: Array = var("depth#m", "depth of the soil; 0 means that every root reaches the whole soil")
    nutrients: Array = var(NUTRIENTS, "nutrients available, g")
    microlife: Array = var("microlife", "activity of the soil microlife, 0 to 1", high=1)
    toxin: Array = var("toxin#g", "cide in the soil, as its effect on each target", axes=("target", "plot"))
    factors: dict[str, Array] = dataclasses.field(default_factory=dict)
    """Additional soil properties per plot; hosts respond to each through the window with the same name."""


class Canopy(Message):
    """Plants on each plot, one message per host."""

    alive: Array = var("alive#nb", "living individuals that have sprouted")
    shade: Array = var("shade", "share of the plot that this host shades, 0 to 1", high=1)
    height: Array = var("height#cm", "height of its leaves")
    flowers: Array = var("flowers#nb", "open flowers")
    seeds: Array = var("seeds#nb", "seeds that birds can reach")
    repulsion: Array = var("repulsion", "effect on pests (negative attracts)", low=-REPULSION, high=REPULSION)


class Structures(Message):
    """Effects of structures on or around the field."""

    deterred: Array = _field_var("deterred#nb", "birds kept away")
    bird_lure: Array = _field_var("bird_lure", "attraction of birds, 0 without a hedge")
    insect_lure: Array = _field_var("insect_lure", "attraction of insects, 0 without a hedge")


class Flock(Message):
    """Birds over the field, by what they eat."""

    rank: ClassVar[int] = 1
    seed_eaters: Array = _field_var("seed_eaters#nb", "birds that eat seeds")
    pest_eaters: Array = _field_var("pest_eaters#nb", "birds that eat pests")
    pollinator_eaters: Array = _field_var("pollinator_eaters#nb", "birds that eat pollinators")


class Visits(Message):
    """Pollinators on each plot."""

    rank: ClassVar[int] = 2
    occurrence: Array = var("occurrence", "1 where a pollinator visits today", high=1)


class Load(Message):
    """Pests on each host on each plot."""

    rank: ClassVar[int] = 2
    pests: Array = var("pests#nb", "pests on the host", axes=("host", "plot"))


class Feed(Message):
    """Nutrients that fertilizers release into the soil of each plot today."""

    rank: ClassVar[int] = 1
    nutrients: Array = var(NUTRIENTS, "nutrients released, g/day")


class Litter(Message):
    """Nutrients that dead plants release into the soil of each plot today."""

    rank: ClassVar[int] = 1
    nutrients: Array = var(NUTRIENTS, "nutrients released, g/day")


class Dose(Message):
    """Cide released on each plot today, as its effect on each target."""

    rank: ClassVar[int] = 1
    toxin: Array = var("dose#g", "effective amount released, g/day", axes=("target", "plot"))


class Tilth(Message):
    """Effects of additional kinds of entity on the soil of each plot today; they add up."""

    rank: ClassVar[int] = 1
    cover: Array = var("cover", "share of the surface without evaporation, 0 to 1", high=1)
    drainage: Array = var("drainage", "share of surplus water that drains away before it harms plants, 0 to 1", high=1)


class Need(Message):
    """Water and nutrients that a host needs from the soil of each plot today."""

    rank: ClassVar[int] = 1
    water: Array = var("water#L", "water needed, L/day")
    nutrients: Array = var(NUTRIENTS, "nutrients needed, g/day")


class Strain(Message):
    """Stress on the hosts from additional kinds of entity: terms added to the exponents of their responses."""

    rank: ClassVar[int] = 1
    death: Array = var("death", "term added to the exponent of survival", axes=("host", "plot"))
    growth: Array = var("growth", "term added to the exponent of growth", axes=("host", "plot"))
    harvest: Array = var("ripe_fruit_loss", "term added to the exponent of keeping ripe fruit", axes=("host", "plot"))


class Share(Message):
    """Water and nutrients that the allocator gives to each host on each plot."""

    rank: ClassVar[int] = ALLOCATION_RANK
    water: Array = var("water#L", "water given", axes=("host", "plot"))
    nutrients: Array = var(NUTRIENTS, "nutrients given, g", axes=("host", "plot"))
