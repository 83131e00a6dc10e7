"""With JAX_ENABLE_X64=1 of the host, programs stay in 32 bits, and episodes are those of any other process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import harvestgym
from tests.long_form import some

FISHERIES = "logistic-survey-v0", "driver-v0", "patches-v0", "three-species-v0"
FARMS = "bean-1x1-v0", "full-1x1-v0", "paid-looks-1x1-v0", "contexts-1x1-v0"
WORLDS = "flowers-v0", "relearning-v0", "one-sided-v0"
IDS = some(harvestgym.ids(), *FISHERIES, *FARMS, *WORLDS)
LIVED = "fishing/logistic-survey-v0", "farm/bean-1x1-v0", "forager/flowers-v0"

TRACE = """
import sys
from functools import partial
import jax
import harvestgym
from harvestgym.core.policy import sample

def is_program(value):
    return hasattr(value, "eqns")

def iterate_equations(program):
    for equation in getattr(program, "jaxpr", program).eqns:
        yield equation
        for inner in filter(is_program, jax.tree.leaves(list(equation.params.values()), is_leaf=is_program)):
            yield from iterate_equations(inner)

key = jax.random.key(0)
for id in sys.argv[1:]:
    env = harvestgym.make(id)
    state, _ = jax.eval_shape(env.reset, key, env.params)
    action = jax.eval_shape(partial(sample, env.action_space), key)
    for function, *given in ((env.reset, key), (env.step, key, state, action)):
        for equation in iterate_equations(jax.make_jaxpr(function)(*given, env.params)):
            for made in (variable.aval for variable in equation.outvars):
                if str(made.dtype) in ("float64", "int64", "uint64") and not made.weak_type:
                    print(id, function.__name__, made, equation.primitive, equation.source_info.traceback)
"""
"""Prints the equations of reset and step whose result has 64 bits; a Python number has a weak type and widens none."""

LIVE = """
import sys
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import harvestgym
from harvestgym.core.policy import random_policy

def widen(leaf):
    return np.asarray(leaf, {"f": np.float64, "i": np.int64}.get(leaf.dtype.kind, leaf.dtype))

def live(env, key, params):
    state, first = env.reset(key, params)
    return first, jax.vmap(env.step, (None, None, 0, None))(key, state, jnp.arange(3), params)

fishery, farm, world = map(harvestgym.make, sys.argv[2:])
key, games = jax.random.key(1), [gymnasium.make(f"harvestgym:{id}") for id in sys.argv[2:]]
made = {
    "rollout": harvestgym.rollout(fishery, random_policy(fishery), key, 2, 20, jax.tree.map(widen, fishery.params)),
    "games": [(game.reset(seed=2), game.step(game.action_space.sample() * 0)) for game in games],
    "farm": jax.jit(live, static_argnums=0)(farm, key, jax.tree.map(widen, farm.params)),
    "world": jax.jit(live, static_argnums=0)(world, key, jax.tree.map(widen, world.params)),
}
leaves = jax.tree_util.tree_leaves_with_path(made)
np.savez(sys.argv[1], **{jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves})
"""
"""Saves some steps of each family, with actions and parameters of the host's own width."""


def run(script: str, wide: bool, *arguments: str) -> str:
    host = os.environ | {"JAX_ENABLE_X64": str(int(wide)), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", script, *arguments], env=host, capture_output=True, text=True)
    assert done.returncode == 0 and "failed on JAX" not in done.stderr, done.stderr
    return done.stdout


def test_reset_and_step_make_no_number_of_64_bits() -> None:
    assert run(TRACE, True, *IDS) == ""


def test_an_episode_is_that_of_a_host_with_32_bits(tmp_path: Path) -> None:
    for wide in (False, True):
        run(LIVE, wide, str(tmp_path / f"{wide}.npz"), *LIVED)
    with np.load(tmp_path / "False.npz") as narrow, np.load(tmp_path / "True.npz") as wide:
        assert narrow.files == wide.files
        for name in narrow.files:
            a, b = narrow[name], wide[name]
            assert a.dtype == b.dtype, name
            if a.dtype.kind == "f":
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5, err_msg=name)
            else:
                np.testing.assert_array_equal(b, a, err_msg=name)
