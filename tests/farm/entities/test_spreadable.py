"""Spread substances: the law of release, actions on one plot, totals, and a field with several of them."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Draws, Ledger, Place
from harvestgym.farm.entities.cide import Cide
from harvestgym.farm.entities.fertilizer import Fertilizer
from harvestgym.farm.entities.messages import Feed
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.spreadable import Pile, Spreadable, released_amount
from harvestgym.testing.entity import check_entity, held
from tests.farm import kinds
from tests.farm.messages import air
from tests.farm.one_field import make_farm
from tests.farm.soil_plant_day import board, earth, field
from tests.long_form import long

LOAM = Soil.named("loam")
KINDS: dict[str, Spreadable] = {"cide": Cide.named("herbicide"), "fertilizer": Fertilizer.named("basic_all")}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
DAYS = 60


def pile(*kg: float) -> Pile:
    amount = jnp.asarray([list(kg)], jnp.float32)
    return Pile(amount=amount, total=amount)


def morning(kind: Spreadable, microlife: float = 100.0, plots: int = 1, targets: tuple[str, ...] = ("soil",)) -> Any:
    """Return the place and the board of a kind on a row of plots whose soil lives so well."""
    place = field((1, plots), targets=targets)
    ground = LOAM.ground(earth(LOAM, place, microlife=microlife), place, board(place, "Soil-0"), {})
    return place, board(place, "Kind-0", ("Soil-0", ground), ("Weather-0", air()))


def test_the_law_of_release_by_hand() -> None:
    """Two kilograms at 0.7 a week and full life: 2 (1 - exp(-0.1)) on the first day; half as fast at half the life."""
    amount, life = jnp.asarray([2.0, 2.0, 2.0, 0.0]), jnp.asarray([1.0, 0.5, 0.0, 1.0])
    wanted = [2 * (1 - math.exp(-0.1)), 2 * (1 - math.exp(-0.05)), 0.0, 0.0]
    np.testing.assert_allclose(released_amount(amount, jnp.float32(0.7), life), wanted, rtol=1e-6)


@each_kind
def test_half_is_gone_after_the_half_life(kind: Spreadable) -> None:
    """7 ln 2 / (speed microlife) days: 14 with a speed of ln 2 a week at half the life."""
    kind = replace(kind, speed=jnp.float32(math.log(2)))
    place, today = morning(kind, microlife=50.0)
    state = pile(3.0)
    for _ in range(14):
        state, ledger = kind.update(state, place, today, {})
        assert not ledger.flows and not ledger.tally, "what is set free stays on the farm"
    np.testing.assert_allclose(state.amount, [[1.5]], rtol=1e-5)
    np.testing.assert_allclose(state.total, [[3.0]])


@each_kind
def test_a_dead_soil_sets_nothing_free(kind: Spreadable) -> None:
    place, today = morning(kind, microlife=0.0)
    state, _ = kind.update(pile(3.0), place, today, {})
    np.testing.assert_array_equal(state.amount, [[3.0]])


@each_kind
def test_rain_does_not_move_what_lies_on_a_plot(kind: Spreadable) -> None:
    place, dry = morning(kind)
    ground = LOAM.ground(earth(LOAM, place), place, board(place, "Soil-0"), {})
    wet = board(place, "Kind-0", ("Soil-0", ground), ("Weather-0", air(rain=40, rain_class=2, rain_intensity=1)))
    (a, _), (b, _) = (kind.update(pile(3.0), place, day, {}) for day in (dry, wet))
    np.testing.assert_array_equal(a.amount, b.amount)


@each_kind
@pytest.mark.parametrize("bags", [False, True])
def test_an_order_touches_its_plot_only(kind: Spreadable, bags: bool) -> None:
    place, here = field((1, 3)), jnp.asarray([[False, True, False]])
    method: Any = kind.scatter_bag if bags else kind.scatter  # pyright: ignore[reportAttributeAccessIssue]
    result = method(pile(0.1, 0.2, 0.3), place, here, jnp.float32(2.0))
    kg = 2.0 * float(kind.bag) if bags else 2.0
    np.testing.assert_allclose(result.state.amount, [[0.1, 0.2 + kg, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(result.state.total, [[0.1, 0.2 + kg, 0.3]], rtol=1e-6)
    np.testing.assert_array_equal(result.done, here)


@each_kind
def test_an_order_is_an_amount_per_square_metre(kind: Spreadable) -> None:
    """Of a plot of 4 m2; bags come by ones to fours, as in the reference implementation."""
    place, here, empty = field(scale=2.0), jnp.asarray([[True]]), pile(0.0)
    assert float(kind.scatter_bag(empty, place, here, jnp.float32(3)).state.total[0, 0]) == pytest.approx(
        12 * float(kind.bag)
    )
    laid = kind.scatter(empty, place, here, jnp.float32(0.5))  # pyright: ignore[reportAttributeAccessIssue]
    assert float(laid.state.amount[0, 0]) == 2.0
    (bags,) = [action.parameters[0] for action in type(kind).actions if action.name == "scatter_bag"]
    assert bags.choices == (1, 2, 3, 4)


def test_a_kilogram_has_a_thousand_grams() -> None:
    laid = KINDS["cide"].scatter_bag(pile(0.0), field(), jnp.asarray([[True]]), jnp.float32(1.0))
    assert float(laid.ledger.tally["cide#g"]) == pytest.approx(1000 * float(KINDS["cide"].bag))


@each_kind
def test_an_order_of_nothing_has_no_effect(kind: Spreadable) -> None:
    before = pile(0.1)
    result = kind.scatter(before, field(), jnp.asarray([[True]]), jnp.float32(0.0))  # pyright: ignore[reportAttributeAccessIssue]
    jax.tree.map(np.testing.assert_array_equal, result.state, before)
    assert not result.done.any() and all(float(count) == 0 for count in result.ledger.tally.values())


class Bed(kinds.Spring):
    """A spring that takes what it is fed."""

    def update(self, state: Any, place: Place, board: Board, draws: Draws) -> tuple[Any, Ledger]:
        new, ledger = super().update(state, place, board, draws)
        return replace(new, nutrients=new.nutrients + board.read_sum(Feed).nutrients), ledger


@each_kind
def test_the_contract_of_an_entity(kind: Spreadable) -> None:
    """On a field without a single target too."""
    check_entity(kind, [Bed(flow=jnp.float32(1.0))])


def farm() -> FarmModel:
    """Return a field of 1 x 2 plots of 4 m2 with two cides and two fertilizers."""
    named = [["Weather", "lille"], ["Soil", "sand"], ["Cide", "pesticide"], ["Cide", "herbicide_fast"]]
    named += [["Fertilizer", "urea"], ["Fertilizer", "compost"]]
    return make_farm(named, (1, 2), scale=2.0)


@long
def test_a_field_of_several_of_them_over_random_days() -> None:
    """Nutrients balance on every plot and day to some roundings, totals never fall, and tallies are their growth."""
    env = farm()
    day, state, rng = jax.jit(env.day), env.initial(jax.random.key(0), env.params), np.random.default_rng(1)
    entities, fed, poisoned = env.params.fields[0].entities, 0, 0
    for t in range(DAYS):
        orders = env.actions.orders(jnp.asarray(rng.integers(env.actions.size)))
        after, report = day(jax.random.key(t), state, orders, env.params)
        then, now = (held(entities, s.fields[0], "nutrients") for s in (state, after))
        flows = [np.asarray(f, np.float64) for n, f in report.flows[0].items() if n.startswith("nutrients:")]
        gross = then + now + sum(np.abs(f) for f in flows)
        assert (np.abs(now - then - sum(flows)) <= 2e-6 * gross).all(), t
        grown = [np.asarray(b.total - a.total) for a, b in zip(state.fields[0][2:], after.fields[0][2:], strict=True)]
        assert min(g.min() for g in grown) >= 0
        cide, fertilizer = 1000 * sum(g.sum() for g in grown[:2]), sum(g.sum() for g in grown[2:])
        np.testing.assert_allclose(report.tally["cide#g"], cide, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(report.tally["fertilizer#kg"], fertilizer, rtol=1e-4, atol=1e-4)
        fed, poisoned, state = fed + (fertilizer > 0), poisoned + (cide > 0), after
    assert fed > 5 and poisoned > 5, "the days were not idle"
