"""Start values of a farm file: what is accepted, what changes nothing, and what is drawn for each plot."""

from __future__ import annotations

import datetime
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.build.compile import build_text
from harvestgym.farm.build.farm_writer import write_farm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.weather.day_source import DRAWS
from harvestgym.farm.schema import RulesSpec
from harvestgym.farm.spelling import read_day
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
    with pytest.warns(UserWarning, match="it is ignored, because the entity computes it") as reported:
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


def draw(model: FarmModel, key: int = 0) -> list[np.ndarray]:
    pairs = zip(model.starts, model.params.starts, strict=True)
    return [np.asarray(start.draw(jax.random.key(key), values)) for start, values in pairs]


def test_a_start_may_be_given_for_each_plot() -> None:
    """One list for each x, and in it one value for each y, as an array of the field."""
    litres = [[100, 110, 120], [130, 140, 150.0]]
    for given in (litres, np.asarray(litres)):
        model = bare({"Soil-0": {"available_Water#L": given}}, (2, 3))
        np.testing.assert_array_equal(draw(model)[0], np.asarray(litres, np.float32))
    assert build_text(write_farm(model.spec)).spec == model.spec
    state = jax.eval_shape(lambda key: model.initial(key, model.params), jax.random.key(0))
    assert state.fields[0][1].water.shape == (2, 3)


def test_each_plot_may_draw_its_own_start() -> None:
    init: dict[str, Any] = {
        "available_Water#L": {"each": [100, 140]}, "microlife_health_index#%": {"each": "(20, 60)"},
        "available_N#g": [1, 2],
    }  # fmt: skip
    model = bare({"Soil-0": init}, (8, 9))
    water, life, nitrogen = draw(model)
    assert set(water.ravel().tolist()) == {100.0, 140.0} and len(np.unique(nitrogen)) == 1
    assert len(np.unique(life)) > 60 and life.min() >= 20 and life.max() <= 60
    assert not np.array_equal(water, draw(model, 1)[0])
    assert build_text(write_farm(model.spec)).spec == model.spec


@pytest.mark.parametrize(
    ("entity", "key", "value", "words"),
    [
        ("Soil-0", "available_Water#L", [[100, 110]], "expected 2 lists (x) of 3 values (y), one for each plot, got"),
        ("Soil-0", "available_Water#L", [[1, 2, 3], 4], "expected 2 lists (x) of 3 values (y)"),
        ("Soil-0", "available_Water#L", [[1, 2, 3], [4, 5, 999]], "> 1 > 2: expected a number from 0 to 180, got 999"),
        ("Soil-0", "available_Water#L", {"each": [[1, 2, 3]] * 2}, "expected no list inside a list"),
        ("Soil-0", "available_Water#L", {"each": []}, "expected values, or an interval"),
        ("Soil-0", "available_Water#L", {"eech": [1]}, "eech: expected a known key, got 'eech'"),
        ("Weather-0", "day#int365", [[1, 2]], "expected no list inside a list, got [[1, 2]]"),
        ("Weather-0", "day#int365", {"each": [1, 2]}, "expected no `each`, because the variable has no plots, got one"),
    ],
)
def test_a_wrong_start_of_plots_is_refused(entity: str, key: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        bare({entity: {key: value}}, (2, 3))
    assert words in str(error.value) and key in str(error.value), error.value


def test_the_year_counts_new_years_and_may_be_given() -> None:
    model = bare({"Weather-0": {"day": 364, "year": 5}})
    weather: Any = model.params.fields[0].entities[0]
    place, key = model.params.fields[0].place, jax.random.key(0)
    state = replace(weather.init(key, place), day=jnp.int32(364), year=jnp.int32(5))
    shapes = {"day": (DRAWS,), "noise": (3,), "direction": (), "forecast": (4, weather.lookahead)}
    draws = {name: jnp.full(shape, 0.5) for name, shape in shapes.items()}
    update = jax.jit(lambda state: weather.update(state, place, cast(Any, None), draws)[0])
    years = []
    for _ in range(3):
        years.append((int(state.day), int(state.year)))
        state = update(state)
    assert years == [(364, 5), (365, 5), (1, 6)]


@pytest.mark.parametrize(
    ("written", "days"),
    [
        (datetime.date(2024, 5, 1), [121]),
        ("2024-05-01", [121]),
        ("1 May", [121]),
        (["May 1", "31 December", 5], [121, 365, 5]),
        ("(1 May, 3 may)", [121, 122, 123]),
        ("(30 Dec, 2 Jan)", [364, 365, 1, 2]),
        ((datetime.date(2024, 2, 28), datetime.date(2024, 3, 1)), [59, 60]),
    ],
)
def test_a_day_of_the_year_may_be_a_date(written: Any, days: list[int]) -> None:
    given = RulesSpec.model_validate({"init": {"f": {"w": {"day": written}}}}).init["f"]["w"]["day"]
    assert isinstance(given, list) and [read_day(day) for day in given] == days


def test_a_farm_may_start_on_a_date_and_end_on_one() -> None:
    model = bare({"Weather-0": {"day": "(1 May, 2 May)"}}, terminal_conditions="Weather-0.day >= '3 May'")
    assert model.spec.rules.init["Field-0"]["Weather-0"]["day#int365"] == [121, 122]
    assert float(model.params.stops[0]) == 123
