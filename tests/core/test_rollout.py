"""Rollouts and evaluations equal the core driven step by step, on one device or several."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from operator import methodcaller
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from jax.tree_util import Partial

from harvestgym.core.autoreset import RESTART_BLOCKS, Batched, advance, start_episode
from harvestgym.core.env import Timestep
from harvestgym.core.episode import episode_keys
from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import Policy, constant_policy, random_policy, together
from harvestgym.core.pytree import replace
from harvestgym.core.rollout import evaluate, rollout
from harvestgym.core.xla.compilation import QUICK
from tests.long_form import long
from tests.toy_env import BoxStock, Stock

ENV = Stock()


def count(carry: jax.Array, obs: Any, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a policy with memory: fishes harder each year, from the start of each episode."""
    return carry + 1, jnp.minimum(carry, 3)


COUNT = Policy(jnp.int32(0), count)


STEP = jax.jit(lambda run, action: advance(ENV, run, action, ENV.params, AutoresetMode.SAME_STEP))


def alone(key: jax.Array, number: int) -> list[tuple[Any, int, Timestep]]:
    """Observation, action and Timestep of one run, driven from Python with COUNT."""
    run, shown = start_episode(ENV, key, ENV.params)
    seen, year = [], 0
    for _ in range(number):
        action = min(year, 3)
        obs = shown.obs
        run, shown, last = STEP(run, jnp.int32(action))
        seen.append((obs, action, last))
        year = 0 if last.terminated | last.truncated else year + 1
    return seen


@long
def test_a_notebook_shows_the_arrays_of_a_trajectory_and_of_episodes() -> None:
    key, show = jax.random.key(0), methodcaller("_repr_html_")
    trajectory = rollout(ENV, random_policy(ENV), key, num_envs=2, num_steps=3)
    text, mean = show(trajectory), float(np.asarray(trajectory.reward).mean())
    assert "<caption>Trajectory(steps and environments: (3, 2))</caption>" in text
    assert "<th>reward</th><td>float32 (3, 2)</td>" in text and f"<td>{mean:.4g}</td>" in text
    assert "<caption>Episodes(episodes: (2,))</caption>" in show(evaluate(ENV, random_policy(ENV), key, 2, 5))


def test_a_rollout_is_each_environment_step_by_step() -> None:
    key = jax.random.key(1)
    got = rollout(ENV, COUNT, key, 3, 25)
    assert got.obs.shape == (25, 3, 3) and got.reward.shape == (25, 3)
    for i, own in enumerate(episode_keys(key, 3)):
        for t, (obs, action, last) in enumerate(alone(own, 25)):
            mine = jax.tree.map(lambda leaf: leaf[t, i], got)  # noqa: B023
            assert mine.action == action
            assert (bool(mine.terminated), bool(mine.truncated)) == (bool(last.terminated), bool(last.truncated))
            assert mine.info["licence"] == last.info["licence"]
            np.testing.assert_allclose(mine.obs, obs, rtol=1e-5)
            np.testing.assert_allclose(mine.next_obs, last.obs, rtol=1e-5)
            np.testing.assert_allclose(mine.reward, last.reward, rtol=1e-5)
    assert (got.terminated | got.truncated).sum() >= 3


@long
def test_a_batch_that_restarts_in_blocks_is_each_environment_alone() -> None:
    number = 2 * RESTART_BLOCKS + 3
    runs, _ = start_episode(ENV, jax.random.split(jax.random.key(2), number), ENV.params)
    mode = AutoresetMode.SAME_STEP

    def together(run: Any, _: None) -> tuple[Any, Any]:
        return (now := advance(ENV, run, jnp.full(number, 3), ENV.params, mode)).run, now

    def apart(run: Any, _: None) -> tuple[Any, Any]:
        return (now := jax.vmap(lambda one: advance(ENV, one, jnp.int32(3), ENV.params, mode))(run)).run, now

    ours, theirs = (jax.jit(lambda: jax.lax.scan(step, runs, None, 30)[1])() for step in (together, apart))  # noqa: B023
    ends = (ours.last.terminated | ours.last.truncated).sum(1)
    assert int(ends.max()) > -(-number // RESTART_BLOCKS), "no day on which more episodes end than one block holds"
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        if jnp.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, other = jax.random.key_data(mine), jax.random.key_data(other)
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


@long
def test_a_program_for_an_accelerator_restarts_the_same_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    number, mode = 2 * RESTART_BLOCKS + 3, AutoresetMode.SAME_STEP
    run, _ = start_episode(ENV, jax.random.split(jax.random.key(2), number), ENV.params)
    run = run._replace(state=replace(run.state, year=run.state.year + jnp.arange(number)))
    step = lambda run: advance(ENV, run, jnp.full(number, 3), ENV.params, mode)  # noqa: E731
    here = jax.jit(step)(run)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    there = jax.jit(lambda run: step(run))(run)
    key = (here.run.key, there.run.key)
    assert int((here.last.terminated | here.last.truncated).sum()) > -(-number // RESTART_BLOCKS)
    np.testing.assert_array_equal(*map(jax.random.key_data, key))
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-6), here.shown.obs, there.shown.obs)


