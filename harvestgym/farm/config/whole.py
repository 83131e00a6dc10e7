"""From the parts of a farm as a person has them to one declarative description, and from there to a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.constraints import CostCap, Rule
from harvestgym.farm.engine.farmers import BasicFarmer, Farmer
from harvestgym.farm.engine.reward_terms import Term
from harvestgym.farm.engine.variables import numbered, slots_of, variables_of
from harvestgym.farm.schema import FarmSpec, farm_spec

from . import paper_files
from .builders import BasicRule, BasicScore, Field, kind_name, part, written
from .compile import field_params
from .components import Made
from .names import Names

CAP = "max_action_schedule_cost"


class Parts:
    """Farmers, rules and a score, checked, in the engine's types.

    Attributes:
        made: what is handed to the model as it is.
    """

    def __init__(self, farmers: Sequence[Any], rules: BasicRule, scoring: BasicScore) -> None:
        if not isinstance(rules, BasicRule) or not isinstance(scoring, BasicScore):
            raise ConfigError(f"wanted rules=BasicRule(…) and scoring=BasicScore(…), found {rules!r} and {scoring!r}")
        if not isinstance(farmers, (list, tuple)):
            raise ConfigError(f"farmers: wanted a list, [BasicFarmer()], found {farmers!r}")
        self.rules, self.scoring = rules, scoring
        further = dict(rules.further) | ({} if rules.cap is None else {CAP: CostCap(most=rules.cap)})  # type: ignore[arg-type]
        self.made = Made(
            farmers=tuple(part(f, Farmer, f"farmers > {i}") for i, f in enumerate(farmers or [BasicFarmer()])),
            rules={name: part(r, Rule, f"rules > further > {name}") for name, r in further.items()},
            terms={name: part(t, Term, f"scoring > terms > {name}") for name, t in scoring.terms.items()},
        )

    def spec(self, fields: Sequence[Field], mode: str, context: Any) -> tuple[Names, FarmSpec]:
        """The names of the farm and what a file would say of it."""
        if not isinstance(fields, (list, tuple)):
            raise ConfigError(f"fields: wanted a list, [Field(…)], found {fields!r}")
        for i, field in enumerate(fields):
            if not isinstance(field, Field):
                raise ConfigError(f"fields > {i}: wanted a Field, found {field!r}")
        farmers = numbered([type(f).__name__ for f in self.made.farmers or ()])
        names = names_of({f"Field-{i}": field.spec for i, field in enumerate(fields)}, fields, farmers)
        rules, scoring = self.rules.spec(names), self.scoring.spec(names)
        rules["further"] = {name: _told(r) for name, r in self.made.rules.items()}
        scoring["terms"] = scoring.get("terms", {}) | {name: _told(t) for name, t in self.made.terms.items()}
        data = {
            "fields": {f"Field-{i}": field.spec.model_dump(by_alias=True) for i, field in enumerate(fields)},
            "farmers": [_told(f) for f in self.made.farmers or ()],
            "rules": rules, "scoring": scoring, "mode": mode, "context": context,
        }  # fmt: skip
        return names, farm_spec(data, "Farm")

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let errors name the file in which a mistake stands."""
        try:
            yield
        except ConfigError as error:
            told = str(error)
            for inside, file in self.rules.origins().items():
                if told.startswith(inside):
                    raise ConfigError(f"{file}{told.removeprefix(inside)}") from None
            raise


def _told(thing: Any) -> dict[str, Any]:
    try:
        return {"kind": kind_name(type(thing))} | written(thing)
    except ConfigError as error:
        return {"kind": kind_name(type(thing)), paper_files.NOT_IN_A_FILE: str(error)}


def names_of(specs: Mapping[str, Any], fields: Sequence[Field] | None = None, farmers: Sequence[str] = ()) -> Names:
    """The names of some fields."""
    ready = [None] * len(specs) if fields is None else [field.entities for field in fields]
    params = [field_params(spec, entities) for spec, entities in zip(specs.values(), ready, strict=True)]
    slots = tuple(slots_of(name, p.entities, p.place) for name, p in zip(specs, params, strict=True))
    return Names(tuple(farmers), slots, variables_of(slots))


def text_of(spec: FarmSpec) -> str:
    """A farm as YAML; ConfigError if a part of it lives in Python only."""
    for i, group in enumerate(spec.rules.terminal_conditions):
        for j, event in enumerate(group):
            if callable(event.mapping):
                raise ConfigError(
                    f"rules > terminal_conditions > {i} > {j}: a mapping that is a Python function cannot be written; "
                    "name one (value, sum, mean, min, max)"
                )
    return paper_files.to_text(_plain(spec.model_dump(by_alias=True, exclude_defaults=True), "farm"))


def _plain(value: Any, where: str) -> Any:
    """Values that YAML can hold; plots as `'(0, 1)'`."""
    if isinstance(value, Mapping):
        if paper_files.NOT_IN_A_FILE in value:
            raise ConfigError(f"{where}: {value[paper_files.NOT_IN_A_FILE]}; give a set of a file instead")
        _check_class(value.get("kind"), where)
        return {str(key): _plain(inner, f"{where} > {key}") for key, inner in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(i, (int, np.integer)) for i in value):
        return str(tuple(int(i) for i in value))
    if isinstance(value, (list, tuple)):
        _check_class(value[0] if value else None, where)
        return [_plain(inner, f"{where} > {i}") for i, inner in enumerate(value)]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise ConfigError(f"{where}: {type(value).__name__} cannot be written; give the name of a file or a plain value")


def _check_class(kind: Any, where: str) -> None:
    if isinstance(kind, str) and ":" in kind and ("<locals>" in kind or kind.startswith("__main__")):
        raise ConfigError(f"{where}: {kind!r} cannot be loaded from elsewhere; move the class to a module of its own")
