"""The protocol is unchanged, and a sealed part is opened once."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.reality import sealed


def test_the_protocol_is_the_last_version() -> None:
    """A change needs an entry under Changes in the protocol, and a new version here."""
    assert sealed.describe_run()["protocol"] == sealed.VERSIONS[-1]


def test_a_sealed_part_is_opened_once(tmp_path: Path) -> None:
    sealed.open_sealed("a", tmp_path / "log.jsonl")
    sealed.open_sealed("b", tmp_path / "log.jsonl")
    with pytest.raises(RuntimeError, match="a: expected a part that is sealed"):
        sealed.open_sealed("a", tmp_path / "log.jsonl")
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 2
