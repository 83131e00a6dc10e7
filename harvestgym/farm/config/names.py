"""How people spell the names of a farm, and the one spelling of each that everything else uses.

Accepted beside it: another case (`plant-0`), a missing `#` or a missing unit (`amount` for `amount#seed`), and the
second name that the paper has for some things (`scattering` for `scatter`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from harvestgym.core.errors import ConfigError, unknown
from harvestgym.farm.engine.variables import FieldSlots, Variable, check_plot, find_entity, find_field, find_name
from harvestgym.farm.entities.base import Action
from harvestgym.farm.schema import parse_plot

SYNONYMS = {
    "scattering": "scatter",
    "scattering_bag": "scatter_bag",
    "scatter_continuous": "scatter",
    "water_discrete": "watering_discrete",
    "water_continuous": "watering_continuous",
    "removing": "remove",
    "sowing": "sow",
    "harvesting": "harvest",
    "micro-harvest": "micro_harvest",
}
"""Second names of actions."""

WHOLE = "*"
Ref = tuple[str, str, str, list[Any]]


_FORMS: tuple[Callable[[str], str], ...] = (
    str.casefold,
    lambda name: name.casefold().replace("#", ""),
)


def spelled(what: str, name: Any, valid: Iterable[str], where: str) -> str:
    """The valid name that a person means by `name`; ConfigError with the nearest one if there is none."""
    known = list(valid)
    if name in known:
        return name
    for form in _FORMS:
        same = [v for v in known if form(v) == form(str(name))]
        if len(same) == 1:
            return same[0]
    same = [v for v in known if "#" not in str(name) and v.partition("#")[0].casefold() == str(name).casefold()]
    if len(same) == 1:
        return same[0]
    if SYNONYMS.get(str(name)) in known:
        return SYNONYMS[str(name)]
    wrong = unknown(what, name, known, where)
    if str(name).endswith(")"):  # the second half of an interval that YAML has cut at its comma
        wrong = ConfigError(f"{wrong}; inside {{…}} an interval or a plot stands in quotes, '(1, 2)'")
    raise wrong


def put_once(out: dict[Any, Any], name: Any, value: Any, where: str) -> None:
    """Put what was given at `where` under its own name; ConfigError if that was given already."""
    if name in out:
        raise ConfigError(f"{where}: given twice, in two spellings; keep one")
    out[name] = value


def keys_of(action: Action) -> list[str]:
    """The names of all that an intervention has to be told."""
    return ["plot"] * action.plot + [p.key for p in action.parameters]


@dataclass(frozen=True)
class Names:
    """Everything on a farm that has a name.

    Attributes:
        farmers, fields, variables: as the model has them.
    """

    farmers: tuple[str, ...]
    fields: tuple[FieldSlots, ...]
    variables: tuple[Variable, ...]

    @cached_property
    def tree(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Of each entity the keys of its variables as a tree; a leaf is a `Variable`."""
        out: dict[tuple[str, str], dict[str, Any]] = {(f.name, s.name): {} for f in self.fields for s in f.slots}
        for variable in self.variables:
            *upper, last = variable.key.split("/")
            at = out[variable.where]
            for word in upper:
                at = at.setdefault(word, {})
            at[last] = variable
        return out

    def farmer(self, name: str) -> int:
        """The number of a farmer, `BasicFarmer-0`, or `farmer-0` for the first of whatever kind."""
        plain = [f"farmer-{i}" for i in range(len(self.farmers))]
        if str(name).casefold() in plain:
            return plain.index(str(name).casefold())
        return find_name("farmer", name, self.farmers)

    def entity(self, field: str, entity: str, where: str) -> tuple[int, int]:
        """The numbers of a field and of an entity on it."""
        f = find_field(self.fields, field, where)
        inside = f"{where} > {field}" if where else self.fields[f].name
        return f, find_entity(self.fields[f], entity, inside)

    def where(self, at: tuple[int, int]) -> tuple[str, str]:
        """The names of a field and of an entity."""
        field = self.fields[at[0]]
        return field.name, field.slots[at[1]].name

    def action(self, at: tuple[int, int], name: str, where: str) -> Action:
        """An intervention of an entity."""
        known = {a.name: a for a in self.fields[at[0]].slots[at[1]].kind.actions}
        return known[spelled("action", name, known, where)]

    def ref(self, observation: Any, where: str = "") -> Ref:
        """An observation `(field, entity, name, path)` in the one spelling; the path ends in a plot or nowhere."""
        if not isinstance(observation, (tuple, list)) or len(observation) not in (3, 4):
            raise ConfigError(f"{_at(where)}wanted (field, entity, name, path), found {observation!r}")
        field, entity, name, path = observation if len(observation) == 4 else (*observation, [])
        f, _ = at = self.entity(field, entity, where)
        mine = self.where(at)
        inside = f"{where} > {mine[0]} > {mine[1]}" if where else " > ".join(mine)
        steps = [parse_plot(step) for step in _path(path, inside)]
        words = [*str(name).split("/"), *(s for s in steps if isinstance(s, str) and s != WHOLE)]
        plots = [s for s in steps if isinstance(s, (tuple, list))]
        found, told = self.tree[mine], []
        for word in words:
            if not isinstance(found, Mapping):
                raise ConfigError(f"{inside} > {'/'.join(told)}: the path goes too deep; found {word!r}")
            told.append(spelled("variable", word, found, " > ".join((inside, *told))))
            found = found[told[-1]]
        return (*mine, told[0], [*told[1:], *self._plots(plots, found, f, f"{inside} > {'/'.join(told)}")])

    def _plots(self, plots: list[Any], found: Any, f: int, where: str) -> list[tuple[int, int]]:
        if not plots:
            return []
        if len(plots) > 1 or not isinstance(found, Variable) or not found.per_plot:
            raise ConfigError(f"{where}: the path goes too deep; found {plots[-1]}")
        return [check_plot(plots[0], self.fields[f].shape, where)]

    def parameters(self, action: Action, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """The parameters of an intervention under their own names."""
        wanted = keys_of(action)
        out: dict[str, Any] = {}
        for key, value in given.items():
            put_once(out, spelled("parameter", key, wanted, where), value, f"{where} > {key}")
        return out


def _path(path: Any, where: str) -> Sequence[Any]:
    """A path as a list: `'*'` and nothing are the whole."""
    if path is None or path == WHOLE:
        return []
    if not isinstance(path, (list, tuple)):
        raise ConfigError(f"{where}: wanted a path such as [], [(2, 3)] or ['max#°C'], found {path!r}")
    for step in path:
        if not isinstance(step, (str, list, tuple)):
            raise ConfigError(f"{where}: wanted a key, '*' or a plot (x, y) in the path, found {step!r}")
    return path


def _at(where: str) -> str:
    return f"{where}: " if where else ""
