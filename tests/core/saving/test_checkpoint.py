"""An episode saved in the middle continues bit for bit, here and in another process; damaged files are refused.

That every farm and fishery goes on from a file is part of the contract, `harvestgym.testing.check_env`.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import harvestgym
from harvestgym import Snapshot, load, save
from harvestgym.core.errors import ConfigError
from harvestgym.core.saving.checkpoint import FORMAT_VERSION
from harvestgym.core.saving.encoding import decode_value, encode_value
from harvestgym.core.wrappers import Log, TimeLimit
from harvestgym.farm import Farm
from harvestgym.farm.family import CATALOGUE
from harvestgym.fishing.env import FishingEnv
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.family import build_forager
from harvestgym.forager.object_kinds import Flower, Wall
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from tests.farm.ponds import STAGE, look, pour
from tests.farm.ponds import farm as pond_farm
from tests.forager.worlds import Berry
from tests.long_form import long
from tests.toy_env import BoxStock, Stock

from .going import goes_on, played

FARM = "farm/bean-1x1-v0"
GZIP_HEADER = 10
"""Bytes of a gzip file before its content."""


def begun(env: Any, steps: int = 9) -> Any:
    env.reset(seed=3)
    played(env, steps, 1)
    return env


FACES: dict[str, Callable[[], Any]] = {
    "gymnasium.make, a fishery": lambda: gymnasium.make("fishing/logistic-survey-v0", Tmax=13),
    "gymnasium.make, a world": lambda: gymnasium.make("forager/two-biome-v0", horizon=13),
    "a batch of fisheries": lambda: harvestgym.make_vec("fishing/logistic-random-v0", 3, Tmax=11),
    "the fishery of the seed": lambda: FishingEnv(sigma=0.2, Tmax=12, levels=4),
    "wrapped": lambda: GymEnv(Log(TimeLimit(harvestgym.make("fishing/ricker-v0"), 14))),
}  # fmt: skip


@pytest.mark.parametrize("name", FACES)
def test_an_interface_continues_unchanged(name: str, tmp_path: Path) -> None:
    env, path = begun(FACES[name]()), tmp_path / "kept"
    save(env, path)
    save(env, tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()
    twin = load(path)
    assert type(twin) is type(env.unwrapped)
    assert played(twin, 30, 2) == played(env, 30, 2)


@pytest.mark.parametrize("id", harvestgym.ids("forager"))
def test_every_world_goes_on(id: str, tmp_path: Path) -> None:
    env = begun(gymnasium.make(id), 400)
    save(env, tmp_path / "life")
    assert played(load(tmp_path / "life"), 200, 2) == played(env, 200, 2)
    model = harvestgym.make(id)
    again = decode_value(encode_value(model))
    assert again == model, "so is the functional environment made again"


def test_a_farm_goes_on_in_the_middle_of_a_day(tmp_path: Path) -> None:
    game, twin = pond_farm(), pond_farm()
    game.reset(seed=2)
    game.farmgym_step([])
    game.farmgym_step([pour(1, 2)])
    game.farmgym_step([look(STAGE, (1, 0))])
    assert game.acting and len(game.observations()) == 2
    save(game, tmp_path / "noon")
    assert load(tmp_path / "noon", twin) is twin and twin.acting
    assert repr(twin.observations()) == repr(game.observations())
    for _ in range(5):
        assert repr(twin.farmgym_step([pour(0, 0)])) == repr(game.farmgym_step([pour(0, 0)]))


def test_a_farm_of_a_file_needs_no_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text((CATALOGUE / "paid-looks-1x1-v0.yaml").read_text(), encoding="utf-8")
    (tmp_path / "one-plot.yaml").write_text((CATALOGUE / "one-plot.yaml").read_text(), encoding="utf-8")
    game = Farm.from_yaml(path, seed=5)
    save(game, tmp_path / "farm")
    path.unlink()
    twin = load(tmp_path / "farm")
    assert str(twin) == str(game) and twin.written == game.written and twin.model == game.model


OTHER = """
import json, sys
sys.path.insert(0, sys.argv[1])
from harvestgym import load
from tests.core.saving.going import goes_on
sys.stdout.write(json.dumps([goes_on(load(path)) for path in sys.argv[2:]]))
"""


@long
def test_all_families_go_on_in_another_process(tmp_path: Path) -> None:
    fishery = harvestgym.make("fishing/drifting-v0")
    keys = jax.random.split(jax.random.key(4), 3)
    state, _ = jax.vmap(fishery.reset, (0, None))(keys, fishery.params)
    saved = {
        "farm": begun(gymnasium.make(FARM), 70),
        "fishery": begun(harvestgym.make_vec("fishing/logistic-v0", 2, Tmax=20)),
        "world": begun(gymnasium.make("forager/weather-v0")),
        "moment": Snapshot(fishery, state, keys, fishery.params),
    }
    paths = [str(tmp_path / name) for name in saved]
    for env, path in zip(saved.values(), paths, strict=True):
        save(env, path)
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", OTHER, root, *paths], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [goes_on(env) for env in saved.values()]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_batch_of_ones_own_goes_on_in_one_that_is_made_likewise(mode: AutoresetMode, tmp_path: Path) -> None:
    def batch(number: int = 4) -> VecEnv:
        return VecEnv(BoxStock(), number, autoreset_mode=mode)

    env = batch()
    env.reset(seed=1)
    while not env.step(env.action_space.sample())[3].any():
        pass
    save(env, tmp_path / "batch")
    with pytest.raises(ConfigError, match=r"expected a value that can be saved, got BoxStock; try load\(path, env\)"):
        load(tmp_path / "batch")
    twin = load(tmp_path / "batch", batch())
    if mode is AutoresetMode.DISABLED:
        for one in (env, twin):
            one.reset(options={"reset_mask": np.asarray(one.run_state.over)})
        assert played(twin, 1, 3) == played(env, 1, 3)
    else:
        assert played(twin, 12, 3) == played(env, 12, 3)
    other = batch(5)
    with pytest.raises(ConfigError, match=r"structure: state: expected \.key key<fry>\[5\], got \.key key<fry>\[4\]"):
        load(tmp_path / "batch", other)
    with pytest.raises(ResetNeeded):
        other.step(other.action_space.sample())  # what was refused changed nothing


class Shy(Berry):
    """An object that remembers how often it was met."""

    met = 0

    def reward(self, rng: np.random.Generator, clock: int) -> float:
        self.met = self.met + 1
        return self.met + rng.random()


def life(kind: type) -> ForagerEnv:
    env = ForagerEnv(ForagerConfig(20, {"thing": kind, "wall": Wall}, aperture=5, seed=3))
    env.generate_objects(0.3, "thing")
    env.generate_objects(0.1, "wall")
    return env


def lived(env: Any, steps: int, seed: int) -> list[Any]:
    actions = np.random.default_rng(seed).integers(0, 4, steps).tolist()
    return [(obs.tobytes(), reward) for obs, reward in map(env.step, actions)]


def test_a_life_goes_on_with_what_its_objects_remember(tmp_path: Path) -> None:
    for kind, given in ((Flower, None), (Shy, life(Shy))):
        env = life(kind)
        env.start(seed=7)
        lived(env, 300, 1)
        save(env, tmp_path / "life")
        twin = load(tmp_path / "life", given)
        assert (twin is given) == (given is not None)
        assert [vars(thing) for thing in twin.things] == [vars(thing) for thing in env.things]
        assert lived(twin, 300, 2) == lived(env, 300, 2)


GROVE = {
    "doc": "A grove.", "size": [15, 11], "aperture": [5, 5], "horizon": 20, "density": {"fig": 0.4},
    "kinds": {"fig": {"collectable": True, "reward": {"constant": {"value": 1}}, "pays_after": 3}},
}  # fmt: skip


def test_a_forager_goes_on_before_and_after_its_start(tmp_path: Path) -> None:
    env = ForagerEnv(ForagerConfig(12, {"flower": Flower}, seed=3))
    env.generate_objects(0.4, "flower")
    save(env, tmp_path / "before")
    env.start()
    lived(env, 30, 1)
    save(env, tmp_path / "life")
    twin, young = load(tmp_path / "life"), load(tmp_path / "before")
    young.start()
    assert lived(twin, 30, 2) == lived(env, 30, 2)
    assert lived(young, 30, 1) != lived(twin, 30, 1)


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "fish"
    save(begun(GymEnv(harvestgym.make("fishing/logistic-v0"))), path)
    return path


def test_what_is_cut_off_or_changed_is_refused(fish: Path, tmp_path: Path) -> None:
    whole, path = fish.read_bytes(), tmp_path / "cut"
    for length in {0, 1, 30, len(whole) // 3, len(whole) // 2, len(whole) - 30, len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(ConfigError, match="expected an intact checkpoint"):
            load(path)
    for spot in range(GZIP_HEADER, len(whole), 50):
        path.write_bytes(whole[:spot] + bytes([whole[spot] ^ 1]) + whole[spot + 1 :])
        with pytest.raises(ConfigError, match="expected an intact checkpoint"):
            load(path)


def rewritten(fish: Path, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Return the same file with another content."""
    head = json.loads(gzip.decompress(fish.read_bytes()))
    change(head)
    path.write_bytes(gzip.compress(json.dumps(head).encode()))
    return path


