"""Parsing conditions such as `Plant-0.stage == ripe and Weather-0.day#int365 > 200` into Python syntax trees.

The grammar is a subset of Python's: comparisons, `in`, `and`, `or`, `not`, `+ - * /`, and functions of one expression.
A name with a dot is a variable, `ENTITY.KEY` or `FIELD.ENTITY.KEY`, optionally on one plot, `Soil-0.available_N#g[0,
1]`, or one day of a forecast, `Weather-0.forecast/rain[0]`. A name without a dot is a value of a variable. Names may
contain - and /, so arithmetic needs spaces.
"""

from __future__ import annotations

import ast
import math
import re
from ast import BinOp, BoolOp, Call, Compare, Constant, List, Name, Subscript, Tuple, UnaryOp
from typing import Any

from harvestgym.core.errors import ConfigError, mismatch, require

FUNCTIONS = ("sum", "mean", "min", "max", "abs")
LANGUAGE = (BoolOp, BinOp, UnaryOp, Compare, Call, Name, Constant, Subscript, List, Tuple)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.Not)
KEYWORDS = ("and", "or", "not", "in", "True", "False")
TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![\w.])[^\W\d][\w°%#./-]*")
MEANT = {"=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "&&": "and", "||": "or", "!": "not", "is": "=="}
"""Operators of other languages and the operators to use instead, for hints in errors."""

EACH, MOST, LEAST = "each", "most", "least"


def parse_formula(text: Any) -> Any:
    """Return the syntax tree of a formula; each variable is a `Name` that holds its full text, as in `ast.unparse`.

    Raises:
        ConfigError: gives the position of the first mistake in the text.
    """
    require(isinstance(text, str), "", "a string such as 'Plant-0.stage == ripe'", repr(text))
    text = " ".join(text.split())
    try:
        tree = ast.parse(TOKEN.sub(_mask, text).encode("ascii", "replace").decode(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _syntax_error(text, getattr(error, "offset", 0) or len(text) + 1) from None
    tree = _Restorer(text).visit(tree)
    for node in ast.walk(tree):
        _check(node, text)
    return tree


def is_variable(node: Any) -> bool:
    """Return whether a node is the name of a variable."""
    return isinstance(node, Name) and "." in node.id


def place(text: str, node: Any) -> str:
    """Return the position of a node in the text of a formula."""
    return f"character {node.col_offset + 1} of {text!r}"


def split_plots(text: str) -> tuple[str, str]:
    """Split `each`, `most FORMULA` or `least FORMULA` into the word and the formula; ConfigError for any other text."""
    word, _, formula = text.strip().partition(" ")
    if word not in (EACH, MOST, LEAST) or (word == EACH) == bool(formula):
        raise ConfigError("expected each, most VARIABLE, least VARIABLE or a plot [x, y]")
    return word, formula


def _mask(token: re.Match[str]) -> str:
    """Replace a name or a quoted string with an identifier of the same length."""
    text = token[0]
    if text[0] in "'\"":
        return text[0] + "x" * (len(text) - 2) + text[0]
    return text if text in KEYWORDS else "x" * len(text)


class _Restorer(ast.NodeTransformer):
    """A transformer that restores names and quoted strings, merges signs with numbers, and converts tuples to lists."""

    def __init__(self, text: str) -> None:
        self.text = text

    def visit_Name(self, node: Name) -> Name:
        node.id = self.text[node.col_offset : node.end_col_offset]
        return node

    def visit_Constant(self, node: Constant) -> Constant:
        if isinstance(node.value, str):
            node.value = self.text[node.col_offset + 1 : node.end_col_offset - 1]  # type: ignore[operator]
        return node

    def visit_Subscript(self, node: Subscript) -> Subscript:
        node.value = self.visit(node.value)
        return node

    def visit_Tuple(self, node: Tuple) -> List:
        return ast.copy_location(List([self.visit(element) for element in node.elts], node.ctx), node)

    def visit_UnaryOp(self, node: UnaryOp) -> ast.expr:
        inside = self.visit(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(inside, Constant) and type(inside.value) in (int, float):
            return ast.copy_location(Constant(-inside.value), node)  # type: ignore[operator]
        return ast.copy_location(UnaryOp(node.op, inside), node)


def _syntax_error(text: str, offset: int) -> ConfigError:
    """Return the error for a syntax error that Python's parser reports at a position, counted from 1."""
    tokens = re.finditer(r"[\w°#./-]+|[^\w\s()[\]]+|\S", text)
    found = next((token for token in tokens if token.end() >= offset), None)
    at, got = (found.start(), repr(found[0])) if found else (len(text), "the end")
    meant = MEANT.get(found[0].lower()) if found else None
    hint = f"; try {meant!r}" if meant else "; try closing it" * (got in ("'('", "'['"))
    return mismatch(f"character {at + 1} of {text!r}", "a formula", f"{got}{hint}")


def _check(node: Any, text: str) -> None:
    """Raise ConfigError for a node that the grammar does not allow."""
    expected = ""
    match node:
        case Compare():
            for operator, right in zip(node.ops, node.comparators, strict=True):
                _check_right_side(isinstance(operator, (ast.In, ast.NotIn)), right, text)
        case Call() if not isinstance(node.func, Name) or len(node.args) != 1 or node.keywords:
            expected = "a function of one expression"
        case Subscript(value=of, slice=Constant(int()) | Tuple(elts=[Constant(int()), Constant(int())])):
            expected = "" if is_variable(of) else "a variable before the index"
        case Subscript():
            expected = "a plot such as [0, 1] or an index such as [0]"
        case Constant(value=value) if isinstance(value, (int, float)) and not math.isfinite(value):
            expected = "a finite number"
        case BinOp() | UnaryOp() if not isinstance(node.op, ARITHMETIC):
            expected = "one of + - * /"
        case ast.expr() if not isinstance(node, LANGUAGE):
            expected = "a comparison, `and`, `or`, `not`, a name or a number"
    if expected:
        raise _error(node, text, expected)


def _check_right_side(several: bool, right: Any, text: str) -> None:
    if several != isinstance(right, List):
        raise _error(right, text, "a list of values in brackets after `in`" if several else "a single value")
    wrong = [v for v in getattr(right, "elts", ()) if is_variable(v) or not isinstance(v, (Name, Constant))]
    if several and (wrong or not right.elts):
        raise _error(wrong[0] if wrong else right, text, "a value in the list")


def _error(node: Any, text: str, expected: str) -> ConfigError:
    return mismatch(place(text, node), expected, repr(text[node.col_offset : node.end_col_offset]))
