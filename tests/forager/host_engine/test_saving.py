"""Episodes that are copied, saved, bounded or run without numba; and bad input, which changes nothing."""

from __future__ import annotations

import hashlib
import pickle
import resource
import subprocess
import sys

import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.forager import ForagerConfig, ForagerEnv
from harvestgym.forager.object_kinds import Delay, Kind, ReturnPlace
from harvestgym.forager.reward_laws import Constant
from tests.forager.worlds import NORTH, TYPES, Berry, one_berry, seed_example
from tests.long_form import long

MAXRSS = 1024 if sys.platform == "linux" else 1
"""Bytes in a unit of `ru_maxrss`."""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ForagerEnv(ForagerConfig(100, TYPES, aperture=(4, 5))), "expected odd rows, got 4; try 3 or 5"),
        (lambda: ForagerEnv(ForagerConfig(6, TYPES, aperture=7)), "within the world"),
        (lambda: ForagerEnv(ForagerConfig(0, TYPES)), "size: expected"),
        (lambda: ForagerEnv(ForagerConfig(9, TYPES, observation_mode="object")), "try 'objects'"),
        (lambda: ForagerEnv(ForagerConfig(9, TYPES, edge="walls")), "try 'wall'"),
        (lambda: ForagerEnv(ForagerConfig(9, {"wall": "Wall"})), "expected a class or function"),
        (lambda: ForagerEnv(ForagerConfig(10**5, TYPES, observation_mode="world")), "try an aperture"),
        (lambda: seed_example().generate_objects(1.5, "wall"), "from 0 to 1"),
        (lambda: seed_example().generate_objects(float("nan"), "wall"), "from 0 to 1"),
        (lambda: seed_example().generate_objects(0.9, "wall"), "objects, got"),
        (lambda: seed_example().generate_objects(0.1, "flowers"), "try 'flower'"),
        (lambda: one_berry(where=(11, 0)), "expected 0 <= x < "),
        (lambda: seed_example(seed=-1), "seed: expected"),
        (lambda: Delay(a=-1), "a: expected greater than or equal to 0, got -1"),
        (lambda: Delay(a=1.5), "a: expected a valid integer, got 1.5"),
        (lambda: Constant(float("inf")), "expected a finite number"),
        (lambda: Kind("food", lasts=5), "lasts and rests of 1 or more"),
        (lambda: Kind("food", lasts=-5, rests=5), "lasts: expected greater"),
        (lambda: Kind("food", lasts=2**23, rests=2**23), "2\\^24 - 1 in total"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(make, says):
    with pytest.raises(ValueError, match=says):
        make()


@pytest.mark.parametrize("action", [-1, 4, 1.5, "north", None])
def test_a_bad_action_changes_nothing(action):
    env = one_berry()
    with pytest.raises(ConfigError, match=r"action: expected 0 \(north\)"):
        env.step(action)
    assert (env.clock, env.position) == (0, (5, 5))


@pytest.mark.parametrize(
    ("attribute", "value", "says"),
    [("worth", float("nan"), "finite"), ("delay", -1, "regen_delay"), ("delay", 1.5, "regen_delay")],
)
def test_a_bad_object_is_refused(attribute, value, says):
    env = one_berry(type("Bad", (Berry,), {attribute: value}), (5, 6))
    with pytest.raises(ConfigError, match=says):
        env.step(NORTH)


def test_the_first_step_starts_the_world():
    env, twin = seed_example(), seed_example()
    twin.start()
    assert env.position == twin.position
    assert future(env, 20) == future(twin, 20)


def grown(steps: int = 3000) -> ForagerEnv:
    """Return an episode in which the agent changed the world for so many steps."""
    env = seed_example()
    env.start(seed=9)
    for action in np.random.default_rng(2).integers(0, 4, steps).tolist():
        env.step(action)
    return env


def future(env: ForagerEnv, steps: int = 500) -> list:
    """Return the bytes of the observation and the reward of the next steps."""
    actions = np.random.default_rng(3).integers(0, 4, steps).tolist()
    return [(obs.tobytes(), reward) for obs, reward in map(env.step, actions)]


def test_a_copy_and_a_pickle_go_on_bit_for_bit():
    env = grown()
    twin, pickled = env.copy(), pickle.dumps(env)
    after = future(env)
    assert future(twin) == after
    assert future(pickle.loads(pickled)) == after
    assert len(pickled) < 20_000


def test_copies_before_the_start_and_of_copies_share_nothing_that_changes():
    env = seed_example()
    early = env.copy()
    early.generate_objects(0.1, "wall")
    assert early.world != env.world
    early.step(0)
    assert (early.clock, env.clock) == (1, 0)
    env = one_berry(where=(5, 6))
    env.step(NORTH)
    expected = future(env.copy())
    twin = env.copy().copy()
    assert future(twin) == future(env) == expected
    assert len(twin.things) == len(env.things) > 0 and twin.things[0] is not env.things[0]


def test_an_episode_goes_on_in_another_process(tmp_path):
    env = grown()
    (tmp_path / "life").write_bytes(pickle.dumps(env))
    code = (
        "import sys, hashlib, pickle, numpy as np\n"
        "env = pickle.load(open(sys.argv[1], 'rb')); digest = hashlib.sha256()\n"
        "for a in np.random.default_rng(3).integers(0, 4, 500).tolist():\n"
        "    obs, r = env.step(a); digest.update(obs.tobytes() + str(r).encode())\n"
        "sys.stdout.write(digest.hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path / "life"], capture_output=True, text=True, check=True)
    mine = hashlib.sha256(b"".join(o + str(r).encode() for o, r in future(env))).hexdigest()
    assert run.stdout == mine


def test_a_world_of_1e12_cells_is_built_at_once_and_small():
    env = ForagerEnv(ForagerConfig(1_000_000, TYPES, aperture=15))
    for name, freq in (("flower", 0.1), ("wall", 0.01), ("thorns", 0.2)):
        env.generate_objects(freq, name)
    env.start()
    assert env.memory["bytes"] < 1_000_000


def test_memory_does_not_grow_when_objects_return_in_place():
    kinds = {"food": Kind("food", collectable=True, place=ReturnPlace.SAME)}
    env = ForagerEnv(ForagerConfig(1_000_000, kinds, aperture=3))
    env.generate_objects(0.3, "food")
    env.start()
    actions = np.random.default_rng(0).integers(0, 4, 100_000).tolist()
    for action in actions[:20_000]:
        env.step(action)
    before, resident = env.memory["bytes"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for action in actions[20_000:]:
        env.step(action)
    assert env.memory["bytes"] == before
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) * MAXRSS < 2_000_000
    assert env.memory["changed"] < 64
    assert env.memory["collected"] > 10_000


WITHOUT_NUMBA = """
import sys, hashlib, numpy as np
sys.modules["numba"] = None
from tests.forager.host_engine.test_saving import future, grown
from tests.forager.worlds import Berry, one_berry
digest = hashlib.sha256()
for env in (grown(300), one_berry(where=(5, 6))):
    for obs, reward in future(env, 200):
        digest.update(obs + str(reward).encode())
sys.stdout.write(digest.hexdigest())
"""


@long
def test_without_numba_the_same_episode_runs_as_plain_python():
    quiet = ["-W", "error", "-W", "ignore:forager"]  # the world has look-alikes of the Forager package, which warn
    run = subprocess.run([sys.executable, *quiet, "-c", WITHOUT_NUMBA], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    digest = hashlib.sha256()
    for env in (grown(300), one_berry(where=(5, 6))):
        for obs, reward in future(env, 200):
            digest.update(obs + str(reward).encode())
    assert run.stdout == digest.hexdigest()


def test_a_saved_episode_with_a_small_bound_goes_on():
    env = ForagerEnv(ForagerConfig(100, TYPES, aperture=5, capacity=70))
    env.generate_objects(0.5, "flower")
    env.start()
    for action in np.random.default_rng(2).integers(0, 4, 2000).tolist():
        env.step(action)
    assert env.memory["changed"] == 70
    assert env.memory["refused"] > 0
    assert future(env.copy()) == future(env)
