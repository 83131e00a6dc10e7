"""The figure of a season: panels for every crop and the air of every field, by whole days, as the record has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import GROWTH_FACTORS
from harvestgym.farm.view.figure import figure
from tests.render.seasons import Record, blank, farm, order, say

LIGHT = GROWTH_FACTORS.index("light")


def titled(page: Any) -> dict[str, Any]:
    """Return the panel of each title."""
    return {panel.get_title(): panel for panel in page.axes}


def drawn(panel: Any) -> dict[str, np.ndarray]:
    """Return the lines of a panel by their labels."""
    return {line.get_label(): np.asarray(line.get_ydata(), float) for line in panel.lines}


def named(panel: Any) -> list[str]:
    """Return the words of a panel's legend."""
    return [] if panel.get_legend() is None else [text.get_text() for text in panel.get_legend().get_texts()]


def recorded(name: str, steps: int) -> Record:
    return blank(farm(name), steps) | {"reward": np.arange(steps) / 10}


def test_every_crop_has_a_panel_with_its_mean() -> None:
    env, record = farm("polyculture-3x4-v0"), recorded("polyculture-3x4-v0", 12)
    for day in range(3, 12):
        stage, size = np.zeros((3, 4)), np.zeros((3, 4))
        stage[0, :3], size[0, :3] = Stage.GROW, (30.0, 40.0, 50.0)
        slowed = np.where(stage > 0, LIGHT, 0)
        say(env, record, day, "Field-0", "Plant-1", {"stage": stage, "size#cm": size, "limiting_factor": slowed})
    panels = titled(figure(env, record))
    heights = drawn(panels["Height of the plants"])
    assert np.isnan(heights["Plant-0, corn"]).all() and not named(panels["Stages of Plant-0, corn"])
    np.testing.assert_allclose(heights["Plant-1, bean"], [*[np.nan] * 3, *[40.0] * 9])
    assert named(panels["Stages of Plant-1, bean"]) == ["grow", "slowed by too little light"]


def test_every_field_has_its_air_and_its_water() -> None:
    env, record = farm("two-climates-v0"), recorded("two-climates-v0", 4)
    say(env, record, 2, "Field-1", "Weather-0", {"air_temperature/mean#°C": 25.0})
    panels = titled(figure(env, record))
    titles = ("Air temperature, Field-0, montpellier", "Air temperature, Field-1, lille")
    assert [drawn(panels[title])["mean"][2] for title in titles] == [18.0, 25.0]
    assert {"Field-0", "Field-1"} <= set(drawn(panels["Water in the soil, mean of the plots, by day"]))


def test_days_of_two_half_steps_are_days() -> None:
    env, record = farm("paid-looks-1x1-v0"), recorded("paid-looks-1x1-v0", 9)
    record["info/observation cost"][3] = 0.01
    weeding = ["BasicFarmer-0", "Field-0", "Weeds-0", "remove", {"plot": (0, 0)}]
    order(env, record, 6, [weeding])
    page = figure(env, record)
    air, reward = page.axes[0], page.axes[-1]
    assert len(drawn(air)["mean"]) == 5, "the start and four days"
    marks = {line.get_label(): line.get_xydata() for line in reward.lines}
    np.testing.assert_allclose(marks["Weeds-0 remove"], [[3, record["info/net"][:7].sum()]])
    np.testing.assert_allclose(marks["paid observations"], [[1, record["info/net"][:4].sum()]])
