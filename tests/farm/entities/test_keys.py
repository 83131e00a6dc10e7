"""Names of the paper are names here: variables, actions and parameters of ten kinds, drivers of (26) to (34)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from harvestgym.core.pytree import iterate_metas
from harvestgym.farm.build.compile import name_farm
from harvestgym.farm.build.components import compile_field, load_kind
from harvestgym.farm.engine.name_table import NameTable
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.schema import farm_spec
from harvestgym.farm.spelling import resolve_spelling

SETS = {
    "Weather": "montpellier", "Soil": "loam", "Plant": "bean", "Birds": "base_bird", "Weeds": "base_weed",
    "Pests": "basic", "Pollinators": "bee", "Cide": "herbicide", "Fertilizer": "fast_all", "Facility": "base_facility",
}  # fmt: skip
SCATTERED = ["amount#kg", "total_cumulated_scattered_amount#kg"]
VARIABLES: dict[str, list[str]] = {
    "Weather": [
        "day#int365", "year#nb", "air_temperature", "air_temperature/mean#°C", "air_temperature/min#°C",
        "air_temperature/max#°C",
        "humidity_index#%", "humidity_index%", "wind/speed#km.h-1", "wind/direction", "sun_exposure#int5",
        "rain_amount", "rain_intensity", "consecutive_dry#day", "consecutive_frost#day", "forecast/air_temperature",
    ],
    "Soil": [
        *(f"available_{n}#g" for n in "NPKC"), "available_Water#L", "wet_surface#m2.day-1", "microlife_health_index#%",
        "amount_cide#g", *(f"amount_cide#g/{target}" for target in ("soil", "weeds", "pests", "pollinators")),
    ],
    "Plant": [
        "stage", "global_stage", "population#nb", "size#cm", "grow_size_threshold#cm", "flowers_per_plant#nb",
        "pollinator_visits#nb", "flowers_pollinated_per_plant#nb", "fruits_per_plant#nb", "fruit_weight#g",
        "fruit_weight_threshold#g", "harvest_weight#kg", *(f"cumulated_nutrients_{n}#g" for n in "NPKC"),
        *(f"cumulated_stress_nutrients_{n}#g" for n in "NPKC"), "cumulated_water#L", "cumulated_stress_water#L",
        "age_seed#day", "consecutive_nogrow#day", "age_bloom#day", "consecutive_noweight#day", "age_ripe#day",
    ],
    "Birds": ["population#nb", "total_cumulated_birds#nb"],
    "Weeds": ["grow#nb", "seeds#nb", "flowers#nb"],
    "Pests": ["plot_population#nb", "onplant_population#nb", "onplant_population#nb/Plant-0"],
    "Pollinators": ["occurrence#bin"],
    "Cide": SCATTERED, "Fertilizer": SCATTERED, "Facility": ["scarecrow"],
}  # fmt: skip
AMOUNTS = {"scatter": ["plot", "amount#kg"], "scatter_bag": ["plot", "amount"], "scattering": ["plot", "amount#kg"],
           "scattering_bag": ["plot", "amount"]}  # fmt: skip
POUR = ["plot", "amount#L", "duration#min"]
ACTIONS: dict[str, dict[str, list[str]]] = {
    "Weather": {}, "Birds": {}, "Pests": {}, "Pollinators": {}, "Weeds": {"remove": ["plot"]},
    "Soil": {"watering_discrete": POUR, "watering_continuous": POUR}, "Cide": AMOUNTS, "Fertilizer": AMOUNTS,
    "Plant": {"sow": ["plot", "amount", "spacing#cm"], "harvest": [], "micro_harvest": ["plot"], "remove": ["plot"]},
    "Facility": {"put_scarecrow": ["type"], "remove_scarecrow": []},
}  # fmt: skip
EATEN = [f"{n}_grow_consumption#g.mm-1" for n in "NPKC"]
SPEED = ["base_absorption_speed#kg.week-1", "bag#kg"]
PARAMETERS: dict[str, list[str]] = {
    "Soil": [
        "depth#m", "max_water_capacity#L.m-3", "wilting_point#L.m-3", "water_surface_absorption_speed#m2.day-1",
        *(f"bedrocks_release_{n}#mg.day-1" for n in "NPKC"),
    ],
    "Plant": [
        "initial_stage", "size_max#cm", "flowers_max#nb", "fruit_weight_max#g", "shadow_coeff#%",
        "pest_repulsive_effect#float", *EATEN,
    ],
    "Birds": ["max_population", "seed_eater", "pest_eater", "pollinator_eater"],
    "Weeds": [
        "max_new_seeds#nb", "flowers_per_plant#nb", "flower_to_seed#%", "seed_per_flower#nb",
        "pest_repulsive_effect#float", *EATEN,
    ],
    "Pests": ["arrival_frequency#day-1", "min_population#nb", "max_population#nb"],
    "Pollinators": ["visit_conditions"], "Cide": ["effect", *SPEED], "Fertilizer": SPEED,
    "Facility": ["scarecrow_strength"],
}  # fmt: skip
NUTRIENTS = {"N", "P", "K", "C"}
DRIVERS: dict[int, tuple[str, str, set[str]]] = {
    26: ("Weeds", "appear", {"distance_to_edge"}),
    27: ("Weeds", "grow", {"temperature", "humidity", "herbicide"}),
    28: ("Weeds", "bloom", {"herbicide"}),
    29: ("Weeds", "stay", {"temperature", "herbicide", "water"} | NUTRIENTS),
    32: ("Pests", "appear", {"distance", "temperature", "pesticide"}),
    33: ("Pests", "stay", {"distance", "temperature", "pesticide", "birds"}),
    34: ("Pollinators", "visit_conditions", {"distance", "temperature", "wind", "birds", "rain", "pesticide"}),
}
"""The kind, the parameter group and the drivers J of each equation; (30) and (31) have none."""


@pytest.fixture(scope="module")
def names() -> NameTable:
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}
    entities = [[kind, which] for kind, which in SETS.items()]
    field = {"localization": place, "shape": {"length#nb": 2, "width#nb": 1}, "entities": entities}
    return name_farm({"Field-0": compile_field(farm_spec({"fields": {"Field-0": field}}, "test").fields["Field-0"])})


def made(kind: str) -> Entity:
    return load_kind(kind).named(SETS[kind])


def keys(group: Any) -> Iterator[str]:
    """Yield the keys of the parameters of an entity and of its groups, and the names of the groups."""
    described = dict(iterate_metas(type(group)))
    for field in dataclasses.fields(group):
        yield from described[field.name].keys if field.name in described else (field.name,)
        if field.name not in described and dataclasses.is_dataclass(getattr(group, field.name)):
            yield from keys(getattr(group, field.name))


@pytest.mark.parametrize("kind", SETS)
def test_every_variable_of_the_paper_is_observed_by_its_key(names: NameTable, kind: str) -> None:
    for key in VARIABLES[kind]:
        found, _ = names.observed(("Field-0", f"{kind}-0"), key, None, "")
        assert found.replace("#", "") == key.replace("#", "")


@pytest.mark.parametrize("kind", SETS)
def test_every_intervention_of_the_paper_has_its_name_and_parameters(kind: str) -> None:
    offered = {action.name: action for action in load_kind(kind).actions}
    for name, parameters in ACTIONS[kind].items():
        action = offered[resolve_spelling("action", name, offered, kind)]
        taken = (["plot"] if action.plot else []) + [p.key for p in action.parameters]
        assert [resolve_spelling("parameter", key, taken, name) for key in parameters] == taken
    assert offered.keys() == {resolve_spelling("action", name, offered, kind) for name in ACTIONS[kind]}, "and no other"


@pytest.mark.parametrize("kind", PARAMETERS)
def test_every_parameter_of_the_paper_has_its_key(kind: str) -> None:
    assert set(PARAMETERS[kind]) <= set(keys(made(kind)))


@pytest.mark.parametrize("number", DRIVERS)
def test_every_equation_reads_what_the_paper_says(number: int) -> None:
    kind, group, drivers = DRIVERS[number]
    assert {field.name for field in dataclasses.fields(getattr(made(kind), group))} == drivers | {"intercept"}
