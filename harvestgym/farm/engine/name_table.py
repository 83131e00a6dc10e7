"""The names on a farm and their accepted spellings; looking up a name returns its canonical spelling.

Also accepted are a different case (`plant-0`), a missing `#` or unit (`amount` for `amount#seed`), and the alternative
names of the Farm-Gym paper (`scattering` for `scatter`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harvestgym.core.errors import mismatch, require
from harvestgym.farm.entities.base import Action
from harvestgym.farm.formula_parser import is_variable, parse_formula, place
from harvestgym.farm.spelling import resolve_spelling

from .observations import ObservedItem
from .variables import EntitySlot, FieldSlots, Variable, check_index

FARMER = "farmer"
"""The entry of an allowed intervention that names the farmers who may carry it out."""

WHOLE = "*"
"""The symbol for "all", in a path or as a plot."""

EntityKey = tuple[str, str]
"""The names of a field and of an entity on it."""


def put_once(out: dict[Any, Any], name: Any, value: Any, where: str) -> None:
    """Store the value given at `where` under its canonical name; raise ConfigError if that name already has a value."""
    require(name not in out, where, "one spelling", "two", "keeping one")
    out[name] = value


def parameter_keys(action: Action) -> list[str]:
    """Return the names of all parameters of an intervention, starting with its plot."""
    return ["plot"] * action.plot + [p.key for p in action.parameters]


@dataclass(frozen=True)
class NameTable:
    """Everything on a farm that can be referred to by name.

    Attributes:
        farmers, fields, variables: as in the model.
    """

    farmers: tuple[str, ...]
    fields: tuple[FieldSlots, ...]
    variables: tuple[Variable, ...]

    @cached_property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """The shape of each field, in plots."""
        return {field.name: field.shape for field in self.fields}

    @cached_property
    def slots(self) -> dict[EntityKey, EntitySlot]:
        """The slot of each entity."""
        return {(field.name, slot.name): slot for field in self.fields for slot in field.slots}

    @cached_property
    def tree(self) -> dict[EntityKey, dict[str, Any]]:
        """The variable keys of each entity, as a tree whose leaves are of type `Variable`."""
        return {key: build_tree((v.key.split("/"), v) for v in self.variables if v.where == key) for key in self.slots}

    def farmer(self, name: Any, where: str = "") -> int:
        """Return the index of a farmer such as `BasicFarmer-0`; `farmer-0` is the first farmer of any kind."""
        plain = [f"farmer-{i}" for i in range(len(self.farmers))]
        if str(name).casefold() in plain:
            return plain.index(str(name).casefold())
        return self.farmers.index(resolve_spelling("farmer", name, self.farmers, where))

    def field(self, name: Any, where: str = "") -> str:
        """Return the canonical name of a field."""
        return resolve_spelling("field", name, self.shapes, where)

    def entity(self, field: Any, entity: Any, where: str = "") -> EntityKey:
        """Return the canonical names of a field and an entity on it."""
        name = self.field(field, where)
        inside = f"{where} > {field}" if where else name
        return name, resolve_spelling("entity", entity, [e for f, e in self.slots if f == name], inside)

    def action(self, entity: EntityKey, name: Any, where: str) -> Action:
        """Return an entity's intervention by name."""
        known = {a.name: a for a in self.slots[entity].kind.actions}
        return known[resolve_spelling("action", name, known, where)]

    def parameters(self, action: Action, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the given parameters of an intervention under their canonical names."""
        out: dict[str, Any] = {}
        for key, value in given.items():
            name = resolve_spelling("parameter", key, parameter_keys(action), where)
            put_once(out, name, value, f"{where} > {key}")
        return out

    def below(self, entity: EntityKey, words: Sequence[str], where: str) -> tuple[list[str], Any]:
        """Return the canonical spelling of a key path, and the `Variable` or tree of variables that it leads to."""
        found: Any = self.tree[entity]
        path: list[str] = []
        for word in words:
            require(isinstance(found, Mapping), f"{where} > {'/'.join(path)}", "no further key", repr(word))
            path.append(resolve_spelling("variable", word, found, " > ".join((where, *path))))
            found = found[path[-1]]
        return path, found

    def observed(self, entity: EntityKey, key: str, index: Any, where: str) -> tuple[str, list[ObservedItem]]:
        """Return the canonical key of a variable or group, and its items: all its numbers, or those at an index.

        An index belongs to a variable. It is a plot, or an integer for a variable that is a row, such as a forecast.
        """
        inside = _join(where, entity)
        keys, found = self.below(entity, key.split("/"), inside)
        inside = f"{inside} > {'/'.join(keys)}"
        if index is not None:
            require(isinstance(found, Variable), inside, "a variable before an index", "a group of variables")
            index = check_index(found, index, self.shapes[entity[0]], inside)
        return "/".join(keys), [ObservedItem(variable, index) for variable in list_leaves(found)]

    def split(self, node: Any, where: str) -> tuple[EntityKey, str, Any]:
        """Return the entity, the key and the index (None for all numbers) for a variable in a formula."""
        index = ast.literal_eval(node.slice) if isinstance(node, ast.Subscript) else None
        return (*self.locate(ast.unparse(getattr(node, "value", node)), where), index)

    def locate(self, text: str, where: str) -> tuple[EntityKey, str]:
        """Return the entity in a name such as `Field-0.Plant-0.stage` or `Plant-0.stage`, and the rest of the name."""
        first, _, rest = text.partition(".")
        if first.casefold().startswith("field-"):
            entity, _, rest = rest.partition(".")
            return self.entity(first, entity, where), rest
        entity = resolve_spelling("entity", first, dict.fromkeys(name for _, name in self.slots), where)
        homes = [field for field, name in self.slots if name == entity]
        require(len(homes) == 1, where, "a field", repr(text), f"'{homes[0]}.{text}'")
        return (homes[0], entity), rest

    def shorten(self, entity: EntityKey, key: str) -> str:
        """Return the name of a key of an entity, without the field if no other field has an entity of that name."""
        alone = [name for _, name in self.slots].count(entity[1]) == 1
        return ".".join((*entity[int(alone) :], key))

    def formula(self, text: str, where: str) -> str:
        """Return a formula with its variables in canonical spelling."""
        tree = parse_formula(text)
        for node in filter(is_variable, ast.walk(tree)):
            at = f"{where}: {place(text, node)}"
            entity, key = self.locate(node.id, at)  # type: ignore[attr-defined]
            node.id = self.shorten(entity, self.observed(entity, key, None, at)[0])  # type: ignore[attr-defined]
        return ast.unparse(tree)

    def variable(self, field: str, entity: str, key: str, where: str = "") -> Variable:
        """Return an entity's variable by its key, such as `rain/amount#mm`; raise ConfigError for a group."""
        mine = self.entity(field, entity, where)
        return self.select_one(self.observed(mine, key, None, where)[1], key, _join(where, mine)).variable

    def select_one(self, found: Sequence[ObservedItem], named: str, where: str) -> ObservedItem:
        """Return the only item found for a name; raise ConfigError for a group of variables."""
        if len(found) != 1:
            keys = ", ".join(self.shorten(item.variable.where, item.variable.key) for item in found)
            raise mismatch(where, "one variable", named, f"one of {keys}")
        return found[0]


def build_tree(leaves: Iterable[tuple[Sequence[str], Any]]) -> dict[str, Any]:
    """Build nested mappings from pairs of a path and a value."""
    out: dict[str, Any] = {}
    for (*upper, last), value in leaves:
        at = out
        for key in upper:
            at = at.setdefault(key, {})
        at[last] = value
    return out


def walk_tree(tree: Mapping[str, Any]) -> Iterator[tuple[str, str, str, Any]]:
    """Yield the keys and the value of every entry in a farm file's `field: entity: name: value` tree."""
    for field, of_field in tree.items():
        for entity, of_entity in of_field.items():
            for name, value in of_entity.items():
                yield field, entity, name, value


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to a variable or another leaf, or to each leaf in a tree."""
    if not isinstance(tree, Mapping):
        return function(tree)
    return {key: map_leaves(function, below) for key, below in tree.items()}


def list_leaves(tree: Any) -> list[Variable]:
    """Return the variable itself, or all variables in a tree."""
    return [tree] if isinstance(tree, Variable) else [leaf for below in tree.values() for leaf in list_leaves(below)]


def _join(where: str, entity: EntityKey) -> str:
    return " > ".join((where, *entity) if where else entity)