def test_a_rollout_of_a_large_batch_captures_no_arrays() -> None:
    program = jax.make_jaxpr(lambda key: rollout(ENV, random_policy(ENV), key, 10_000, 2).reward.sum())
    assert "10000" in str(jaxpr := program(jax.random.key(0)))
    (inner,) = [equation.params["jaxpr"] for equation in jaxpr.eqns if "jaxpr" in equation.params][:1]
    assert all(np.size(const) < 10_000 for const in [*jaxpr.consts, *inner.consts])


def learn_reward(carry: tuple[jax.Array, jax.Array], last: Timestep) -> tuple[jax.Array, jax.Array]:
    """Return the last reward and the number of steps so far."""
    return last.reward, carry[1] + 1


def fish_less_after_a_good_year(carry: tuple[jax.Array, jax.Array], obs: Any, key: jax.Array) -> Any:
    return carry, jnp.where(carry[0] > 0.2, 1, 3) + 0 * carry[1]


LEARNER = Policy((jnp.float32(0), jnp.int32(0)), fish_less_after_a_good_year, learn_reward)


@pytest.mark.parametrize("policy", [LEARNER, together([COUNT, LEARNER])[1]], ids=["alone", "among others"])
def test_a_policy_learns_from_each_step_until_the_episode_ends(policy: Policy) -> None:
    got = rollout(ENV, policy, jax.random.key(3), 4, 30)
    over, reward = np.asarray(got.terminated | got.truncated), np.asarray(got.reward)
    before = np.where(over[:-1], 0, reward[:-1])
    np.testing.assert_array_equal(got.action[0], 3)
    np.testing.assert_array_equal(got.action[1:], np.where(before > 0.2, 1, 3))
    assert over.any() and set(np.unique(got.action)) == {1, 3}


def test_an_evaluation_of_a_policy_that_learns_is_the_rollout_of_it() -> None:
    key = jax.random.key(4)
    got, steps = evaluate(ENV, LEARNER, key, 4, 30), rollout(ENV, LEARNER, key, 4, 30)
    for i, length in enumerate(np.asarray(got.length)):
        np.testing.assert_allclose(got.returns[i], steps.reward[:length, i].sum(), rtol=1e-5)


def test_observations_follow_each_other_within_an_episode_only() -> None:
    got = rollout(BoxStock(), random_policy(BoxStock()), jax.random.key(0), 4, 30)
    over = np.asarray(got.terminated | got.truncated)[:-1]
    follows = np.isclose(got.obs["stock"][1:], got.next_obs["stock"][:-1]).all(-1)
    assert follows[~over].all() and not follows[over].all() and over.any()


def test_an_evaluation_is_whole_episodes_with_their_sums() -> None:
    key = jax.random.key(2)
    got = evaluate(ENV, COUNT, key, 6, 40)
    for i, own in enumerate(episode_keys(key, 6)):
        seen = [last for _, _, last in alone(own, 40)]
        length = next(t for t, last in enumerate(seen) if last.terminated | last.truncated) + 1
        assert int(got.length[i]) == length
        np.testing.assert_allclose(got.returns[i], sum(last.reward for last in seen[:length]), rtol=1e-5)
        assert bool(got.terminated[i]) is bool(seen[length - 1].terminated)
        assert bool(got.truncated[i]) is bool(seen[length - 1].truncated)
        assert int(got.info["licence"][i]) == int(seen[length - 1].info["licence"])


def test_an_evaluation_stops_at_its_limit_and_says_so() -> None:
    got = evaluate(Stock(shortest=50), constant_policy(0), jax.random.key(0), 3, 7)
    assert got.length.tolist() == [7, 7, 7] and got.truncated.all() and not got.terminated.any()


def test_parameters_are_an_argument_and_can_be_mapped_over() -> None:
    growth = jnp.float32([0.0, 0.3, 0.9])

    def mean(growth: jax.Array) -> jax.Array:
        params = replace(ENV.params, growth=growth, collapse=jnp.float32(0.0))
        return evaluate(ENV, constant_policy(1), jax.random.key(0), 32, 20, params).returns.mean()

    means = jax.vmap(mean)(growth)
    assert (np.diff(means) > 0).all()


