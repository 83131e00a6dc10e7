"""The variables of a farm: its fields, its entities numbered by kind, and every variable that can be observed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax import Array

from harvestgym.core.config import check_number
from harvestgym.core.errors import mismatch, require
from harvestgym.core.pytree import Meta, iterate_metas
from harvestgym.farm.entities.base import Entity, Place
from harvestgym.farm.entities.messages import meta_shape

UNIT_LIMITS = {"L": 1e8, "g": 1e8, "kg": 1e6, "cm": 1e4, "day": 36_500}
"""The maximum of a variable without a declared maximum, by unit, for the largest allowed plot, one hectare.

The limits are ten metres of water, ten kg of a nutrient and a hundred kg of harvest per m2, a plant height of 100 m,
and a century. They bound the observation spaces, and observations are clipped to them.
"""

OTHER_LIMIT = 1e7
"""The limit for variables with any other unit, or without a unit."""


@dataclass(frozen=True)
class EntitySlot:
    """One entity on a field: its name and kind, the sizes of the axes of its variables, and the names along some axes.

    `stream` names its random draws, such as `Field-0/Weather-0`; entities with the same stream share their draws.
    """

    name: str
    kind: type[Entity]
    sizes: tuple[tuple[str, tuple[int, ...]], ...]
    names: tuple[tuple[str, tuple[str, ...]], ...]
    stream: str = ""


@dataclass(frozen=True)
class FieldSlots:
    """One field: its name, its shape in plots, and its entities."""

    name: str
    shape: tuple[int, int]
    slots: tuple[EntitySlot, ...]

    @property
    def structure(self) -> FieldSlots:
        """The field without its name and stream names; fields with equal structure share the JAX trace of a day."""
        return FieldSlots("", self.shape, tuple(dataclasses.replace(slot, stream="") for slot in self.slots))

    @property
    def hosts(self) -> tuple[EntitySlot, ...]:
        """The entities on which pests may live, sorted by name as on the host axis."""
        return tuple(sorted((s for s in self.slots if s.kind.host), key=lambda slot: slot.name))


@dataclass(frozen=True)
class Variable:
    """One variable of one entity; `key` is its public name, or a path such as `wind/speed#km.h-1`."""

    field: int
    entity: int
    where: tuple[str, str]
    key: str
    attr: str
    index: int | None
    meta: Meta
    shape: tuple[int, ...]
    derived: bool = False

    @property
    def name(self) -> str:
        """Field, entity and key."""
        return "/".join((*self.where, self.key))

    @property
    def per_plot(self) -> bool:
        """Return whether the variable has one value for each plot."""
        return self.meta.axes[-1:] == ("plot",)

    @property
    def is_initial(self) -> bool:
        """Return whether a farm file may give its initial value."""
        return not self.derived and not self.meta.settled

    def value(self, entity: Entity, state: Any) -> Array:
        """Return this variable's array in a state of its entity."""
        leaf = entity.views(state)[self.attr] if self.derived else getattr(state, self.attr)
        return leaf if self.index is None else leaf[self.index]


def number_repeats(names: Sequence[str]) -> list[str]:
    """Append to each name the number of its earlier occurrences, as in `Plant-0`, `Plant-1`, `Soil-0`."""
    return [f"{name}-{names[:i].count(name)}" for i, name in enumerate(names)]


def build_slots(name: str, entities: Sequence[Entity], place: Place, streams: Mapping[str, str]) -> FieldSlots:
    """Build the slots of a field from its entities; `streams` gives the streams of entities that share draws."""
    names = number_repeats([type(e).__name__ for e in entities])
    axes = (("host", place.hosts), ("target", place.targets))
    slots = (
        EntitySlot(n, type(e), tuple(sorted(e.sizes(place).items())), axes, streams.get(n, f"{name}/{n}"))
        for n, e in zip(names, entities, strict=True)
    )
    return FieldSlots(name, place.shape, tuple(slots))


def list_variables(fields: Sequence[FieldSlots]) -> tuple[Variable, ...]:
    """Return every variable of every entity, in the order of the farm file and of the entity's class."""
    out: list[Variable] = []
    for f, field in enumerate(fields):
        for e, slot in enumerate(field.slots):
            where, derived = (field.name, slot.name), slot.kind.derived
            for attr, meta in (*iterate_metas(slot.kind.State), *derived.items()):
                if meta.hidden:
                    continue
                meta = limit_range(meta)
                for key, i in _entries(meta, dict(slot.names)):
                    shape = meta_shape(meta, dict(slot.sizes))[int(i is not None) :]
                    out.append(Variable(f, e, where, key, attr, i, meta, shape, attr in derived))
    return tuple(out)


def limit_range(meta: Meta) -> Meta:
    """Return the metadata of a variable; if it declares no maximum, the limit of its unit is used."""
    return dataclasses.replace(meta, high=UNIT_LIMITS.get(meta.unit, OTHER_LIMIT)) if meta.is_open_above else meta


def _entries(meta: Meta, names: dict[str, tuple[str, ...]]) -> list[tuple[str, int | None]]:
    """Return the key of each variable in a state field, and its index on the leading axis."""
    if meta.stacked:
        return [(key, i) for i, key in enumerate(meta.keys)]
    if meta.axes and meta.axes[0] in names:
        return [(f"{meta.keys[0]}/{name}", i) for i, name in enumerate(names[meta.axes[0]])]
    return [(meta.keys[0], None)]


def check_index(variable: Variable, index: Any, shape: tuple[int, int], where: str) -> tuple[int, ...]:
    """Return the index of a plot in a field of `shape`, or of a number of a row, as a tuple; ConfigError otherwise."""
    if variable.per_plot:
        return check_plot(index, shape, where)
    require(len(variable.shape) == 1, where, "no index here", index)
    last = variable.shape[0] - 1
    try:
        return (int(check_number(Meta("par", ("index",), "an index", "int", low=0, high=last), index)),)
    except (TypeError, ValueError):
        raise mismatch(where, f"an index from [0] to [{last}]", repr(index)) from None


def check_plot(plot: Any, shape: tuple[int, int], where: str) -> tuple[int, int]:
    """Return `plot` as a pair inside a field of `shape`; raise ConfigError otherwise."""
    metas = [Meta("par", ("plot",), "a coordinate", "int", low=0, high=n - 1) for n in shape]
    try:
        x, y = (int(check_number(meta, i)) for meta, i in zip(metas, plot, strict=True))
    except (TypeError, ValueError):
        raise mismatch(where, f"a plot (x, y) with 0 <= x < {shape[0]} and 0 <= y < {shape[1]}", repr(plot)) from None
    return x, y
