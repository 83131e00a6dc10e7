"""The parts of an order in text that all families share: lines, words, numbers with units, and nearest phrases."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harvestgym.core.errors import mismatch
from harvestgym.core.yaml_io import read_file

TEXT_WORDS: dict[str, dict[str, str]] = read_file(Path(__file__).with_name("words.yaml"))
"""Tables of the words that people use, with the words of keys and orders that they stand for."""

UNIT_WORDS = TEXT_WORDS["units"]
"""Units as people write them, and as keys write them."""

FILLERS = frozenset(["a", "an", "the", "of", "with", "some", "please", "to", "and", "plot", "plots", "plant", "plants"])
"""Words without meaning for an order."""

NUMBERS: dict[str, int] = {word: int(number) for word, number in TEXT_WORDS["numbers"].items()}
"""Numbers as people write them, up to ninety; `write_digits` adds ones to tens."""

TALK = "say"
"""The first word of what a player says to the others."""

NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?")
_TENS, _ONES = ("|".join(w for w, n in NUMBERS.items() if n in span) for span in (range(20, 91), range(1, 10)))
_SPELLED = re.compile(rf"\b(?:(?:{_TENS})[- ](?:{_ONES})|{'|'.join(NUMBERS)})\b")
DASHES = "-\u2010-\u2015\u2212\u207b\ufe58\ufe63\uff0d"
"""The hyphen, the minus sign and other dashes, for a class of a regular expression."""

_THOUGHT_END = re.compile(r"[<\[]\s*/\s*think(?:ing)?\s*[>\]]", re.IGNORECASE)
_THOUGHT = re.compile(rf"[<\[]\s*think(?:ing)?\s*[>\]].*?(?:{_THOUGHT_END.pattern}|$)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_BEFORE_NUMBER = rf"(?:[^\w>]|_)*?(?=\.?\d|(?:{'|'.join(NUMBERS)})\b)"
_MARKS = re.compile(rf"^\s*(?:[{DASHES}](?!{_BEFORE_NUMBER})|[*•◦‣▪·+]|\d+[.)](?=\s))?\s*", re.IGNORECASE)
_UNSURE_SIGN = re.compile(rf"-(?!\.?\d){_BEFORE_NUMBER}")


class Amount(NamedTuple):
    """A number with its unit; the unit is empty if the text has none."""

    number: float
    unit: str


class Phrase(NamedTuple):
    """A line in parts: its words in lower case, and its amounts."""

    words: tuple[str, ...]
    amounts: tuple[Amount, ...]


def list_lines(message: str) -> list[str]:
    """Return the lines of a message that may be orders: those in code fences if it has any, without list marks.

    A semicolon separates lines, but not in what a player says. Text in `<think>` tags is left out, and so is all text
    before a closing tag without an opening one. A dash before a number is its sign, not a list mark.
    """
    message = _THOUGHT_END.split(_THOUGHT.sub("", message))[-1]
    fenced = _FENCE.findall(message)
    lines = list[str]()
    for line in "\n".join(fenced or [message]).replace("`", "").splitlines():
        parts = [_clean(part) for part in line.split(";")]
        talk = next((i for i, part in enumerate(parts) if re.match(rf"{TALK}\b", part, re.IGNORECASE)), len(parts))
        lines += [*parts[:talk], _clean(";".join(line.split(";")[talk:]))]
    return [line for line in lines if re.search(r"\w", line) and line[0] not in "#>"]


def _clean(line: str) -> str:
    return _MARKS.sub("", line).strip("\"'* ")


def is_sentence(line: str) -> bool:
    """Return whether a line ends like a sentence, or like a part of one."""
    return line.rstrip("\"'*_) ")[-1:] in (*".!?:,…",)


def write_digits(text: str) -> str:
    """Return a text in lower case with hyphens for dashes, and digits for number words: `25 L` for `Twenty-five L`."""
    text = re.sub(f"[{DASHES}]", "-", text.lower())
    return _SPELLED.sub(lambda found: str(sum(NUMBERS[word] for word in re.split("[- ]", found[0]))), text)


def split_phrase(text: str) -> Phrase:
    """Split an order without its plots into words and amounts; ConfigError for a dash that may be a minus sign."""
    words, amounts, text = list[str](), list[Amount](), write_digits(text)
    if found := _UNSURE_SIGN.search(text):
        raise mismatch(repr(text), "a number without a dash, which may be a minus sign", repr(text[found.start() :]))
    tokens = re.findall(rf"[\d.]+_\d\w*|{NUMBER.pattern}|%|[^\W\d_][\w-]*", text)
    for token in tokens:
        if NUMBER.fullmatch(token):
            amounts.append(Amount(float(token) + 0.0, ""))
        elif token in UNIT_WORDS and amounts and not amounts[-1].unit:
            amounts[-1] = amounts[-1]._replace(unit=UNIT_WORDS[token])
        else:
            words.append(token)
    return Phrase(tuple(words), tuple(amounts))


def find_nearest(text: str, valid: Iterable[str]) -> str:
    """Return `; try A` with the valid order whose words are most similar, or nothing if none is similar."""
    near = difflib.get_close_matches(text.lower(), list(valid), 1, 0.4)
    return f"; try: {near[0]}" if near else ""


def is_like(word: str, valid: Iterable[str]) -> bool:
    """Return whether a word is a valid one, or a misspelling of one."""
    return bool(difflib.get_close_matches(word.lower(), list(valid), 1, 0.75))
