"""The summary of a sample of returns, and the measure of a farm's own score where results are reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from harvestgym.cli import app
from harvestgym.core.errors import ConfigError
from harvestgym.core.risk import CVaR
from harvestgym.evaluate.run import evaluate_id
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.family import from_yaml

FARM = """
fields:
  Field-0:
    localization: {latitude#°: 47.4, longitude#°: -122.3, altitude#m: 130}
    shape: {length#nb: 1, width#nb: 1}
    entities: [[Weather, seattle], [Soil, clay]]
rules: {horizon#day: 6}
scoring: {intervention_cost: 1, risk: {measure: cvar, level: 0.25}}
"""
"""Fallow, as orders to water cost the same without a plant, and it compiles in a third of the time."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "farm.yaml"
    path.write_text(FARM, encoding="utf-8")
    return path


def test_a_summary_has_the_worst_tenth_beside_the_mean() -> None:
    told = summarise(np.arange(20.0))
    assert told.mean == 9.5 and told.cvar10 == 0.5 and told.low < 9.5 < told.high


def test_the_interval_covers_the_mean_about_95_times_in_100() -> None:
    """2,000 samples of 200: the share of misses is 0.05 within 0.015 (three standard deviations)."""
    rng = np.random.default_rng(0)
    draws = rng.gamma(2.0, size=(2000, 200))
    told = [summarise(sample) for sample in draws]
    missed = np.mean([not s.low <= 2.0 <= s.high for s in told])
    assert abs(missed - 0.05) < 0.015


def test_the_measure_of_a_score_is_reported_beside_the_others(file: Path) -> None:
    """Random orders at a cost of one each spread the returns, so that the measure is below the mean."""
    told = evaluate_id(str(file), "random", episodes=40)
    wanted = CVaR(level=0.25)(told.returns)
    assert told.risk == CVaR(level=0.25) and wanted < told.returns.mean()
    args = ["run", str(file), "--policy", "random", "--episodes", "40"]
    numbers = json.loads(CliRunner().invoke(app, [*args, "--json"]).stdout)["return"]
    assert numbers["risk"] == {"measure": "cvar", "level": 0.25, "value": pytest.approx(wanted)}
    assert f"cvar level 0.25 │ {wanted:.3f}".replace(" ", "") in CliRunner().invoke(app, args).stdout.replace(" ", "")


def test_a_measure_that_is_none_is_refused_with_its_place(file: Path) -> None:
    with pytest.raises(ConfigError, match="scoring > risk: risk measure: expected a known name, got 'cvr'; try 'cvar'"):
        from_yaml(file, scoring={"risk": {"measure": "cvr"}})
