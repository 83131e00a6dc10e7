"""Every public class of the foragers, and every forager file, refuses wrong values in clear words."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.family import CATALOGUE, build_forager, make
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.object_kinds import Delay, Flower, ForagerObject, Kind, ReturnPlace, Thorns, Wall
from harvestgym.forager.reward_laws import LAWS, Constant, Fourier, RewardSeries, Sine, Square
from harvestgym.forager.shared_world import SharedWorld
from harvestgym.forager.world import Region, World

from ..long_form import ALL
from ..wrong_values import build_or_refuse, change_data, draw_arguments

CASES = 2_500 if ALL else 500
FILES = 10_000 if ALL else 300

FOOD = Kind("food", collectable=True, place=ReturnPlace.SAME)
GROUND = World(9, 9, (FOOD,), (Region(0, 0, 9, 9, ((0, 5),)),))
MODEL = Forager(GROUND, (5, 5))
CONFIG = ForagerConfig(9, {"flower": Flower, "wall": Wall, "thorns": Thorns})

RIGHT: dict[type, dict[str, Any]] = {
    Constant: {}, Sine: {"amplitude": 1.0, "period": 10}, Square: {"first": 1.0, "second": 2.0, "period": 10},
    Fourier: {"terms": 3, "period": 10}, RewardSeries: {"values": (1.0, 2.0)}, Delay: {}, Kind: {"name": "food"},
    Region: {"x": 0, "y": 0, "width": 3, "height": 3},
    World: {"width": 9, "height": 9, "kinds": (FOOD,), "regions": GROUND.regions}, Forager: {"world": GROUND},
    ForagerConfig: {"size": 9, "object_types": {"flower": Flower}}, ForagerEnv: {"config": CONFIG},
    SharedWorld: {"model": MODEL},
    ForagerGym: {"env": ForagerEnv(CONFIG)},
}  # fmt: skip
"""Arguments of each class that are right; those left out have defaults."""


def build_world_too(cls: type, given: dict[str, Any]) -> Any:
    """Make an object, and of a configuration its environment, where most of it is checked."""
    made = cls(**given)
    if isinstance(made, ForagerConfig):
        ForagerEnv(made).start()
    return made


def test_every_constructor_refuses_or_builds() -> None:
    rng, classes, built = random.Random(1), [*RIGHT], 0
    for _ in range(CASES):
        cls = rng.choice(classes)
        given = draw_arguments(rng, inspect.signature(cls).parameters, RIGHT[cls])
        made = build_or_refuse(lambda cls=cls, given=given: build_world_too(cls, given), given)
        built += made is not None
    assert CASES / 100 < built < CASES / 2


def test_every_file_is_refused_or_built() -> None:
    rng = random.Random(2)
    files = [yaml.safe_load(path.read_text()) for path in sorted(CATALOGUE.glob("*.yaml"))]
    laws = [{name: {}} for name in LAWS]
    for _ in range(FILES):
        data = change_data(rng, rng.choice(files), others=[*laws, "never", "fixed", [3, 3], {"normal": [5, 1]}])
        build_or_refuse(lambda data=data: build_forager(data, "own"), {"data": data})


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Kind("food", reward=3), "reward: expected a function or another callable, got 3"),
        (lambda: ForagerConfig(9, {}, seed=1.5), "seed: expected a valid integer, got 1.5"),
        (lambda: ForagerConfig(9, {}, aperture=None), "aperture: expected"),
        (lambda: ForagerConfig((3,), {}), "size: expected"),
        (lambda: ForagerConfig(9, {}, "colour"), "try 'colors'"),
        (lambda: ForagerEnv(ForagerConfig(9, {"a": float})), "makes a ForagerObject, got one that makes 0.0"),
        (lambda: ForagerEnv(ForagerConfig(9, {"a": SharedWorld})), "a class or function without arguments"),
        (lambda: ForagerEnv({"size": 3}), "config: expected an object of the class ForagerConfig"),
        (lambda: Forager(GROUND, (5, 5), horizon=-1), "horizon: expected greater than or equal to 0, got -1"),
        (lambda: SharedWorld(MODEL, 5000), "number: expected less than or equal to 1024, got 5000"),
        (lambda: Region(0, 0, 3, 3, renew_every=-3), "renew_every: expected greater than or equal to 0, got -3"),
        (lambda: make("weather-v0", horizon="soon"), "horizon: expected a valid integer, got 'soon'"),
    ],
)  # fmt: skip
def test_mistakes_are_named(build: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build()


@pytest.mark.parametrize("delay", [{}, {"uniform": [1, 2], "normal": [3, 4]}, {"uniform": [1]}, {"sometimes": [1, 2]}])
def test_a_delay_in_a_file_is_one_law(delay: Any) -> None:
    file = yaml.safe_load(Path(CATALOGUE / "flowers-v0.yaml").read_text())
    file["kinds"][next(iter(file["kinds"]))]["delay"] = delay
    with pytest.raises(ConfigError, match="delay"):
        build_forager(file)


def test_a_fixed_target_lies_in_the_world() -> None:
    far = Kind("food", collectable=True, place=ReturnPlace.FIXED, target=(9, 0))
    with pytest.raises(ConfigError, match="target of 'food': expected 0 <= x < 9, 0 <= y < 9, got \\(9, 0\\)"):
        World(9, 9, (far,), (Region(0, 0, 9, 9),))

    class Lamp(ForagerObject):
        collectable = True
        target_location = (3, 9)

    env = ForagerEnv(ForagerConfig(9, {"lamp": Lamp}))
    with pytest.raises(ConfigError, match="target_location of 'lamp': expected 0 <= x < 9"):
        env.generate_objects(0.1, "lamp")


def test_numpy_numbers_and_lists_are_taken() -> None:
    import numpy as np

    world = World(np.int64(9), np.int32(9), [FOOD], [Region(np.uint8(0), 0, 9, 9, [[0, 5]])])  # type: ignore[arg-type]
    assert world == GROUND
    assert hash(world) == hash(GROUND)
