"""The study in its short form, against the published means it stands beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from harvestgym.evaluate.studies import fishing


def test_study(tmp_path: Path) -> None:
    """Our escapement meets the re-simulated 7.599, the tipping problem its replica; files are written."""
    done: list[int] = []
    table = fishing.run(400, tmp_path, done.append)
    ours = {row[1]: row[3] for row in table.rows}
    mean = {name: float(text.split(" ± ")[0]) for name, text in ours.items() if text}
    # Five standard errors at 400 episodes: 5 * 0.49 / 20, and 5 * 4.9 / 20, 5 * 9.8 / 20.
    assert mean["escapement 0.5"] == pytest.approx(7.599, abs=0.13)
    assert mean["no action"] == pytest.approx(44.84, abs=1.3)
    tuned = next(value for name, value in mean.items() if name.startswith("steady, tuned"))
    plan = mean["dynamic programming in stock and driver"]
    assert 143.2 < 158 < tuned < plan and plan == pytest.approx(183.6, abs=1.2)
    assert mean["dynamic programming, horizon known"] > mean["escapement 0.5"] + 0.3
    assert len(done) == len(table.rows)
    assert (tmp_path / "fishing.csv").stat().st_size > 0 and (tmp_path / "fishing.png").stat().st_size > 0
