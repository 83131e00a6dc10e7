"""WOFOST under a made-up summer: maize grows without a network, later where it is colder."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.common import fao56, wofost

DAYS = np.arange(100, 300)
RNG = np.random.default_rng(0)
LOW = 12 + RNG.normal(0, 2, DAYS.size)
SILT = wofost.WofostSoil(0.32, 0.17, 1.5)
AIR = {
    "t_min": LOW, "t_max": LOW + 11, "t_mean": LOW + 5.5, "wind": np.full(DAYS.size, 2.0),
    "humidity": RNG.uniform(50, 80, DAYS.size),
}  # fmt: skip


def test_wofost_grows_maize_without_a_network() -> None:
    """A summer of 23 degC: it flowers after two to three months, ripens and gives some tons; a short one ends early."""
    pytest.importorskip("pcse")
    sun = fao56.solar(AIR["t_min"], AIR["t_max"], 43.6, DAYS)
    vapour = fao56.actual_vapour(AIR["t_min"], AIR["t_max"], AIR["humidity"])
    days = AIR | {"radiation": sun, "vapour": vapour, "et0": np.full(DAYS.size, 4.0)}
    warm = days | {name: AIR[name] + 6 for name in ("t_min", "t_max", "t_mean")} | {"rain": np.full(DAYS.size, 4.0)}
    found = wofost.maize(warm, int(DAYS[0]), 43.6, SILT)
    assert 30 < found.to_flowers < 90 and found.to_flowers + 20 < found.to_maturity < 180
    assert 0.4 < found.kg < 2.0 and 100 < found.transpired < 800 and 20 < found.evaporated < 400
    dry = wofost.maize(warm | {"rain": np.zeros(DAYS.size)}, int(DAYS[0]), 43.6, SILT)
    assert dry.to_flowers == found.to_flowers and dry.kg < 0.7 * found.kg and dry.transpired < found.transpired
    assert dry.transpired + dry.evaporated < 1000 * SILT.depth * (SILT.capacity - SILT.wilting) + 1
    short = wofost.maize({name: values[:40] for name, values in warm.items()}, int(DAYS[0]), 43.6, SILT)
    assert np.isnan(short.to_maturity) and short.transpired < found.transpired
