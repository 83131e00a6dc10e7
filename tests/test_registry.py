"""Environment ids: look-up, JSON round trip, registration, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import harvestgym
from harvestgym import registry
from harvestgym.core import yaml_io
from harvestgym.core.errors import ConfigError

ID = "farm/bean-1x1-v0"


def test_spec_is_json_data() -> None:
    spec = harvestgym.spec(ID)
    again = harvestgym.EnvSpec(**json.loads(json.dumps(asdict(spec))))
    assert again == spec and again.make() == harvestgym.make(ID)


def test_unknown_id_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=f"try '{ID}'"):
        harvestgym.make("farm/been-clay-1x1-v1")


def test_every_id_says_what_is_hard() -> None:
    for id in harvestgym.ids():
        own = yaml_io.read_file(registry.locate_file(id)).get("hard", "")  # not that of a file that it extends
        assert len(own.split()) >= 12 and own.endswith("."), id
        assert registry.hard(id) == own.strip()


@pytest.mark.parametrize("id", ["fishing/may-v0", "forager/two-biome-v0", "farm/bean-1x1-v0"])
def test_what_is_hard_is_a_checked_entry(id: str) -> None:
    with pytest.raises(ConfigError, match="hard"):
        harvestgym.make(id, hard=["no", "text"])


@pytest.mark.parametrize("name", [["farm"], None, 5])
def test_id_that_is_no_string_is_refused(name: object) -> None:
    with pytest.raises(ConfigError, match="environment: expected a known name"):
        harvestgym.make(name)  # pyright: ignore[reportArgumentType]


def test_gymnasium_knows_every_id() -> None:
    assert set(harvestgym.ids()) <= set(gymnasium.registry)
    env = gymnasium.make(f"harvestgym:{ID}")
    assert env.spec is not None and env.spec.id == ID
    env.close()


def test_every_forager_has_a_twin_whose_episodes_end() -> None:
    """It is not listed, so that tables do not have each world twice."""
    twins = [id for id in gymnasium.registry if id.startswith("forager/") and id not in harvestgym.ids()]
    assert len(twins) == len(harvestgym.ids("forager"))
    assert all(gymnasium.spec(id).max_episode_steps == registry.FIRST_STEPS for id in twins)
    assert registry.locate_file("forager/weather-5000-v0") == registry.locate_file("forager/weather-v0")
    core, endless = (harvestgym.make(f"forager/weather{more}-v0") for more in ("-5000", ""))
    assert int(core.params.horizon) == registry.FIRST_STEPS and int(endless.params.horizon) == 0


def test_registered_id_makes_its_environment() -> None:
    harvestgym.register("farm/my-bean-v0", "harvestgym.farm.family:make", name="bean-1x1-v0", mode="fo")
    try:
        seen = harvestgym.make("farm/my-bean-v0").observation_space.shape
        assert seen is not None and seen > harvestgym.make(ID).observation_space.shape
    finally:
        registry.unregister("farm/my-bean-v0")


@pytest.mark.parametrize("id", ["farm/bean-1x1-v0", "fishing/may-v0", "forager/two-biome-v0"])
@pytest.mark.parametrize("make", [gymnasium.make, harvestgym.make, gymnasium.make_vec])
def test_an_unknown_keyword_is_a_type_error_with_the_nearest_name(make: Callable[..., Any], id: str) -> None:
    """TorchRL and others try keywords such as `frameskip` and go on without them after a TypeError in these words."""
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'frameskip'") as caught:
        make(id, frameskip=4)
    assert isinstance(caught.value, ConfigError)


def test_the_headline_is_the_first_sentence_on_what_is_hard_or_of_the_description(tmp_path: Path) -> None:
    assert registry.headline("fishing/logistic-v0").endswith("highest one-year reward, but ends the fishery.")
    (tmp_path / "my.yaml").write_text("doc: A farm. It is mine.\n")
    assert registry.headline(str(tmp_path / "my.yaml")) == "A farm."
    assert not [id for id in registry.ids() if not registry.headline(id)]