def test_new_weights_and_parameters_compile_nothing() -> None:
    traces = []

    def linear(weights: jax.Array, carry: Any, obs: jax.Array, key: jax.Array) -> tuple[Any, jax.Array]:
        traces.append(weights)
        return carry, jnp.int32(jnp.dot(weights, obs) > 0)

    def run(env: Stock, scale: float, growth: float) -> int:
        policy = Policy((), Partial(linear, jnp.full(3, scale)))
        params = replace(env.params, growth=jnp.float32(growth))
        got = rollout(env, policy, jax.random.key(0), 2, 5, params=params)
        assert (got.action == (scale > 0)).all()
        return len(traces)

    assert run(Stock(), 1.0, 0.6) == run(Stock(), -1.0, 0.7) == run(Stock(), 2.0, 0.8)


GROWTHS = np.linspace(0.0, 0.9, 7, dtype=np.float32)


def stack_params(growths: np.ndarray) -> Batched:
    """Return parameters of the toy stock that differ in their growth, one set for each environment."""
    whole = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (len(growths), *np.shape(leaf))), ENV.params)
    return Batched(replace(whole, growth=jnp.asarray(growths)))


@pytest.mark.parametrize("run", [rollout, evaluate])
def test_each_environment_may_have_its_own_parameters(run: Any) -> None:
    keys = jax.random.split(jax.random.key(3), len(GROWTHS))
    got = run(ENV, COUNT, keys, len(GROWTHS), 25, stack_params(GROWTHS))
    for i, growth in enumerate(GROWTHS):
        alone = run(ENV, COUNT, keys[i : i + 1], 1, 25, replace(ENV.params, growth=jnp.float32(growth)))
        axis = 1 if run is rollout else 0
        for mine, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(np.take(mine, [i], axis), theirs, rtol=1e-5)


def test_each_environment_may_have_its_own_policy() -> None:
    weights, keys = np.arange(4, dtype=np.int32), jax.random.split(jax.random.key(3), 4)
    policies = Batched(Policy(jnp.asarray(weights), Partial(lambda weight, carry, obs, key: (carry, carry), weights)))
    got = evaluate(ENV, policies, keys, 4, 25)
    for i, action in enumerate(weights):
        alone = evaluate(ENV, constant_policy(jnp.int32(action)), keys[i : i + 1], 1, 25)
        np.testing.assert_allclose(got.returns[i], alone.returns[0], rtol=1e-5)
    assert len(set(got.returns.tolist())) > 1


EIGHT_DEVICES = """
import jax, numpy as np
from tests.core.test_rollout import COUNT, ENV, evaluate, rollout, stack_params
assert jax.device_count() == 8
for run, number, own in ((rollout, 64, False), (rollout, 63, True), (evaluate, 63, False), (evaluate, 64, True)):
    params = stack_params(np.linspace(0, 0.9, number, dtype=np.float32)) if own else None
    plain = run(ENV, COUNT, jax.random.key(5), number, 12, params)
    spread = run(ENV, COUNT, jax.random.key(5), number, 12, params, devices=jax.devices())
    assert number % 8 or len(spread.terminated.sharding.device_set) == 8
    for a, b in zip(jax.tree.leaves(plain), jax.tree.leaves(spread), strict=True):
        np.testing.assert_array_equal(a, b)
"""


@long
def test_eight_devices_give_what_one_gives() -> None:
    """Bit for bit, without optimisation; optimised by JAX 0.6, and in other programs, some last digits differ."""
    quick = (f"--{option}={str(value).lower()}" for option, value in QUICK.items())
    flags = " ".join(("--xla_force_host_platform_device_count=8", *quick))
    env = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", EIGHT_DEVICES], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"policy": "expert"}, "policy: expected a core.policy.Policy"),
        ({"key": 0}, r"key: expected a JAX key, such as jax.random.key\(0\), got 0"),
        ({"num_envs": 0}, "num_envs: expected an integer, 1 or more, got 0"),
        ({"num_steps": 2.5}, "num_steps: expected an integer, 1 or more, got 2.5"),
        ({"num_envs": "2"}, "num_envs: expected an integer, 1 or more, got '2'"),
        ({"env": "fishing/fox-v0"}, r"rollout > env: expected an object of the class Env, .* try harvestgym.make"),
        ({"num_steps": -3}, "num_steps: expected an integer, 1 or more, got -3"),
    ],
)
def test_wrong_rollout_arguments_are_refused(changed: dict[str, Any], words: str) -> None:
    given = {"env": Stock(), "policy": random_policy(Stock()), "key": jax.random.key(0), "num_envs": 2, "num_steps": 3}
    with pytest.raises(ConfigError, match=words):
        rollout(**(given | changed))
