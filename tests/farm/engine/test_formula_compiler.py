"""Conditions as text: random formulas come back from their text and mean what Python's operators mean on arrays."""

from __future__ import annotations

import ast
import operator
import random
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.formula_compiler import FormulaCompiler, holds, list_items
from harvestgym.farm.formula_parser import parse_formula
from tests.farm.engine.test_engine import REED, SPRING, farm

ENV = farm(SPRING, REED)
VARIABLES = {"Spring-0.available_Water#L": (2, 3), "Reed-0.cumulated_water#L": (2, 3), "Reed-0.stage": (2, 3)}
LABELS = ("young", "old")
COMPARISONS: dict[str, Callable[..., Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
ARITHMETIC: dict[str, Callable[..., Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}

Value = Callable[[dict[str, np.ndarray]], Any]
"""What a part of a formula is worth for some values of the variables."""


def draw_number(rng: random.Random, depth: int) -> tuple[str, Value]:
    """Return the text of a random number and what it is worth."""
    kind = rng.choice(
        ["variable", "plot", "constant", "function", "sum", "negative"] if depth else ["variable", "constant"]
    )
    name = rng.choice(list(VARIABLES)[:2])
    if kind == "variable":
        return name, lambda v: v[name]
    if kind == "plot":
        x, y = rng.randrange(2), rng.randrange(3)
        return f"{name}[{x}, {y}]", lambda v: v[name][x, y]
    if kind == "constant":
        number = rng.choice([0, 1, 2.5, 3])
        return str(number), lambda v: np.float32(number)
    inner, worth = draw_number(rng, depth - 1)
    if kind == "function":
        function = rng.choice(["sum", "mean", "min", "max", "abs"])
        return f"{function}({inner})", lambda v: getattr(np, function)(worth(v))
    if kind == "negative":
        return f"-({inner})", lambda v: -worth(v)
    other, second = draw_number(rng, depth - 1)
    sign = rng.choice(list(ARITHMETIC))
    return f"({inner}) {sign} ({other})", lambda v: ARITHMETIC[sign](worth(v), second(v))


def draw_formula(rng: random.Random, depth: int) -> tuple[str, Value]:
    """Return the text of a random condition and whether it holds; a comparison holds if it does on every plot."""
    kind = rng.choice(["compare", "chain", "in", "label", "not", "and", "or"] if depth else ["compare", "in", "label"])
    if kind in ("compare", "chain"):
        parts = [draw_number(rng, 2) for _ in range(2 + (kind == "chain"))]
        signs = [rng.choice(list(COMPARISONS)) for _ in parts[1:]]
        text = f"({parts[0][0]})" + "".join(f" {s} ({t})" for s, (t, _) in zip(signs, parts[1:], strict=True))
        pairs = list(zip(signs, parts, parts[1:], strict=False))
        return text, lambda v: all(np.all(COMPARISONS[s](a(v), b(v))) for s, (_, a), (_, b) in pairs)
    if kind in ("in", "label"):
        labels = rng.sample(LABELS, rng.randint(1, 2))
        codes, no = [LABELS.index(label) for label in labels], rng.choice([True, False])
        if kind == "label":
            return f"Reed-0.stage {'!=' if no else '=='} {labels[0]}", lambda v: np.all(
                (v["Reed-0.stage"] == codes[0]) ^ no
            )
        text = f"Field-0.Reed-0.stage {'not ' * no}in [{', '.join(labels)}]"
        return text, lambda v: np.all(np.isin(v["Reed-0.stage"], codes) ^ no)
    inner, true = draw_formula(rng, depth - 1)
    if kind == "not":
        return f"not ({inner})", lambda v: not true(v)
    other, second = draw_formula(rng, depth - 1)
    joined = {"and": lambda v: true(v) and second(v), "or": lambda v: true(v) or second(v)}
    return f"({inner}) {kind} ({other})", joined[kind]


def test_random_formulas_come_back_and_mean_what_python_says() -> None:
    rng, held = random.Random(1), 0
    for _ in range(150):
        text, true = draw_formula(rng, 2)
        once = ast.unparse(parse_formula(text))
        assert ast.unparse(parse_formula(once)) == once
        canonical = ENV.names.formula(text, "test")
        assert ENV.names.formula(canonical, "test") == canonical
        compiler = FormulaCompiler(ENV.names)
        compiled = compiler.compile(canonical, "test")
        for _ in range(3):
            values = {name: np.asarray([rng.choice([0, 1, 2, 3.5]) for _ in range(6)], np.float32).reshape(shape)
                      for name, shape in VARIABLES.items()}  # fmt: skip
            values["Reed-0.stage"] = np.asarray([rng.random() < 0.3 for _ in range(6)], np.float32).reshape(2, 3)

            def read(item: Any, plot: Any, values: dict[str, np.ndarray] = values) -> Any:
                return item.take(jnp.asarray(values[ENV.names.shorten(item.variable.where, item.variable.key)])), True

            found = bool(holds(compiled, compiler.values, read))
            assert found == bool(true(values)), text
            held += found
    assert 50 < held < 400, "neither always true nor never"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Spring-0.available_Water<5", "Spring-0.available_Water#L < 5"),
        ("reed-0.Stage in (old,)", "Reed-0.stage in [old]"),
        ("field-0.Spring-0.available_water#L[1,2]  >=  -2.50", "Spring-0.available_Water#L[1, 2] >= -2.5"),
        ("not (Reed-0.stage == 'old')", "not Reed-0.stage == 'old'"),
        ("1 < mean(Reed-0.stage) * 2 - 1 <= 4", "1 < mean(Reed-0.stage) * 2 - 1 <= 4"),
    ],
)
def test_a_formula_has_one_canonical_text(text: str, same: str) -> None:
    assert ENV.names.formula(text, "test") == same


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Reed-0.stage = old", "character 14 of 'Reed-0.stage = old': expected a formula, got '='; try '=='"),
        ("Reed-0.stage is old", "character 14 .*got 'is'; try '=='"),
        ("Reed-0.stage == old && 1 < 2", "character 21 .*got '&&'; try 'and'"),
        ("(Reed-0.stage == old", r"character 1 .*got '\('; try closing it"),
        ("Reed-0.stage ==", "character 16 .*: expected a formula, got the end"),
        ("Reed-0.stage == old Reed-0.x", "character 21 .*: expected a formula, got 'Reed-0.x'"),
        ("Reed-0.stage in old", "character 17 .*: expected a list of values in brackets after `in`, got 'old'"),
        ("Reed-0.stage in [Reed-0.stage]", "character 18 .*: expected a value in the list"),
        ("Spring-0.available_Water % 2 == 0", r"character 1 .*: expected one of \+ - \* /"),
        ("Spring-0.available_Water[1] > 0", r"character 1 .*expected a plot \(x, y\) with .*, got 1"),
        ("Spring-0.available_Water[x] > 0", r"character 1 .*: expected a plot such as \[0, 1\] or an index such as"),
        (
            "Spring-0.available_Water[1, 7] > 0",
            r"character 1 .*expected a plot \(x, y\) with 0 <= x < 2 and 0 <= y < 3",
        ),
        ("1e999 > Reed-0.stage", "character 1 .*: expected a finite number"),
        ("total(Reed-0.stage) > 1", "character 1 .*: expected a known function, got 'total'; try one of abs, max"),
        ("sum(Reed-0.stage, 2) > 1", "character 1 .*: expected a function of one expression"),
        ("2 > 1 and Reed-0.stge == old", "character 11 .*expected a known variable, got 'stge'; try 'stage'"),
        ("2 > 1 and Red-0.stage == old", "character 11 .*expected a known entity, got 'Red-0'; try 'Reed-0'"),
        ("Reed-0.stage == odl", "expected a known value, got 'odl'; try 'old'"),
        ("stage == old", "character 1 .*: expected a number or a variable, got 'stage'; try 'Reed-0.stage'"),
        ("Reed-0.stage > 7", "Reed-0.stage: expected one of young, old, got 7"),
        ("mean(Reed-0.stage) > 7", r"Reed-0.stage: expected a number from 0 to 1, got 7"),
    ],
)
def test_a_mistake_has_its_position_and_the_nearest_name(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"test: {words}" if words.startswith("character") else words):
        try:
            parse_formula(text)
        except ConfigError as error:
            raise ConfigError(f"test: {error}") from None
        FormulaCompiler(ENV.names).compile(text, "test")


def test_what_a_formula_reads_is_listed() -> None:
    compiled = FormulaCompiler(ENV.names).compile("sum(Reed-0.stage) > 1 or Spring-0.available_Water[0, 1] < 2", "test")
    assert [(item.variable.key, item.plot) for item in list_items(compiled)] == [
        ("stage", None), ("available_Water#L", (0, 1))
    ]  # fmt: skip
