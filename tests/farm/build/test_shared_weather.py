"""Fields at one place have one weather, unless a file or a constructor says otherwise."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from harvestgym.farm import BasicRule, Farm, Field, Plant, Soil, Weather
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.farm_writer import write_farm
from harvestgym.farm.schema import farm_spec

PLACE = {"latitude#°": 50.6, "longitude#°": 3.05, "altitude#m": 20}
SHAPE = {"length#nb": 1, "width#nb": 1, "scale#m": 1.0}
DAYS = 40
LAPSE = 0.0065
"""degC by which a metre of altitude is colder."""


def run(second: dict[str, Any], weather: Any = "lille", init: Any = None) -> dict[str, np.ndarray]:
    """Return rain and mean temperature by field and day, with other entries of the second field."""
    first = {"localization": PLACE, "shape": SHAPE, "entities": [["Weather", "lille"], ["Soil", "loam"]]}
    other = first | {"entities": [["Weather", weather], ["Soil", "sand"]]} | second
    rules = {"init": {"Field-0": {"Weather-0": {"day#int365": [100, 200]}}} | (init or {})}
    env = build(farm_spec({"fields": {"Field-0": first, "Field-1": other}, "rules": rules}, "test"))

    def step(state: Any, key: jax.Array) -> tuple[Any, Any]:
        air = [of[0] for of in state.fields]
        seen = {"rain": [a.rain for a in air], "t": [a.temperature[1] for a in air], "day": [a.day for a in air]}
        return env.transition(key, state, 0, env.params), seen

    start = env.initial(jax.random.key(1), env.params)
    seen = jax.jit(lambda s: jax.lax.scan(step, s, jax.random.split(jax.random.key(2), DAYS))[1])(start)
    return {name: np.stack(values) for name, values in seen.items()}


def test_fields_at_one_place_share_rain_air_and_start() -> None:
    seen = run({})
    assert seen["rain"][0].any()
    for one, other in seen.values():
        np.testing.assert_array_equal(one, other)


def test_a_higher_field_is_colder_under_the_same_sky() -> None:
    seen = run({"localization": PLACE | {"altitude#m": 220}})
    np.testing.assert_array_equal(*seen["rain"])
    np.testing.assert_allclose(seen["t"][0] - seen["t"][1], 200 * LAPSE, atol=1e-3)


@pytest.mark.parametrize(
    ("second", "weather"),
    [({"own_weather": True}, "lille"), ({"localization": PLACE | {"latitude#°": 51.0}}, "lille"),
     ({}, {"extends": "lille", "air_temperature_noise#°C2": 0.2})],
)  # fmt: skip
def test_other_fields_have_their_own_weather(second: dict[str, Any], weather: Any) -> None:
    seen = run(second, weather, {"Field-1": {"Weather-0": {"day#int365": [100, 200]}}})
    assert (seen["rain"][0] != seen["rain"][1]).any()


def test_an_own_start_is_kept() -> None:
    seen = run({}, init={"Field-1": {"Weather-0": {"day#int365": [300]}}})
    assert seen["day"][0][0] in (100, 200) and seen["day"][1][0] == 300


def test_constructors_and_files_say_own_weather() -> None:
    parts = [(Weather, "lille"), (Soil, "loam"), (Plant, "bean")]
    fields = [Field(PLACE, SHAPE, parts), Field(PLACE, SHAPE, parts, own_weather=True)]
    farm = Farm(fields, rules=BasicRule(max_action_schedule_size=1))
    assert [slot.stream for field in farm.model.fields for slot in field.slots if slot.name == "Weather-0"] == [
        "Field-0/Weather-0", "Field-1/Weather-0",
    ]  # fmt: skip
    assert "own_weather: true" in write_farm(farm.written)
    shared = Farm([fields[0], fields[0]], rules=BasicRule())
    assert shared.model.fields[1].slots[0].stream == "Field-0/Weather-0"
