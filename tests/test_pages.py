"""The page of every id is what its metadata says today."""

from __future__ import annotations

import sys

import pytest

from .script import script

TOOL = "tools/make_pages.py"


def test_the_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [TOOL, "--check"])
    with pytest.raises(SystemExit) as done:
        script(TOOL).main()
    assert done.value.code == 0, f"{capsys.readouterr().out}run python {TOOL}"
