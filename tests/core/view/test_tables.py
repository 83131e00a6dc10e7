"""Values as text."""

from __future__ import annotations

from typing import Any

import pytest

from harvestgym.core.view.tables import format_value


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "yes"), (False, "no"), (3, "3"), (0.123456, "0.1235"), (2.0, "2"), ("a", "a"), (float("nan"), "")],
)
def test_values_are_written_for_readers(value: Any, text: str) -> None:
    assert format_value(value) == text and format_value(None) == ""
