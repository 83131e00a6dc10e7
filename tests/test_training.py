"""The examples that train, in a short form: each learns something, and says what its docstring promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym import make
from harvestgym.core.loading import import_file
from harvestgym.core.random import keys_for
from harvestgym.evaluate.run import evaluate_id

from .long_form import ALL, long

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def ppo() -> ModuleType:
    """Return the example as a module."""
    pytest.importorskip("optax")
    return import_file(EXAMPLES / "ppo.py")


def run_example(folder: Path, name: str, *args: str) -> tuple[float, float, float]:
    """Return the printed returns of the expert, the random policy and the agent."""
    alone = os.environ | {"OMP_NUM_THREADS": "1"}  # threads of PyTorch that wait for each other spin on busy cores
    command = [sys.executable, str(EXAMPLES / name), *args]
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())
    expert, random, agent = (float(re.findall(rf"{who}:? (-?[\d.]+)", done.stdout)[0]) for who in WHO)
    return expert, random, agent


WHO = ("expert", "random", "agent(?: 0)?")


@long
def test_ppo_learns_to_fish(ppo: ModuleType) -> None:
    """From a random policy that empties the sea at once to most of what dynamic programming catches."""
    settings = ppo.Settings(num_envs=64, num_steps=100, updates=35, minibatches=8)
    (found,) = ppo.compare("fishing/logistic-levels-v0", settings, seeds=1, seasons=200, split="test")
    mean = {name: each["mean"] for name, each in found["scores"].items()}
    assert mean["agent 0"] > 0.8 * mean["expert"] > 3 * mean["random"]
    assert len(found["seed 0"]["curve"]) == 35 and "agent 0" in ppo.text(found)


KEPT = re.compile(r"^```py\n# ([a-z]+[.]py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""The two files of docs/training.md that keep an agent and play it."""


