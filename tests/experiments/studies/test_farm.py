"""The studies of the paper in their short form: each phenomenon holds on seasons that nothing was tuned on."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from experiments import studies
from experiments.studies import fertilizer, pests_weeds, pollinators, watering
from experiments.studies.common import findings, trials
from harvestgym.core.errors import ConfigError
from harvestgym.core.view.timeline import ignore_progress

SEASONS = 30
MORE = 300
"""Where seasons differ most, by who survives the pests."""


@pytest.mark.parametrize(
    ("study", "seasons", "crops", "rows", "steps"),
    [
        (watering, SEASONS, ("tomato",), 2 * len(watering.DAILY_LITRES), 2),
        (pollinators, SEASONS, ("bean", "corn"), 2 * 2 * len(pollinators.FEW_LITRES), 2),
        (pests_weeds, MORE, None, 2 * len(pests_weeds.SPRAY_INTERVALS), 2),
        (fertilizer, SEASONS, ("tomato",), 2 * len(fertilizer.PLANS), 1),
    ],
    ids=lambda value: value.__name__.rpartition(".")[2] if isinstance(value, ModuleType) else None,
)
def test_the_phenomena_hold(
    study: Any, seasons: int, crops: tuple[str, ...] | None, rows: int, steps: int, tmp_path: Path
) -> None:
    reported: list[int] = []
    options = {} if crops is None else {"crops": crops}
    _, claimed = study.run(seasons, tmp_path, reported.append, **options)
    assert len(reported) == steps
    assert claimed.rows and all(row[-1] == "yes" for row in claimed.rows), claimed.rows
    [path] = tmp_path.glob("*.parquet")
    kept = pyarrow.parquet.read_table(path).to_pydict()
    assert len(kept["yield_kg_m2"]) == rows * seasons and min(kept["yield_kg_m2"]) >= 0
    assert path.with_suffix(".png").stat().st_size > 0


def test_the_phenomena_hold_on_farms_on_which_nothing_was_chosen() -> None:
    """They hold on other soils and densities; they do not without the parameter that builds them in.

    Where it rains, as in Seattle, a litre less from above is no longer a litre less for the crop.
    """
    dry = watering.claim_watering_variants(SEASONS, ("tomato",), trials.REPORTED, ignore_progress)
    bees = pollinators.claim_bee_variants(SEASONS, trials.REPORTED, ignore_progress)
    rainy = "recorded summers of Seattle"
    assert _names_that_fail(dry) == {"without the bypass, which is built in", rainy}, dry
    assert _names_that_fail(bees) == {"pollination by itself as in the reference", rainy}, bees


def _names_that_fail(found: list[tuple[str, findings.Claim]]) -> set[str]:
    return {name for name, claim in found if not claim.holds}


def test_studies_are_named_as_on_the_command_line() -> None:
    assert {"watering", "pollinators", "pests-weeds", "fertilizer"} <= set(studies.list_studies())
    assert studies.load_study("pests-weeds") is pests_weeds.run
    with pytest.raises(ConfigError, match="pests-weeds"):
        studies.load_study("pest-weeds")


def test_farms_of_unlike_structure_are_no_trial() -> None:
    bare = [("Weather", "dry"), ("Soil", "clay"), ("Plant", "bean")]
    cases = [trials.Case({}, trials.make_trial_farm(each), 1.0) for each in (bare, [*bare, ("Pollinators", "bee")])]
    with pytest.raises(ConfigError, match="one structure"):
        trials.run_seasons(cases, watering.water_daily, trials.watch_harvest, 1, 0)


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    """1.96 standard errors of 400 numbers either way, to a tenth of them; pairs that differ by one differ by one."""
    sample = np.random.default_rng(1).normal(3.0, 2.0, 400)
    found = findings.bootstrap(lambda x: x.mean(-1), sample)
    half = 1.96 * sample.std() / 20
    np.testing.assert_allclose((found.low, found.high), (sample.mean() - half, sample.mean() + half), atol=0.1 * half)
    assert findings.difference(sample + 1, sample) == pytest.approx((1.0, 1.0, 1.0))
    assert findings.ratio(3 * sample, sample) == pytest.approx((3.0, 3.0, 3.0))


def test_a_claim_is_about_the_whole_interval() -> None:
    effect = findings.ConfidenceInterval(2.5, 1.9, 3.1)
    assert not findings.claim_at_least("", effect, 2).holds and findings.claim_at_least("", effect, 1.9).holds
    assert not findings.claim_at_most("", effect, 3).holds and findings.claim_at_most("", effect, 3.1).holds
    assert not findings.claim_within("", effect, 2, 4).holds and findings.claim_within("", effect, 1, 4).holds


def test_the_litres_for_half_of_the_largest_yield_lie_between_two_amounts() -> None:
    """None at 1.5 L, three quarters at 1.75 L: half by a straight line two thirds of the way."""
    kg = np.zeros((len(watering.DAILY_LITRES), 4))
    at = watering.DAILY_LITRES.index(1.75)
    kg[at, :3] = kg[at + 1 :] = 1
    assert float(watering.litres_for_half(kg)) == pytest.approx(1.5 + 0.25 * 2 / 3)
    assert watering.litres_for_half(kg + 1) == 0, "without any"