def test_a_file_with_too_much_text_is_refused(fish: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harvestgym.core.saving.checkpoint.MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match="expected an intact checkpoint, .*: no end within 1000 bytes"):
        load(fish)
    with pytest.raises(ConfigError, match="save: expected at most 1000 bytes"):
        save(GymEnv(harvestgym.make("fishing/may-v0")), tmp_path / "large")
    assert not (tmp_path / "large").exists()


def test_a_patch_version_is_read_and_another_version_is_refused(fish: Path, tmp_path: Path) -> None:
    patch = rewritten(fish, tmp_path / "patch", lambda head: head.update(harvestgym=f"{head['harvestgym']}9"))
    assert played(load(patch), 5, 2) == played(load(fish), 5, 2)
    older = rewritten(fish, tmp_path / "a", lambda head: head.update(version=0))
    with pytest.raises(ConfigError, match=rf"expected format {FORMAT_VERSION} .* got format 0"):
        load(older)
    later = rewritten(fish, tmp_path / "b", lambda head: head.update(harvestgym="9.9.1"))
    with pytest.raises(
        ConfigError, match=rf"got format {FORMAT_VERSION} of 9\.9; try pip install 'harvestgym==9\.9\.\*'"
    ):
        load(later)
    stranger = rewritten(fish, tmp_path / "c", lambda head: head.update(format="seeds"))
    with pytest.raises(ConfigError, match="got a different kind of file"):
        load(stranger)
    with pytest.raises(ConfigError, match="expected a file, got none"):
        load(tmp_path / "nothing")


