"""What `print(farm)` says: name, fields, entities and their variables, what can be done, and how it ends."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from harvestgym.farm.engine.actions import ActionRow
from harvestgym.farm.engine.contexts import ContextFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.schema import FarmSpec

from .language import Language

STEPS = {"ao": "two steps a day, observations and then interventions", "po": "one step a day", "fo": "one step a day"}


def text(name: str, spec: FarmSpec, language: Language) -> str:
    """A page about a farm."""
    lines = [f"Farm {name!r}, mode {spec.mode!r}: {STEPS[spec.mode]}; at most {spec.rules.horizon} days"]
    for field in spec.fields:
        lines += _field(field, spec, language)
    lines += ["Farmers"]
    lines += [f"  {who}{_limits(f.model_extra)}" for who, f in zip(language.names.farmers, spec.farmers, strict=True)]
    lines += _actions(spec, language)
    lines += _context(language.model)
    ends = [" and ".join(f"{'/'.join(map(str, c.observation[1:3]))} {c.operator} {c.value}" for c in group)
            for group in spec.rules.terminal_conditions]  # fmt: skip
    lines += _wrapped("Ends when ", " or ".join(ends) or "the days are over")
    return "\n".join(lines)


def _field(name: str, spec: FarmSpec, language: Language) -> Iterator[str]:
    field = spec.fields[name]
    at, shape = field.localization, field.shape
    yield f"{name}: {shape.length} x {shape.width} plots of {shape.scale:g} m at {at.latitude:g}°, {at.longitude:g}°"
    slots = next(f.slots for f in language.names.fields if f.name == name)
    for slot, (_, which) in zip(slots, field.entities, strict=True):
        told = which if isinstance(which, str) else which.get("extends", "made to measure")
        keys = ", ".join(_keys(language.names.tree[(name, slot.name)]))
        yield from _wrapped(f"  {slot.name} ({told}): ", keys)


def _keys(tree: Mapping[str, Any]) -> Iterator[str]:
    for key, below in tree.items():
        yield key if isinstance(below, Variable) else f"{key} {{{', '.join(_keys(below))}}}"


def _limits(given: Mapping[str, Any] | None) -> str:
    told = ", ".join(f"{key} {value:g}" for key, value in (given or {}).items() if isinstance(value, (int, float)))
    return f" ({told})" if told else ""


def _actions(spec: FarmSpec, language: Language) -> Iterator[str]:
    yield f"Actions, at most {language.model.schedule} a step"
    for row in language.model.actions.rows:
        yield from _wrapped("  ", f"{'/'.join((*row.names, row.action.name))}({', '.join(_parameters(row))})")
    asked, free = len(language.asks), len(spec.rules.free_observations)
    yield {
        "ao": f"  and {asked} observations that can be asked for; {free} free observations",
        "po": f"{free} free observations",
        "fo": "Every variable is observed",
    }[spec.mode]


def _context(model: FarmModel) -> Iterator[str]:
    """What is drawn, when, and whether it is seen."""
    if isinstance(model, ContextFarm):
        yield f"Context, drawn {model.drawing.when}"
        for draw, told in zip(model.drawing.draws, model.drawing.texts(model.params), strict=True):
            yield from _wrapped("  ", f"{draw.name}: {told} ({'shown' if draw.shown else 'hidden'})")


def _parameters(row: ActionRow) -> Iterator[str]:
    if row.action.plot:
        yield f"plot of {len(row.plots)}"
    for p in row.allowed:
        values = f"{p.range[0]:g} to {p.range[1]:g}" if p.continuous else "|".join(_short(c) for c in p.choices)
        yield f"{p.key} {values}"


def _short(choice: Any) -> str:
    return choice if isinstance(choice, str) else f"{choice:g}"


def _wrapped(first: str, told: str) -> list[str]:
    return textwrap.wrap(told, 110, initial_indent=first, subsequent_indent="      ") or [first.rstrip()]
