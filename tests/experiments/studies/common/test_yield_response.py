"""The yield response to water of the three crops of FAO-33."""

from __future__ import annotations

import pytest

from experiments.studies.common.published import read_published
from experiments.studies.common.yield_response import PERIODS, YieldResponse, measure_yield_response

SEASONS, SEED = 400, 4
A_FIFTH = 0.2
CROPS = ("bean", "corn", "tomato")


@pytest.fixture(scope="module", params=CROPS)
def found(request: pytest.FixtureRequest) -> tuple[str, list[YieldResponse]]:
    """Return a crop and its response on loam, on seasons that no parameter was chosen on."""
    return request.param, measure_yield_response(request.param, "loam", SEASONS, SEED)


def test_k_y_is_that_of_fao_33_within_a_fifth(found: tuple[str, list[YieldResponse]]) -> None:
    crop, responses = found
    published = read_published()[crop]["k_y"]
    for response in responses:
        assert response.factor == pytest.approx(published[response.period], rel=A_FIFTH), (crop, response)


def test_deficits_of_the_season_go_up_to_a_quarter(found: tuple[str, list[YieldResponse]]) -> None:
    season = [response for response in found[1] if response.period == "whole season"]
    deficits = [response.deficit for response in season]
    assert deficits == sorted(deficits) and deficits[0] < 0.1 and 0.2 < deficits[-1] < 0.3
    assert max(response.died for response in season) < 0.1, "no crop dies of a deficit that only costs yield"


def test_flowers_mind_drought_most_and_leaves_least(found: tuple[str, list[YieldResponse]]) -> None:
    by_period = {response.period: response.factor for response in found[1]}
    assert by_period["flowering"] > by_period["yield formation"] > by_period["vegetative"] > 0
    assert set(by_period) == set(PERIODS)