def test_a_state_of_another_structure_is_refused(fish: Path, tmp_path: Path) -> None:
    def renamed(head: dict[str, Any]) -> None:
        text = json.dumps(head).replace(".state.stock", ".state.shoal")
        head.update(json.loads(text))

    with pytest.raises(ConfigError, match=r"structure: state: expected .state.stock float32\[1\], got"):
        load(rewritten(fish, tmp_path / "a", renamed))
    with pytest.raises(ConfigError, match="expected the arguments of the saved environment"):
        load(fish, GymEnv(harvestgym.make("fishing/ricker-v0")))
    with pytest.raises(ConfigError, match="expected .*GymEnv, got .*VecEnv"):
        load(fish, harvestgym.make_vec("fishing/logistic-v0", 2))


@pytest.mark.parametrize(
    "name", ["os:system", "subprocess:Popen", "harvestgym.py:Env", "gymnasium.spaces:Box", "harvestgym.cli:app"]
)
def test_a_file_names_no_class_but_ours(name: str, fish: Path, tmp_path: Path) -> None:
    def forged(head: dict[str, Any]) -> None:
        head["made"] = {"is": "object", "of": {"class": name, "command": "true"}}

    with pytest.raises(ConfigError, match="expected a harvestgym class"):
        load(rewritten(fish, tmp_path / "forged", forged))


@pytest.mark.parametrize(
    ("part", "data", "message"),
    [
        ("kept", {"is": "pickle", "of": ""}, "expected a checkpoint of this version"),
        ("kept", {"is": "array", "of": 99}, "expected a checkpoint of this version"),
        ("kept", {"is": "array", "of": "abc"}, "expected a checkpoint of this version"),
        ("kept", {"is": "array", "of": ""}, "expected a checkpoint of this version"),
        (
            "made",
            {"is": "object", "of": {"class": "harvestgym.core.nowhere:Env"}},
            "unknown module 'harvestgym.core.nowhere'",
        ),
    ],
)
def test_a_head_that_says_something_else_is_refused(
    part: str, data: dict[str, Any], message: str, fish: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        load(rewritten(fish, tmp_path / "other", lambda head: head.update({part: data})))


def test_values_that_no_file_holds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected an environment of harvestgym or a Snapshot, got Stock"):
        save(Stock(), tmp_path / "a")
    assert not [*tmp_path.iterdir()]


def test_a_save_that_fails_leaves_the_old_file(fish: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept"
    path.write_bytes(fish.read_bytes())

    def full(*names: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        save(FishingEnv(), path)
    assert path.read_bytes() == fish.read_bytes() and [*tmp_path.iterdir()] == [path]
    with pytest.raises(ConfigError, match="expected an existing folder"):
        save(FishingEnv(), tmp_path / "nowhere" / "kept")


def test_values_come_back_as_they_were() -> None:
    small = build_forager({"doc": ".", "size": [9, 9], "aperture": [3, 3], "kinds": {"fig": {}}})
    values = [
        {"a": (1, 2.5, None), (1, 2): [True, "x"]}, {"is": "tuple", "of": [1]}, float("inf"), 2**70,
        AutoresetMode.SAME_STEP, Flower, small,
        np.float32(0.1), np.arange(6, dtype=np.int8).reshape(2, 3), np.array(["north", "south"]),
    ]  # fmt: skip
    back = decode_value(json.loads(json.dumps(encode_value(values))))
    assert back[:8] == values[:8] and type(back[7]) is np.float32
    for mine, theirs in zip(back[8:], values[8:], strict=True):
        assert mine.dtype == theirs.dtype and (mine == theirs).all()
    drawn = np.random.default_rng(5)
    drawn.random(3)
    again = decode_value(encode_value(drawn))
    assert (again.random(4) == drawn.random(4)).all()
    key = jax.random.key(7)
    assert decode_value(encode_value(key)) == key
    for stranger in (object(), np.array([object()]), lambda: 0, Path("x")):
        with pytest.raises(ConfigError, match=r"value > 0: expected a value that can be saved"):
            encode_value([stranger])
