"""The numbers in an expert's rules, by name: thresholds, pauses and amounts, which `harvestgym tune` optimises.

The name of a number shows where it is used: the number of the rule, its action, and the comparison or parameter, as in
`2 watering_discrete: Soil-0.available_Water#L <`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from harvestgym.core.errors import mismatch
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily
from harvestgym.farm.engine.formula_compiler import find_one_item
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.formula_parser import is_variable, parse_formula
from harvestgym.farm.schema import OrderRule

from .expert_rules import compile_policy

THRESHOLDS = {ast.Lt: ("<", ">"), ast.LtE: ("<=", ">="), ast.Gt: (">", "<"), ast.GtE: (">=", "<=")}
"""The signs of comparisons with a threshold, for a number on the right and for one on the left."""

DAYS_AROUND = 45
"""Number of days before and after a calendar date that a search tries."""

PAUSE = "every#day"

Visit = Callable[[str, float, Any, OrderRule], float]
"""A function that receives a number's name and value, what it refers to and its rule, and returns its new value.

A number refers to the other side of a comparison, to the key of a parameter, or, for a pause, to None.
"""


def list_numbers(rules: Sequence[OrderRule]) -> dict[str, float]:
    """List the numbers in rules by name."""
    found: dict[str, float] = {}
    map_numbers(rules, lambda name, value, *_: found.setdefault(name, value))
    return found


def replace_numbers(rules: Sequence[OrderRule], numbers: Mapping[str, float], where: str) -> list[OrderRule]:
    """Return rules with the given numbers replaced; ConfigError for a name that is not a number in these rules."""
    known = list_numbers(rules)
    for name in numbers:
        if name not in known:
            hint = "removing the tuned file and running `harvestgym tune`"
            raise mismatch(where, "a number of the expert's rules", repr(name), hint)
    return map_numbers(rules, lambda name, value, *_: numbers.get(name, value))


def map_numbers(rules: Sequence[OrderRule], visit: Visit) -> list[OrderRule]:
    """Return rules with each number replaced by the result of `visit` for it.

    Identical comparisons in the same rule count as one number.
    """
    return [_map_rule(rule, i, visit) for i, rule in enumerate(rules)]


def _map_rule(rule: OrderRule, number: int, visit: Visit) -> OrderRule:
    """Return rule `number` (counted from 0) with its numbers replaced by the results of `visit`."""
    names: dict[str, float] = {}
    action = rule.do or f"observe {rule.observe}"
    prefix = f"{number + 1} {'observe ' * (rule.do is None)}{action.rpartition('.')[2]}:"

    def rename(name: str, value: float) -> str:
        """Return a name that refers only to this value in this rule."""
        number = 1
        while names.setdefault(full := name if number == 1 else f"{name} ({number})", value) != value:
            number += 1
        return full

    def change(text: str) -> str:
        tree = parse_formula(text)
        for name, of, number in list_thresholds(tree):
            number.value = visit(rename(f"{prefix} {name}", number.value), number.value, of, rule)
        return ast.unparse(tree)

    changed: dict[str, Any] = {"when": [change(text) for text in rule.when]}
    numbers = {key: value for key, value in rule.amounts.items() if _is_number(value)}
    changed |= {key: visit(f"{prefix} {key}", value, key, rule) for key, value in numbers.items()}
    every = round(visit(f"{prefix} {PAUSE}", rule.every, None, rule)) if rule.every > 1 else rule.every
    return rule.model_copy(update=changed | {"every": every})


def list_thresholds(tree: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each comparison with a number, the formula that is compared, and the number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                signs = THRESHOLDS.get(type(operator), ())
                for sign, of, number in zip(signs, (left, right), (right, left), strict=False):
                    if isinstance(number, ast.Constant) and _is_number(number.value):
                        yield f"{ast.unparse(of)} {sign}", of, number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def make_rule_families(env: FarmModel) -> dict[str, RuleFamily]:
    """Make the rule family of a farm's expert, in which all numbers are free; empty if there is no expert."""
    if not env.spec.expert:
        return {}
    rules = env.spec.expert
    ranges: dict[str, NumberRange] = {}

    def find(name: str, value: float, of: Any, rule: OrderRule) -> float:
        ranges.setdefault(name, _find_range(env, rule, of, value))
        return value

    def build(given: Mapping[str, float]) -> Policy:
        return compile_policy(env, replace_numbers(rules, given, "expert"))

    map_numbers(rules, find)
    return {"expert": RuleFamily({name: r for name, r in ranges.items() if r.low < r.high}, build)}


def _find_range(env: FarmModel, rule: OrderRule, of: Any, value: float) -> NumberRange:
    """Return the range of a number; `of` is what it refers to, as in `Visit`."""
    if of is None:
        return NumberRange(1, 3 * value, value, whole=True)
    if isinstance(of, str):
        entity, action = env.names.locate(rule.do or "", "do")
        allowed = next(p.choices for p in env.actions.row(*entity, action).allowed if p.key == of)
        choices = tuple(float(c) for c in allowed if _is_number(c)) or (value,)
        return NumberRange(choices[0], choices[-1], value, choices)
    low, high = (0.0, 5 * value) if 0 < value < 1 else (0.3 * value - 1, 2 * value + 4)
    if "day#" in ast.unparse(of):
        low, high = value - DAYS_AROUND, value + DAYS_AROUND
    variables = list(filter(is_variable, ast.walk(of)))
    if len(variables) != 1:
        return NumberRange(low, max(high, value), value)
    meta = find_one_item(env.names, variables[0], "expert").variable.meta
    top = len(meta.labels) - 1 if meta.labels else meta.high
    whole = meta.dtype == "int" and is_variable(of)
    return NumberRange(float(max(low, meta.low)), float(np.clip(high, value, top)), value, whole=whole)
