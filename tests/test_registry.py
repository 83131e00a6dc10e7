"""Ids: found by name, built from data, sent as JSON, refused with the nearest name."""

from __future__ import annotations

import gymnasium
import pytest

import harvestgym
from harvestgym.core.errors import ConfigError

ID = "farm/bean-clay-1x1-v0"


def test_a_spec_round_trips_through_json_and_builds_the_same_farm() -> None:
    spec = harvestgym.spec(ID)
    again = harvestgym.EnvSpec.from_json(spec.to_json())
    assert again == spec and again.make() == harvestgym.make(ID)


def test_an_unknown_id_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=f"did you mean '{ID}'"):
        harvestgym.make("farm/been-clay-1x1-v0")


@pytest.mark.parametrize("name", [["farm"], None, 5])
def test_what_is_no_name_is_no_id(name: object) -> None:
    with pytest.raises(ConfigError, match="unknown environment"):
        harvestgym.make(name)  # pyright: ignore[reportArgumentType]


def test_gymnasium_knows_every_id_also_without_an_import_of_ours() -> None:
    assert set(harvestgym.ids()) <= set(gymnasium.registry)
    env = gymnasium.make(f"harvestgym:{ID}")
    assert env.spec is not None and env.spec.id == ID
    env.close()


def test_an_id_of_ones_own() -> None:
    harvestgym.register("farm/my-bean-v0", "harvestgym.farm.family:make", name="bean-clay-1x1-v0", mode="fo")
    try:
        seen = harvestgym.make("farm/my-bean-v0").observation_space.shape
        assert seen is not None and seen > harvestgym.make(ID).observation_space.shape
    finally:
        harvestgym.registry._SPECS.pop("farm/my-bean-v0")
        gymnasium.registry.pop("farm/my-bean-v0")
