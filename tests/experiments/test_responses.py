"""Crops respond to climate and to what they need as agronomists expect."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.studies.responses import SITE, SITES, Conditions, list_cases, measure_responses
from tests.long_form import long

CROPS = ("bean", "corn", "tomato", "carrots")
TUNING_SEED = 11
ESSENTIAL = ("nitrogen 0", "radiation 0", "water 0", "no phosphorus", "no potassium")


@long
@pytest.mark.parametrize("crop", CROPS)
def test_thermal_time_is_the_same_in_every_climate(crop: str) -> None:
    """From sowing to flowers and to ripeness, at four sites and from six degrees above the base to the optimum."""
    base, optimum = {"bean": (9, 30), "corn": (6, 30), "tomato": (7, 28), "carrots": (4, 24)}[crop]
    cases = {site: (site, Conditions()) for site in SITES}
    cases |= {f"{t}": (SITE, Conditions(degrees=float(t))) for t in range(base + 6, optimum + 1, 3)}
    found = measure_responses(crop, cases, 8, TUNING_SEED)
    for name in ("to_flower", "to_ripe"):
        sums = np.asarray([getattr(response, name) for response in found.values()])
        sums = sums[np.isfinite(sums)]  # the coldest seasons are longer than 300 days
        assert len(sums) >= 6 and sums.max() / sums.min() < 1.06, (name, sums)


@long
@pytest.mark.parametrize("crop", CROPS)
def test_yield_rises_with_what_a_crop_needs_and_is_none_without_it(crop: str) -> None:
    found = measure_responses(crop, list_cases(), 8, TUNING_SEED)
    most = max(response.kg for response in found.values())
    for name in ESSENTIAL:
        if not (crop == "bean" and name == "nitrogen 0"):  # it fixes nitrogen
            assert found[name].kg < 0.02 * most, name
    for curve in ("nitrogen", "radiation", "water"):
        kg = np.asarray([r.kg for name, r in found.items() if name.startswith(curve)])
        up = kg[: np.argmax(kg) + 1]
        assert (np.diff(up) > -0.03 * most).all(), (curve, kg)
    assert found["nitrogen 200"].kg < 0.8 * most, "too much nitrogen costs"
