"""Start values of a farm file: what is accepted, what changes nothing, and what is drawn for each plot."""

from __future__ import annotations

from typing import Any

import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.farm.engine.model import FarmModel
from tests.farm.one_field import make_farm

BARE = [("Weather", "lille"), ("Soil", "clay")]


def bare(init: dict[str, Any], shape: tuple[int, int] = (1, 1), **rules: Any) -> FarmModel:
    return make_farm(BARE, shape, init, rules=rules)


def test_a_start_of_zero_for_an_absent_target_changes_nothing() -> None:
    plain = bare({})
    zeros = {"amount_cide#g/pollinators": [0], "amount_cide#g/weeds": 0, "amount_cide#g/soil": 0.0}
    given = bare({"Soil-0": zeros})
    assert [start.variable.key for start in given.starts] == ["amount_cide#g/soil"] and not plain.starts
    with pytest.raises(ConfigError, match=r"expected a known variable, got 'pollinators'; try one of soil"):
        bare({"Soil-0": {"amount_cide#g/pollinators": [0, 0.1]}})
    with pytest.raises(ConfigError, match=r"expected a known variable, got 'polinators'"):
        bare({"Soil-0": {"amount_cide#g/polinators": 0}})
    with pytest.raises(ConfigError, match=r"expected a known variable, got 'amount_cid#g'; try 'amount_cide#g'"):
        bare({"Soil-0": {"amount_cid#g/pollinators": 0}})


def test_values_that_an_entity_computes_are_dropped_with_one_warning() -> None:
    computed = {"air_temperature/max#°C": [12.5], "rain_amount": "none", "day": 40}
    with pytest.warns(UserWarning, match="it is ignored, as the entity computes it") as reported:
        given = bare({"Weather-0": computed})
    (warning,) = reported
    for key in ("air_temperature/max#°C", "rain_amount"):
        assert f"rules > init > Field-0 > Weather-0 > {key}" in str(warning.message)
    assert [start.variable.key for start in given.starts] == ["day#int365"]
    assert given.spec.rules.init == {"Field-0": {"Weather-0": {"day#int365": [40]}}}, "nothing to warn of again"
    with pytest.raises(ConfigError, match=r"expected a known variable, got 'air_temperture'; try 'air_temperature'"):
        bare({"Weather-0": {"air_temperture/max#°C": 12}})


def test_any_amounts_in_the_range_are_choices() -> None:
    def water(**limits: Any) -> FarmModel:
        return bare({}, interventions={"Field-0": {"Soil-0": {"water_discrete": limits}}})

    amounts = [0, 6, 7.5, 20]
    table = water(**{"amount#L": amounts, "duration#min": [45]}).actions
    assert table.size == 1 + len(amounts)
    orders = [table.order(number) for number in range(1, table.size)]
    assert [order.values for order in orders if order] == [(amount, 45) for amount in amounts]
    with pytest.raises(ConfigError, match=r"watering_discrete > amount#L: expected a number from 0 to 20, got 21"):
        water(**{"amount#L": [1, 21]})
    with pytest.raises(ConfigError, match="expected one of 0, 6, 7.5, 20, got 5"):
        table.index(("farmer-0", "Field-0", "Soil-0", "water_discrete", {"plot": (0, 0), "amount": 5, "duration": 45}))


@pytest.mark.parametrize(
    ("kind", "name", "parameter", "values", "words"),
    [
        (("Fertilizer", "basic_N"), "scatter_bag", "amount#bag", [0, 2.5], "from 0 to 4"),
        (("Facility", "base_facility"), "put_scarecrow", "type", ["advanced"], "one of basic, advanced"),
    ],
)
def test_other_actions_take_their_range_or_their_words(
    kind: Any, name: str, parameter: str, values: list[Any], words: str
) -> None:
    def limit(listed: list[Any]) -> FarmModel:
        allowed = {"Field-0": {f"{kind[0]}-0": {name: {parameter: listed}}}}
        return make_farm([*BARE, kind], rules={"interventions": allowed})

    assert limit(values).actions.rows[0].allowed[0].choices == tuple(values)
    with pytest.raises(ConfigError, match=words):
        limit([99])

