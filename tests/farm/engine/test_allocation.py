"""The allocator: what is given is what is asked, or what there is, by priority; nothing is made or lost between."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.farm.engine.field_day import allocate
from harvestgym.farm.entities.messages import Ground, Need
from tests.farm.messages import message, stacked_needs
from tests.farm.soil_plant_day import field


def need(water: list[float], nutrients: list[float]) -> Need:
    """Return the needs of each host on one plot, equal for each nutrient."""
    each = zip(water, nutrients, strict=True)
    return stacked_needs(field(), *({"water": litres, "nutrients": grams} for litres, grams in each))


def ground(water: Any, nutrients: float, microlife: float = 1.0, shape: tuple[int, int] = (1, 1)) -> Ground:
    return message(Ground, field(shape), extractable=water, nutrients=nutrients, microlife=microlife)


@pytest.mark.parametrize(
    ("priorities", "given"),
    [
        ([0, 0, 0], [1.5, 3.0, 0.0]),
        ([0, 1, 0], [0.0, 4.5, 0.0]),
        ([1, 0, 0], [3.0, 1.5, 0.0]),
        ([2, 1, 0], [3.0, 1.5, 0.0]),
    ],
)
def test_the_first_in_rank_are_served_and_equals_in_proportion(priorities: list[int], given: list[float]) -> None:
    """Three ask 3, 6 and 0 of 4.5."""
    share = allocate(need([3, 6, 0], [3, 6, 0]), ground(4.5, 4.5), priorities)
    np.testing.assert_allclose(share.water[:, 0, 0], given, rtol=1e-6)
    np.testing.assert_allclose(share.nutrients[:, :, 0, 0], [given] * 4, rtol=1e-6)


def test_microlife_passes_its_share_of_what_is_asked() -> None:
    """Section 4.3: of 3 and 6 g asked, a microlife of 40 % requests 1.2 and 2.4; the stock limits what it requests."""
    plenty = allocate(need([0, 0], [3, 6]), ground(9, 50, 0.4), [0, 0])
    np.testing.assert_allclose(plenty.nutrients[:, :, 0, 0], [[1.2, 2.4]] * 4, rtol=1e-6)
    scarce = allocate(need([0, 0], [3, 6]), ground(9, 1.8, 0.4), [0, 0])
    np.testing.assert_allclose(scarce.nutrients[:, :, 0, 0], [[0.6, 1.2]] * 4, rtol=1e-6)
    assert not np.any(allocate(need([0, 0], [3, 6]), ground(9, 50, 0.0), [0, 0]).nutrients)


def test_allocation_conserves_for_any_request() -> None:
    """Random needs of four hosts in three ranks, some of nothing, of stocks among which some are empty."""
    rng = np.random.default_rng(0)
    asked = jnp.asarray(rng.exponential(2, (4, 30, 30)) * rng.integers(0, 2, (4, 30, 30)), jnp.float32)
    stock = jnp.asarray(rng.exponential(4, (30, 30)) * rng.integers(0, 2, (30, 30)), jnp.float32)
    needs = stacked_needs(field((30, 30)), *({"water": water} for water in asked))
    share = allocate(needs, ground(stock, 50, shape=(30, 30)), [1, 0, 2, 1]).water
    total, given = np.asarray(asked).sum(0), np.asarray(share).sum(0)
    np.testing.assert_allclose(given, np.minimum(total, stock), rtol=1e-6)
    assert (
        (share >= 0).all() and (share <= asked * (1 + 1e-6)).all() and (total > stock).any() and (total < stock).any()
    )
