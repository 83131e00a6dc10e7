"""Values as text."""

from __future__ import annotations

from typing import Any

import pytest

from harvestgym.core.view.tables import Table, format_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        (3, "3"),
        (0.123456, "0.1235"),
        (2.0, "2"),
        (-0.0, "0"),
        ("a", "a"),
        (float("nan"), ""),
    ],
)
def test_values_are_written_for_readers(value: Any, text: str) -> None:
    assert format_value(value) == text and format_value(None) == ""


def test_a_printed_table_has_a_line_for_each_row() -> None:
    table = Table("Catch", ("name", "t"), [("cod", "12"), ("haddock", "3")])
    assert str(table).splitlines() == ["Catch", "name     t", "cod      12", "haddock  3"]
    assert str(Table("Nothing", (), [])) == "Nothing"
