"""The numbers of an expert's rules by name: thresholds, pauses and amounts, which `harvestgym tune` searches.

The name of a number says where it stands: the number of its rule, its action, and what is compared or done,
`2 watering_discrete: Soil-0/available_Water#L <`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.observations import find_items
from harvestgym.farm.schema import ConditionSpec, ExpertRule

from .expert_rules import compile_policy

THRESHOLD_OPERATORS = ("<", "<=", ">", ">=")
DAYS_AROUND = 45
"""Days before and after a date of the calendar that a search tries."""

PAUSE = "every#day"

Visit = Callable[[str, float], float]
"""Receives the name and the value of a number, and returns its new value."""


def list_numbers(rules: Sequence[ExpertRule]) -> dict[str, float]:
    """List the numbers of rules by their names."""
    found: dict[str, float] = {}
    map_numbers(rules, lambda name, value: found.setdefault(name, value))
    return found


def replace_numbers(rules: Sequence[ExpertRule], numbers: Mapping[str, float], where: str) -> list[ExpertRule]:
    """Return rules with some other numbers; ConfigError for a name that is no number of these rules."""
    known = list_numbers(rules)
    for name in numbers:
        if name not in known:
            hint = "try removing the tuned file, then `harvestgym tune`"
            raise ConfigError(f"{where}: expected a number of the expert's rules, got {name!r}; {hint}")
    return map_numbers(rules, lambda name, value: numbers.get(name, value))


def map_numbers(rules: Sequence[ExpertRule], visit: Visit) -> list[ExpertRule]:
    """Return rules with each number replaced by what `visit` returns for its name and value.

    Equal comparisons with equal values in one rule are one number.
    """
    return [_map_rule(rule, f"{i + 1} {_name_action(rule)}", visit) for i, rule in enumerate(rules)]


def _name_action(rule: ExpertRule) -> str:
    """Return the name of a rule's action; of an observation, what it observes."""
    return f"observe {rule.do[3]}" if isinstance(rule.do[4], list) else rule.do[3]


def _map_rule(rule: ExpertRule, prefix: str, visit: Visit) -> ExpertRule:
    names: dict[str, float] = {}

    def rename(name: str, value: float) -> str:
        """Return a name that stands for this value alone in this rule."""
        number = 1
        while names.setdefault(full := name if number == 1 else f"{name} ({number})", value) != value:
            number += 1
        return full

    def change(condition: ConditionSpec) -> ConditionSpec:
        if condition.operator not in THRESHOLD_OPERATORS or not _is_number(condition.value):
            return condition
        _, entity, variable, _ = condition.observation
        mapped = "" if condition.mapping == "value" else f"{condition.mapping} "
        name = rename(f"{prefix}: {mapped}{entity}/{variable} {condition.operator}", condition.value)
        return condition.model_copy(update={"value": visit(name, condition.value)})

    when = [[change(condition) for condition in group] for group in rule.when]
    *action, amounts = rule.do
    if isinstance(amounts, dict):
        amounts = {
            key: visit(f"{prefix}: {key}", value) if _is_number(value) else value for key, value in amounts.items()
        }
    every = round(visit(f"{prefix}: {PAUSE}", rule.every)) if rule.every > 1 else rule.every
    return rule.model_copy(update={"when": when, "do": (*action, amounts), "every": every})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_rule_families(env: FarmModel) -> dict[str, RuleFamily]:
    """Make the family of the rules of a farm's expert, with all their numbers free; none without an expert."""
    if not env.spec.expert:
        return {}
    rules = env.spec.expert
    ranges = {name: r for name, r in _find_ranges(env).items() if r.low < r.high}

    def build(given: Mapping[str, float]) -> Policy:
        return compile_policy(env, replace_numbers(rules, given, "expert"))

    return {"expert": RuleFamily(ranges, build)}


def _find_ranges(env: FarmModel) -> dict[str, NumberRange]:
    """Return the range of each number of the expert's rules."""
    found: dict[str, NumberRange] = {}
    for i, rule in enumerate(env.spec.expert):
        for name, value in list_numbers([rule]).items():
            key = f"{i + 1}{name[1:]}"
            found[key] = _find_range(env, rule, name.partition(": ")[2], value)
    return found


def _find_range(env: FarmModel, rule: ExpertRule, name: str, value: float) -> NumberRange:
    if name == PAUSE:
        return NumberRange(1, 3 * value, value, whole=True)
    if isinstance(rule.do[4], dict) and name in rule.do[4]:
        row = env.actions.row(*rule.do[1:4])
        allowed = next(p.choices or () for p in row.allowed if p.key == name)
        choices = tuple(float(c) for c in allowed if _is_number(c)) or (value,)
        return NumberRange(choices[0], choices[-1], value, choices)
    [condition] = {str(c.observation): c for g in rule.when for c in g if _is_named(c, name)}.values()
    meta = find_items(env.variables, condition.observation)[0].variable.meta
    low, high = _widen(value) if "day#" not in name else (value - DAYS_AROUND, value + DAYS_AROUND)
    top = len(meta.labels) - 1 if meta.labels else meta.high
    whole = meta.dtype == "int" and condition.mapping == "value"
    return NumberRange(float(max(low, meta.low)), float(np.clip(high, value, top)), value, whole=whole)


def _is_named(condition: ConditionSpec, name: str) -> bool:
    _, entity, variable, _ = condition.observation
    return condition.operator in THRESHOLD_OPERATORS and f"{entity}/{variable} {condition.operator}" in name


def _widen(value: float) -> tuple[float, float]:
    """Return the range that a search tries around a threshold."""
    return (0.0, 5 * value) if 0 < value < 1 else (0.3 * value - 1, 2 * value + 4)
