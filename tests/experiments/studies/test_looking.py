"""The study of observation costs: its short form, its farmers' rules, and the choice of the best one."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pyarrow.parquet
import pytest

from experiments.studies import looking
from experiments.studies.looking import Arm, ArmSeasons
from harvestgym.evaluate.statistics import summarise
from harvestgym.farm.engine.model import FarmModel

FARM = "paid-looks-1x1-v0"
SEASONS = 5
DAILY, WEEKLY = Arm("everything, daily", 1, 1), Arm("needed, every 7 days", 7)
BLIND = Arm("nothing", water=8, harvest=205)


def test_the_best_farmer_observes_now_and_then(tmp_path: Path) -> None:
    """At the game's price, looking every five days beats both looking at all daily and not looking, in 60 seasons."""
    table = looking.run(60, tmp_path, games=("paid-looks-1x1-v0",), days=(1, 5), blind=((14, 190), (8, 205)))
    seasons = pyarrow.parquet.read_table(tmp_path / "looking.parquet").to_pydict()
    farmers = list(dict.fromkeys(seasons["farmer"]))
    gross, seen = (np.asarray(seasons[c]).reshape(5, 60) for c in ("return_looks_not_paid", "numbers_seen"))
    assert farmers[:3] == ["everything, daily", "needed, every 1 days", "needed, every 5 days"]
    assert seen[0].mean() > 2.5 * seen[1].mean() > 5 * seen[2].mean() and (seen[3:] == 0).all()
    net = gross - looking.PRICE * seen
    for other in (0, 1, 3, 4):
        assert summarise(net[2] - net[other]).low > 0, farmers[other]
    best = {row[1]: row[2] for row in table.rows}
    assert best["0.003"] == "needed, every 5 days" and "nothing" in best["0.03"]
    assert (tmp_path / "looking.png").stat().st_size > 0


def make_seasons(arm: Arm, gross: float, seen: float) -> ArmSeasons:
    return ArmSeasons(FARM, arm, np.full(SEASONS, gross), np.full(SEASONS, seen))


TUNED = [make_seasons(DAILY, 10.0, 100.0), make_seasons(WEEKLY, 9.0, 20.0), make_seasons(BLIND, 5.0, 0.0)]
"""The more is observed, the higher the return before the costs."""


def test_the_return_falls_linearly_with_the_price() -> None:
    for price in (0.0, 0.01, 0.1):
        np.testing.assert_allclose(TUNED[0].at(price), 10 - 100 * price)
        np.testing.assert_allclose(TUNED[2].at(price), 5.0)


@pytest.mark.parametrize(
    ("price", "best"), [(0.0, DAILY), (0.012, DAILY), (0.013, WEEKLY), (0.19, WEEKLY), (0.21, BLIND)]
)
def test_the_best_farmer_observes_less_as_the_price_rises(price: float, best: Arm) -> None:
    """The lines of the first two cross at 1 / 80 = 0.0125, of the last two at 4 / 20 = 0.2."""
    assert TUNED[looking.find_best_arm(TUNED, price)].arm == best


def test_the_best_blind_farmer_observes_nothing() -> None:
    worse = make_seasons(Arm("nothing either", water=3), 4.0, 0.0)
    assert looking.find_best_blind_arm([*TUNED, worse]) == 2 == looking.find_best_blind_arm([TUNED[0], worse, TUNED[2]])


@pytest.fixture(scope="module")
def farm() -> FarmModel:
    return looking.make_paid_farm(FARM)


def test_every_observation_of_the_paid_farm_has_its_price(farm: FarmModel) -> None:
    game = looking.PAID_FARMS[FARM]
    prices = np.asarray(farm.requests.prices(farm.params))
    assert len(prices) == len(game.needed) + len(game.other)
    np.testing.assert_allclose(prices, looking.PRICE, rtol=1e-6)


def test_farmers_share_the_program_of_the_farm(farm: FarmModel) -> None:
    """They have the same number of rules, so that one compiled program serves all."""
    policies = [looking.make_farmer(FARM, farm, arm) for arm in (DAILY, WEEKLY, BLIND)]
    shapes = [[np.shape(leaf) for leaf in jax.tree.leaves(policy)] for policy in policies]
    assert shapes[0] == shapes[1] == shapes[2]
