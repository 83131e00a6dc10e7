"""The plots of a field, and the messages that each entity on it reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import import_file
from harvestgym.farm.entities.base import Action, Board, Parameter, Place, action, check_order
from harvestgym.farm.entities.messages import Canopy, Ground, Load, Need, Share, Structures
from harvestgym.farm.entities.plant import Plant
from tests.farm.messages import message
from tests.farm.soil_plant_day import field

HOSTS = ("Plant-0", "Plant-1", "Weeds-0")


def test_the_wild_edge_is_as_far_as_the_nearest_side() -> None:
    """Rows are x, columns are y; a plot on the border is at distance 0."""
    wanted = [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 2, 1, 0], [0, 1, 2, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(field((6, 5)).distance_to_edge, wanted)
    np.testing.assert_array_equal(field((5, 6)).distance_to_edge, np.transpose(wanted))
    assert field((6, 5)).distance_to_edge.dtype == np.float32 and not field((1, 9)).distance_to_edge.any()


def test_the_surface_of_a_plot_is_the_square_of_its_side() -> None:
    assert float(field(scale=3.0).surface) == 9.0
    assert field((2, 3), hosts=HOSTS).sizes == {"plot": (2, 3), "host": (3,), "target": (1,)}


def reads(reader: str, rank: float = float("inf"), **said: Any) -> Board:
    """Return the board of `reader` on two plots with three hosts; messages by their type and sender."""
    place = field((1, 2), hosts=HOSTS)
    posts = {kind: {who: message(kind, place, **v) for who, v in senders.items()} for kind, senders in said["said"]}
    return Board(place, posts, reader, rank)


def test_a_host_reads_the_others_in_order_and_not_itself() -> None:
    canopies = {"Weeds-0": {"height": 1.0}, "Plant-0": {"height": 2.0}, "Plant-1": {"height": 3.0}}
    for reader, others in (("Plant-0", [3, 1]), ("Plant-1", [2, 1]), ("Weeds-0", [2, 3]), ("Birds-0", [2, 3, 1])):
        board = reads(reader, said=[(Canopy, canopies)])
        assert [float(other.height[0, 0]) for other in board.read_others(Canopy)] == others
    assert float(reads("Plant-1", said=[(Canopy, canopies)]).read_own(Canopy).height[0, 0]) == 3.0
    alone = reads("Plant-0", said=[(Canopy, {"Plant-0": {"height": 2.0}})])
    assert alone.read_others(Canopy) == [], "hosts that publish nothing are not there"
    np.testing.assert_array_equal(alone.read_hosts(Canopy).height[:, 0, 0], [2.0, 0.0, 0.0])


def test_a_host_reads_its_own_part_of_a_message_on_hosts() -> None:
    """Summed over those who send it; the host axis comes after the nutrients."""
    pests = jnp.asarray([1.0, 2.0, 4.0])[:, None, None]
    loads = {"Pests-0": {"pests": pests}, "Pests-1": {"pests": 10 * pests}}
    shares = {"allocator": {"water": pests, "nutrients": jnp.arange(4.0)[:, None, None, None] * pests}}
    board = reads("Weeds-0", said=[(Load, loads), (Share, shares)])
    np.testing.assert_array_equal(board.read_own(Load).pests, [[44.0, 44.0]])
    assert float(board.read_own(Share).water[0, 1]) == 4.0
    np.testing.assert_array_equal(board.read_own(Share).nutrients[:, 0, 1], [0, 4, 8, 12])
    own = reads("Pests-1", said=[(Load, loads)]).read_own(Load)
    np.testing.assert_array_equal(own.pests[:, 0, 0], [10, 20, 40], err_msg="who is no host reads what it published")


def test_one_message_is_one() -> None:
    for senders, found in ((("Soil-0",), None), ((), "got 0"), (("Soil-0", "Soil-1"), r"got 2 \(Soil-0, Soil-1\)")):
        board = reads("Plant-0", said=[(Ground, {sender: {"water": 3.0} for sender in senders})])
        if found is None:
            assert float(board.read_one(Ground).water[0, 0]) == 3.0
        else:
            with pytest.raises(ConfigError, match=f"Plant-0: expected one Ground on its field, {found}"):
                board.read_one(Ground)
    sums = reads("Birds-0", said=[(Structures, {"a": {"deterred": 1.0}, "b": {"deterred": 2.0}})])
    assert float(sums.read_sum(Structures).deterred) == 3.0 and not float(sums.read_sum(Canopy).alive.sum())


def test_a_publisher_reads_lower_ranks_only() -> None:
    """Needs are known before the allocation, and what is allocated can be read by what is published after it."""
    ranks = [kind.rank for kind in (Ground, Need, Share)]
    assert ranks == sorted(ranks) and len(set(ranks)) == 3
    for kind, rank in zip((Ground, Need, Share), ranks, strict=True):
        reads("Late-0", rank + 1, said=[(kind, {})]).read_sum(kind)
        with pytest.raises(ConfigError, match=rf"expected a message of a rank below {rank}, got {kind.__name__}"):
            reads("Early-0", rank, said=[(kind, {})]).read_sum(kind)
    assert Share.rank == 2, "so that pests and pollinators, of rank 2 too, do not wait for it"


def test_an_interval_may_be_a_point() -> None:
    assert list(check_order("low", 2.0, "high", 2.0)) == []
    assert list(check_order("low", [1.0, 3.0], "high", [2.0, 2.5])) == ["low: expected at most high (2), got 3"]


def test_an_action_is_described_by_its_method() -> None:
    class Pump:
        @action("pump", Parameter("amount#L", (1.0,)))
        def fill(self, state: Any, place: Place, where: Any, amount: Any, board: Board) -> None:
            """Fill a tank.

            Slowly.
            """

        @action("stop", plot=False)
        def stop(self, state: Any, place: Place, where: Any) -> None: ...

    assert Pump.fill.action == Action("pump", "fill", True, (Parameter("amount#L", (1.0,)),), "Fill a tank.", True)
    assert Pump.stop.action == Action("stop", "stop", False, (), "", False)


def test_a_kind_without_a_file_of_its_own_is_named_after_its_module() -> None:
    class Late(Plant):
        """A crop with the sets of its base."""

    assert Late.file() == Plant.file() and Plant.file().name == "plant.yaml"


def test_a_set_that_the_own_file_lacks_is_taken_from_the_base(tmp_path: Path) -> None:
    """As when a module with a set file has two kinds, and one of them is a subclass of `Plant`."""
    code = "from harvestgym.farm import Plant, Soil\nclass Hill(Soil): ...\nclass OpenPlant(Plant): ...\n"
    (tmp_path / "hill.py").write_text(code, encoding="utf-8")
    (tmp_path / "hill.yaml").write_text("steep: {extends: {}}\n", encoding="utf-8")
    hill = import_file(tmp_path / "hill.py")
    try:
        assert hill.OpenPlant.file("bean") == Plant.file() and hill.Hill.file("steep").name == "hill.yaml"
        assert float(hill.OpenPlant.named("bean").repulsion) == float(Plant.named("bean").repulsion)
        with pytest.raises(ConfigError, match="OpenPlant set: expected a known name, got 'bena'"):
            hill.OpenPlant.named("bena")
    finally:
        del sys.modules[hill.__name__]
