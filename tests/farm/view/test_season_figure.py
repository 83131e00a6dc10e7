"""The season plot of a farm: a panel for every crop and the air of every field, by whole days, as the record has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import GROWTH_FACTORS
from harvestgym.farm.view.season_figure import season
from tests.render.seasons import Record, blank, farm, order, say

LIGHT = GROWTH_FACTORS.index("light")


def titled(page: Any) -> dict[str, Any]:
    """Return the first panel of each title."""
    return {panel.get_title(loc="left"): panel for panel in reversed(page.axes)}


def drawn(panel: Any) -> dict[str, np.ndarray]:
    """Return the lines of a panel by their labels."""
    return {line.get_label(): np.asarray(line.get_ydata(), float) for line in panel.lines}


def named(panel: Any) -> list[str]:
    """Return the words of a panel's legend."""
    return [text.get_text() for text in panel.get_legend().get_texts()]


def recorded(name: str, steps: int) -> Record:
    return blank(farm(name), steps) | {"reward": np.arange(steps) / 10}


def test_every_crop_has_a_panel_with_its_mean() -> None:
    env, record = farm("polyculture-3x4-v2"), recorded("polyculture-3x4-v2", 12)
    for day in range(3, 12):
        stage, size = np.zeros((3, 4)), np.zeros((3, 4))
        stage[0, :3], size[0, :3] = Stage.GROW, (30.0, 40.0, 50.0)
        slowed = np.where(stage > 0, LIGHT, 0)
        say(env, record, day, "Field-0", "Plant-1", {"stage": stage, "size#cm": size, "limiting_factor": slowed})
    panels = titled(season(env, record))
    text = "; where it lives, and the share of the plots in each stage"
    corn, bean = panels[f"corn (Plant-0){text}"], panels[f"bean (Plant-1){text}"]
    assert np.isnan(drawn(corn)["height"]).all() and "slowed by light" not in named(corn)
    np.testing.assert_allclose(drawn(bean)["height"], [*[np.nan] * 3, *[40.0] * 9])
    assert "slowed by light" in named(bean) and [text.get_text() for text in bean.texts] == ["grow"]


def test_every_field_has_its_air_and_its_water() -> None:
    env, record = farm("two-climates-v2"), recorded("two-climates-v2", 4)
    say(env, record, 2, "Field-1", "Weather-0", {"air_temperature/mean#°C": 25.0})
    panels = titled(season(env, record))
    means = [drawn(panels[title])["mean temperature"][2] for title in ("Field-0, montpellier", "Field-1, lille")]
    assert means == [18.0, 25.0]
    water = next(panel for panel in panels.values() if panel.get_ylabel() == "soil water, L")
    assert sum("water in the soil" in line for line in drawn(water)) == 2


def test_days_of_two_half_steps_are_days() -> None:
    env, record = farm("paid-looks-1x1-v1"), recorded("paid-looks-1x1-v1", 9)
    record["info/observation cost"][3] = 0.01
    weeding = ["BasicFarmer-0", "Field-0", "Weeds-0", "remove", {"plot": (0, 0)}]
    order(env, record, 6, [weeding])
    page = season(env, record)
    air, reward = page.axes[0], next(panel for panel in page.axes if panel.get_ylabel() == "reward")
    assert len(drawn(air)["mean temperature"]) == 5, "the start and four days"
    marks = {dots.get_label(): np.asarray(dots.get_offsets()) for dots in reward.collections}
    np.testing.assert_allclose(marks["Weeds-0 remove"], [[3, record["reward"][:7].sum()]])
    np.testing.assert_allclose(marks["looked, and paid for it"], [[1, record["reward"][:4].sum()]])
