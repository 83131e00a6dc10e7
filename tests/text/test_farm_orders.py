"""Orders of farms in text: every order has a sentence that is parsed back to it; people's ways of writing; mistakes."""

from __future__ import annotations

from typing import Any

import pytest

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.farm.view.words import say_order
from harvestgym.text.farm_orders import FarmOrders
from tests.long_form import some


@pytest.mark.parametrize("id", some(harvestgym.ids("farm"), "full-1x1-v0", "two-climates-v0", "fertilizer-1x1-v0"))
def test_every_order_is_parsed_back_from_its_sentence(id: str) -> None:
    env: Any = harvestgym.make(id)
    orders = FarmOrders(env)
    for number in range(1, env.actions.size):
        order = env.actions.order(number)
        assert [env.actions.number(found) for found in orders.parse(say_order(env, order))] == [number]


@pytest.fixture(scope="module")
def orders() -> FarmOrders:
    env: Any = harvestgym.make("farm/full-3x4-v0")
    return FarmOrders(env)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("Water 20L on (1,2), (0,1)", ["water 20 L at (1, 2)", "water 20 L at (0, 1)"]),
        ("irrigate plot with 10 litres at 0,3", ["water 10 L at (0, 3)"]),
        ("spray herbicide at column 1", [f"scatter herbicide 1 bag at (1, {y})" for y in range(4)]),
        ("plant beans at 2,2 and 0,0", ["sow bean 15 seeds at (2, 2)", "sow bean 15 seeds at (0, 0)"]),
        ("weed at 2,3", ["remove weeds at (2, 3)"]),
        ("put an advanced scarecrow", ["put scarecrow advanced"]),
        ("HARVEST", ["harvest bean"]),
        ("fertilize at 0,1", ["scatter fertilizer 1 bag at (0, 1)"]),
    ],
)
def test_orders_are_read_as_people_write_them(orders: FarmOrders, line: str, meant: list[str]) -> None:
    assert [say_order(orders.env, order) for order in orders.parse(line)] == meant


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("water 7 L at 0,0", "expected 5 L, 10 L or 20 L, got 7; try: water 5 L"),
        ("water 20000 ml at 0,0", "expected 5 L, 10 L or 20 L, got 20000 ml; try: water 5 L"),
        ("water at 0,0", "expected 5 L, 10 L or 20 L, got nothing"),
        ("watter 10 L", "expected an order; try: water"),
        ("remove", "try: remove bean at PLOTS or remove weeds at PLOTS"),
        ("do not water 10 L at 0,0", "expected an order"),
        ("water 10 L at 5,5", "expected plots from 0,0 to 2,3, got 5,5"),
        ("water 10 L", "got no plot; try: at 2,3 or at all"),
        ("water 10 L 20 L at 0,0", "expected no further number, got 20 L"),
        ("harvest bean at 0,0", "expected no plot"),
        ("water 10 L at the pond", "got 'the pond'"),
        ("water 10 L at 0,0 by anna", "expected by basicfarmer-0, got 'anna'"),
    ],
)
def test_mistakes_are_answered_with_the_nearest_order(orders: FarmOrders, line: str, answer: str) -> None:
    with pytest.raises(ConfigError) as error:
        orders.parse(line)
    assert answer in str(error.value)
