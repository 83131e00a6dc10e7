"""The words that DESIGN (section 8) asks to avoid, in every text that a reader sees."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from .load_script import ROOT

BANNED = {
    r"told|tells": "says, reports, describes",
    r"anew": "again",
    r"whatever": "for any, regardless of",
    r"mend|mends|mended|mending": "fix",
    r"bears": "has, carries",
    r"beside": "next to, in addition to, with",
    r"of whom|of which": "a relative clause with whose or that, or a second sentence",
    r"of one's own": "custom, your own",
    r"a person|what a person": "a user",
    r"yardsticks?": "reference",
    r"deeds?": "action",
    r"lanes?": "environment, parallel environments",
    r"reckons?|reckoned|reckoning": "compute",
    r"thereby|therein|wherein|whence": "a second sentence",
    r"seconds of processor": "CPU seconds",
    r"by chance": "at random",
}
"""Patterns of words, and what to write instead."""

PATTERN = re.compile(rf"(?<![\w-])(?:{'|'.join(BANNED)})(?![\w-])|[«»]", re.IGNORECASE)
OPENING = re.compile(r"(What|That|Who|Whom|Whose|How|Whether|Which|Where|When|The (one|only))\b")
"""Words that open no docstring: a noun phrase or a verb comes first."""

BETWEEN_WORDS = re.compile(r"_|(?<=[a-z])(?=[A-Z])")
"""The limits between the words of a name of Python code."""

TEXTS = (".md", ".yaml", ".yml", ".js", ".css", ".html", ".txt", ".toml")


def files() -> list[Path]:
    folders = ("harvestgym", "docs", "examples", "experiments", "tools", "tests", ".ci")
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    kept = [path for path in found if path.suffix in (*TEXTS, ".py") and "__pycache__" not in path.parts]
    found = [*sorted(ROOT.glob("*.md")), ROOT / "pyproject.toml", ROOT / ".ci" / "run", *kept]
    return [path for path in found if path != Path(__file__)]


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that a reader sees: all of a text; comments, strings and names of Python code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from enumerate(text.splitlines(), start=1)
        return
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield from enumerate(token.string.splitlines(), start=token.start[0])
        elif token.type == tokenize.NAME:
            yield token.start[0], BETWEEN_WORDS.sub(" ", token.string)


def test_no_text_has_a_banned_word() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in files()
        for line, text in prose(path)
        for match in PATTERN.finditer(text)
    ]
    assert not found, f"{len(found)} banned words, such as:\n" + "\n".join(found[:40])


def docstrings() -> Iterator[tuple[Path, ast.AST, str]]:
    """Yield every docstring with its node and file."""
    nodes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path in (p for p in files() if p.suffix == ".py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, nodes) and (text := ast.get_docstring(node)):
                yield path.relative_to(ROOT), node, text


def test_no_docstring_opens_with_a_question_word() -> None:
    found = [f"{path}: {text.splitlines()[0]}" for path, _, text in docstrings() if OPENING.match(text)]
    assert not found, f"{len(found)} docstrings, such as:\n" + "\n".join(found[:40])


def errors() -> Iterator[tuple[str, str]]:
    """Yield the place and the text, without its values, of every ConfigError of the package and of experiments."""
    for path in sorted(path for folder in ("harvestgym", "experiments") for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "ConfigError":
                parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
                yield f"{path.relative_to(ROOT)}:{node.lineno}", " ".join(map(str, parts))


def test_errors_say_what_they_expected() -> None:
    says = re.compile(r"[a-z]{2,} [a-z]{2,}")  # an error that puts only a path before another one says nothing
    found = [
        f"{at}: {text}" for at, text in errors() if says.search(text.partition("; try")[0]) and "expected" not in text
    ]
    assert not found, "expected `path: expected X, got Y; try Z`:\n" + "\n".join(found)


@pytest.mark.parametrize("text", ["It is told anew.", "the «kind»", "part of which", "in lanes", "of one's own"])
def test_the_pattern_finds_banned_words(text: str) -> None:
    assert PATTERN.search(text)


@pytest.mark.parametrize("code", ["def test_a_person_fishes(): ...", "class FarmDeed: ...", "x = _told(1)", "lane = 1"])
def test_names_of_python_code_are_read(code: str, tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text(code)
    assert any(PATTERN.search(text) for _, text in prose(path))


@pytest.mark.parametrize("text", ["an untold story", "besides", "recommend", "planes", "a person-day"])
def test_the_pattern_leaves_other_words(text: str) -> None:
    assert not PATTERN.search(text)
