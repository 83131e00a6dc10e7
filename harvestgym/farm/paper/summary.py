"""The text of `print(farm)`: fields, entities and variables, and some tables of `harvestgym show`, on a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from harvestgym.farm.engine.variables import Variable
from harvestgym.farm.paper.action_tuples import Language
from harvestgym.farm.view.describe import actions_table, context_table, ends_text, entities_table

STEP_TEXTS = {
    "ao": "two steps a day, observations and then interventions",
    "po": "one step a day",
    "fo": "one step a day",
}


def summarise_farm(name: str, language: Language) -> str:
    """Write a page about a farm."""
    model, spec = language.model, language.model.spec
    lines = [f"Farm {name!r}, mode {spec.mode!r}: {STEP_TEXTS[spec.mode]}; at most {spec.rules.horizon} days"]
    kinds = {row[:2]: row[2] for row in entities_table(model).rows}
    for field, described in spec.fields.items():
        at, shape = described.localization, described.shape
        plots = f"{shape.length} x {shape.width} plots of {shape.scale:g} m"
        lines.append(f"{field}: {plots} at {at.latitude:g}°, {at.longitude:g}°")
        for (where, entity), which in kinds.items():
            if where == field:
                lines += _wrap(f"  {entity} ({which}): ", ", ".join(_keys(language.names.tree[where, entity])))
    lines += _wrap("Farmers: ", ", ".join(language.names.farmers))
    lines.append(f"Actions, at most {model.schedule} a step")
    for _, *path, parameters, _ in actions_table(model).rows:
        lines += _wrap("  ", f"{'/'.join(path)}({parameters.removesuffix('; ')})")
    asked, free = len(language.paths), len(spec.rules.free_observations)
    lines.append({
        "ao": f"  and {asked} observations that can be asked for; {free} free observations",
        "po": f"{free} free observations",
        "fo": "Every variable is observed",
    }[spec.mode])  # fmt: skip
    if model.contexts.draws:
        table = context_table(model)
        lines.append(table.title)
        for what, values, observed in table.rows:
            lines += _wrap("  ", f"{what}: {values} ({'hidden' if observed == 'hidden' else 'shown'})")
    lines += _wrap("Ends when ", ends_text(model) or "the days are over")
    return "\n".join(lines)


def _keys(tree: Mapping[str, Any]) -> Iterator[str]:
    for key, below in tree.items():
        yield key if isinstance(below, Variable) else f"{key} {{{', '.join(_keys(below))}}}"


def _wrap(first: str, text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent=first, subsequent_indent="      ") or [first.rstrip()]