@long
@pytest.mark.parametrize(
    ("id", "column"), [("fishing/logistic-survey-v0", "ever below 0.2 K"), ("farm/paid-looks-1x1-v0", "yield kg")]
)
def test_an_agent_is_kept_as_the_docs_say(
    id: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optax")
    files = dict(KEPT.findall((EXAMPLES.parent / "docs" / "training.md").read_text(encoding="utf-8")))
    assert list(files) == ["train.py", "agent.py"]
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    small = "Settings(num_envs=16, num_steps=8, updates=2, minibatches=2)"
    changed = files["train.py"].replace("Settings()", small).replace("fishing/logistic-survey-v0", id)
    assert changed.count(small) == changed.count(id) == 1
    exec(compile(changed, "train.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    (tmp_path / "agent.py").write_text(files["agent.py"], encoding="utf-8")
    found = evaluate_id(id, "agent.py:make", 2)
    assert column in found.columns and np.isfinite(found.returns).all()


EIGHT_DEVICES = """
import sys, jax, numpy as np
from harvestgym.core.loading import import_file
ppo = import_file(__import__("pathlib").Path(sys.argv[1]))
assert jax.device_count() == 8
settings = ppo.Settings(num_envs=64, num_steps=100, updates=25, minibatches=4)
env = ppo.splits.make("fishing/logistic-levels-v0", "train")
agent, curve = ppo.train(env, settings, env.params, jax.random.key(0))
for leaf in jax.tree.leaves(agent):
    first, *others = (np.asarray(shard.data) for shard in leaf.addressable_shards)
    assert len(others) == 7 and all(np.array_equal(first, other) for other in others)
print(*np.asarray(curve))
try:
    ppo.train(env, ppo.Settings(num_envs=60), env.params, jax.random.key(0))
except ValueError as error:
    print(error)
"""


@long
def test_ppo_trains_data_parallel_over_devices(ppo: ModuleType) -> None:
    """All devices have the same nets, and learn."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    command = [sys.executable, "-c", EIGHT_DEVICES, str(EXAMPLES / "ppo.py")]
    done = subprocess.run(command, env=os.environ | {"XLA_FLAGS": flags}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    first, last = done.stdout.splitlines()
    curve = [float(number) for number in first.split()]
    assert np.mean(curve[-3:]) > 3 * np.mean(curve[:3])
    assert last == "num_envs: expected a multiple of 8 devices, got 60"


@long
def test_ppo_learns_amounts(ppo: ModuleType) -> None:
    settings = ppo.Settings(num_envs=64, num_steps=100, updates=35, minibatches=8)
    (found,) = ppo.compare("fishing/logistic-v0", settings, seeds=1, seasons=200, split="test")
    mean = {name: each["mean"] for name, each in found["scores"].items()}
    assert mean["agent 0"] > 0.8 * mean["expert"] > 3 * mean["random"]


def test_no_seed_trains_nobody(
    ppo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["ppo.py", "--seeds", "0"])
    with pytest.raises(SystemExit):
        ppo.main()
    assert "--seeds: expected 1 or more, got 0" in capsys.readouterr().err


@long
def test_a_day_of_the_evening_is_its_two_halves(ppo: ModuleType) -> None:
    """Actions of today and observations of tomorrow equal two steps of the farm: state, reward and observation."""
    farm = make("farm/paid-looks-1x1-v0")
    evening, params, key = ppo.Evening(farm), farm.params, jax.random.key(3)
    start, first = jax.jit(evening.reset)(key, params)
    assert bool(start.acting) and not first.obs["mask"][3:].any()
    action = {"order": jnp.int32(3), "request": jnp.asarray([1, 0, 0, 0, 1, 0])}
    state, seen = jax.jit(evening.step)(key, start, action, params)
    step = jax.jit(farm.step)
    day, look = keys_for(key, ("day", "look"))
    half, evening_half = step(day, start, action, params)
    whole, morning = step(look, half, action, params)
    assert float(seen.reward) == pytest.approx(float(evening_half.reward + morning.reward))
    assert float(morning.reward) == pytest.approx(-2 * 0.003)
    assert float(evening_half.reward) == pytest.approx(-0.005)
    np.testing.assert_array_equal(seen.obs["mask"], [1, 1, 1, 1, 0, 0, 0, 1, 0])
    np.testing.assert_allclose(seen.obs["values"], morning.obs["values"], rtol=1e-5)
    assert bool(state.acting) and int(state.day) == int(whole.day) == 1


def test_memory_keeps_what_was_seen_last(ppo: ModuleType) -> None:
    space = make("farm/paid-looks-1x1-v0").observation_space
    memory, see = ppo.memory_of(space, 1)
    nothing = {"values": jnp.zeros(9), "mask": jnp.zeros(9)}
    memory, _ = see(memory, nothing | {"values": jnp.full(9, 5.0), "mask": jnp.ones(9)})
    memory, features = see(memory, nothing)
    np.testing.assert_array_equal(features, [5.0] * 9 + [1.0] * 9 + [2.0])


def add_on_devices(ppo: ModuleType, moments: Any, parts: Any) -> Any:
    """Return the moments after a batch, with a part of it on each device; all devices must have the same."""
    found = jax.vmap(moments.with_batch, axis_name=ppo.SHARDS, axis_size=len(parts))(parts)
    assert all(np.ptp(leaf, axis=0).max() == 0 for leaf in jax.tree.leaves(found))
    return jax.tree.map(lambda leaf: leaf[0], found)


def test_moments_are_those_of_all_that_was_seen(ppo: ModuleType) -> None:
    rows = np.random.default_rng(0).normal(3.0, 2.0, (600, 4)).astype(np.float32)
    moments = ppo.Moments(jnp.zeros(4), jnp.ones(4), jnp.float32(1e-6))
    for part in np.split(rows, (100, 350)):
        moments = add_on_devices(ppo, moments, part.reshape(2, -1, 4))
    np.testing.assert_allclose(moments.mean, rows.mean(0), rtol=1e-4)
    np.testing.assert_allclose(moments.var, rows.var(0), rtol=1e-4)


def test_what_never_varied_in_training_says_nothing(ppo: ModuleType) -> None:
    """A site and a soil that the training side has not: their entries were always 0 there, and are 1 on the other."""
    moments = ppo.Moments(jnp.zeros(3), jnp.ones(3), jnp.float32(1e-3))
    for days in np.random.default_rng(0).normal(size=(5, 32_768)).astype(np.float32):
        part = jnp.stack([days, jnp.zeros(days.size), jnp.full(days.size, 50.0)], -1)
        moments = add_on_devices(ppo, moments, part[None])
    scaled = np.asarray(moments.scaled(jnp.asarray([[1.0, 0.0, 50.0], [1.0, 1.0, 49.0]])))
    np.testing.assert_array_equal(scaled[0], scaled[1])
    assert scaled[0, 0] == pytest.approx(1.0, abs=0.1) and not scaled[0, 1:].any()


OTHERS = [
    *([("stable_baselines3", f"sb3_{name}.py", 40_000) for name in ("ppo", "dqn")] if ALL else []),
    *([("torchrl", "torchrl_ppo.py", 65_536), ("sb3_contrib", "sb3_maskable_ppo.py", 40_000)] if ALL else []),
    ("rejax", "rejax_ppo.py", 150_000),
]


@pytest.mark.parametrize(("library", "name", "days"), OTHERS, ids=[name for _, name, _ in OTHERS])
def test_other_libraries_learn_more_than_chance(library: str, name: str, days: int, tmp_path: Path) -> None:
    """In a fifth of the training or less, from a process of its own."""
    pytest.importorskip(library)
    expert, random, agent = run_example(tmp_path, name, "--steps", str(days))
    assert random < agent and random < expert


@pytest.mark.skipif("HARVESTGYM_RLLIB" not in os.environ, reason="names the python of an environment with RLlib")
def test_rllib_trains_on_the_vector_environment() -> None:
    short = ["--iterations", "1", "--num-envs", "32", "--episodes", "8"]
    command = [os.environ["HARVESTGYM_RLLIB"], str(EXAMPLES / "rllib_ppo.py"), *short]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    agent, expert, random = map(float, re.findall(r"(?:agent|expert|random) (-?[\d.]+)", done.stdout)[-3:])
    assert expert > random and np.isfinite(agent)
