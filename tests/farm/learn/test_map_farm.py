"""The map interface: exact observations, exact masks, the same days as with integers, and clear errors."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import harvestgym
from harvestgym.core.errors import ConfigError
from harvestgym.farm import BasicFarmer, CostCap, HourlyFarmer
from harvestgym.farm.learn.map_channels import list_entries
from harvestgym.farm.learn.map_farm import MapFarm
from harvestgym.gym.env import GymEnv
from harvestgym.gym.vector_env import VecEnv
from harvestgym.testing import check_env
from tests.farm.ponds import assert_same, farm
from tests.long_form import long, some

ONE_PLOT, TWO_FIELDS = "farm/bean-1x1-v0", "farm/two-climates-v0"
IDS = [TWO_FIELDS, *(f"farm/{name}-v0" for name in ("full-1x1", "full-3x4", "contexts-1x1", "paid-looks-1x1"))]
"""Two fields of different sizes, all kinds on one and several plots, a context, and paid observations."""

POUR = "Spring-0/pour"


@cache
def pond(mode: str = "po", limits: str = "") -> MapFarm:
    """Make a farm of 2 x 3 plots with three orders a day."""
    cap = CostCap(most=np.float32(1.2))  # pyright: ignore[reportArgumentType]
    rules: Any = {"further": {"cap": cap}} if limits == "cost" else {}
    hours = HourlyFarmer(hours=np.float32(1.0), intervention=np.float32(25.0))  # pyright: ignore[reportArgumentType]
    workers = (hours, BasicFarmer(max_daily_interventions=np.int32(1)))  # pyright: ignore[reportArgumentType]
    return MapFarm(farm(mode, workers if limits == "hours" else (), **rules).model)


def order(env: MapFarm, name: str, where: int = 0, amount: int = 0) -> np.ndarray:
    what = next(i for i, known in enumerate(env.table.names) if known.endswith(name))
    return np.asarray([what, where, amount], np.int32)


def encode(env: MapFarm, seen: Any) -> Any:
    """Return the maps of an observation in the morning; compiles nothing."""
    return env.encode(seen, np.zeros(env.table.shape[:2], np.float32), np.int32(0))  # pyright: ignore[reportArgumentType]


def draw_values(env: MapFarm, rng: np.random.Generator) -> np.ndarray:
    """Return random numbers of the flat observation; labels are whole."""
    entries = list_entries(env.env)
    low, high = (np.asarray([getattr(entry, end) for entry in entries]) for end in ("low", "high"))
    drawn = rng.uniform(low, np.minimum(high, 1000.0))
    return np.where([bool(entry.labels) for entry in entries], np.floor(drawn), drawn).astype(np.float32)


@pytest.mark.parametrize("id", some(IDS, "full-1x1-v0"))
def test_flattening_returns_the_observation_exactly(id: str) -> None:
    env = harvestgym.make(id, interface="map")
    assert isinstance(env, MapFarm)
    rng = np.random.default_rng(0)
    seen: Any = draw_values(env, rng)
    if env.env.asks:
        mask = np.where(np.arange(len(seen)) < env.env.plan.size, 1, rng.integers(0, 2, len(seen))).astype(np.float32)
        seen = {"values": seen * mask, "mask": mask}
    jax.tree.map(np.testing.assert_array_equal, env.flatten(encode(env, seen)), seen)


@pytest.mark.parametrize("id", some(IDS, "full-3x4-v0", "paid-looks-1x1-v0"))
def test_channels_have_distinct_names_and_powers_of_two(id: str) -> None:
    env = harvestgym.make(id, interface="map")
    assert isinstance(env, MapFarm)
    space: Any = env.observation_space
    for part, channels in {"plots": env.plot_channels, "farm": env.farm_channels}.items():
        assert space[part].shape[-1] == len(channels) == len({channel.name for channel in channels})
        assert all(np.frexp(channel.scale)[0] == 0.5 for channel in channels)


def test_smaller_fields_are_padded() -> None:
    env = harvestgym.make(TWO_FIELDS, interface="map")
    assert isinstance(env, MapFarm)
    assert env.plots.tolist() == [[[True, True, False]], [[True, True, True]]]
    obs = encode(env, draw_values(env, np.random.default_rng(0)))
    np.testing.assert_array_equal(obs["plots"][..., 0] > 0, env.plots)
    assert not obs["plots"][0, 0, 2].any()
    water = [channel.name for channel in env.plot_channels].index("Soil-0/available_Water#L")
    assert obs["plots"][0, 0, 0, water] != obs["plots"][1, 0, 0, water] != 0


@pytest.mark.parametrize("limits", ["cost", *(pytest.param(name, marks=long) for name in ("", "hours"))])
def test_mask_is_what_the_farm_accepts(limits: str) -> None:
    """Every order after every prefix of a random day, against the acceptance that the farm reports for the schedule."""
    env = pond("po", limits)
    step, plain_step = jax.jit(env.step), jax.jit(jax.vmap(env.env.step, (None, None, 0, None)))
    key, (state, shown) = jax.random.key(0), jax.jit(env.reset)(jax.random.key(0))
    space, refused = env.action_space, 0
    space.seed(0)
    choices = env.table.interventions
    numbers = jax.vmap(env.table.number)(choices)
    for _ in range(7):
        schedules = np.repeat(np.asarray(state.pending)[None], len(choices), 0)
        schedules[:, int(state.placed)] = numbers
        accepted = plain_step(key, state.inner, schedules, env.params)[1].info["accepted"][:, int(state.placed)]
        mask = jax.tree.map(np.asarray, shown.obs["mask"])
        what, where, amount = choices.T
        np.testing.assert_array_equal(mask["where"][what, where] & mask["amount"][what, amount], accepted)
        assert mask["what"][0] and mask["where"].any(1).tolist() == mask["what"].tolist()
        refused += int((~np.asarray(accepted)).sum())
        state, shown = step(key, state, space.sample(mask=mask), env.params)
    assert bool(refused) == bool(limits)
    assert int(state.inner.day) > 0


@long
def test_orders_make_the_same_day_as_integers() -> None:
    env, key = pond(), jax.random.key(3)
    state, _ = jax.jit(env.reset)(key)
    plain, _ = jax.jit(env.env.reset)(key)
    orders = [order(env, POUR, 4, 2), order(env, POUR, 1, 10), order(env, "Reed-0/cut")]
    numbers = np.asarray([env.table.number(one) for one in orders], np.int32)
    assert [list(env.table.order(number)) for number in numbers] == [list(one) for one in orders]
    step = jax.jit(env.step)
    shown: Any = None
    for i, one in enumerate(orders):
        assert int(state.inner.day) == 0 and int(state.placed) == i
        state, shown = step(key, state, one, env.params)
    after, reported = jax.jit(env.env.step)(key, plain, numbers, env.params)
    assert_same(state.inner, after)
    assert_same((shown.reward, shown.info, env.flatten(shown.obs)), (reported.reward, reported.info, reported.obs))
    assert int(state.placed) == 0 and not state.pending.any()


def test_orders_of_today_are_seen() -> None:
    env, key = pond(), jax.random.key(0)
    state, shown = jax.jit(env.reset)(key)
    channel = [channel.name for channel in env.plot_channels].index(f"today/Field-0/{POUR}")
    assert not shown.obs["plots"][..., channel].any()
    state, shown = jax.jit(env.step)(key, state, order(env, POUR, 2, 4), env.params)
    np.testing.assert_allclose(shown.obs["plots"][0, ..., channel], [[0, 5 / 11, 0], [0, 0, 0]], rtol=1e-6)
    farm = dict(zip((channel.name for channel in env.farm_channels), shown.obs["farm"].tolist(), strict=True))
    assert farm["orders today"] == pytest.approx(1 / 3)
    assert float(shown.reward) == 0 and float(shown.info["intervention cost"]) == 0


@long
def test_observations_are_paid_and_shown_before_orders() -> None:
    env = GymEnv(pond("ao"))
    core: Any = env.core
    obs, _ = env.reset(seed=0)
    look = core.table.names.index("request Field-0/Reed-0/stage")
    assert obs["mask"]["what"][look] and not obs["plots"][..., named(core, "Reed-0/stage/observed")].any()
    obs, reward, _, _, info = env.step(np.asarray([look, 0, 0]))
    assert reward == -info["observation cost"] < 0
    assert obs["plots"][..., named(core, "Reed-0/stage/observed")].all() and not obs["mask"]["what"][look]
    with pytest.raises(ConfigError, match="expected an order that is possible now"):
        env.step(np.asarray([look, 0, 0]))
    obs, *_ = env.step(order(core, POUR, 1))
    assert not any(obs["mask"]["what"][i] for i, name in enumerate(core.table.names) if name.startswith("request"))
    assert int(env.run_state.state.inner.day) == 0
    obs, *_ = env.step(np.asarray([0, 0, 0]))
    assert int(env.run_state.state.inner.day) == 1 and obs["mask"]["what"][look]


def named(env: MapFarm, channel: str) -> int:
    """Return the number of a channel of the plots."""
    return [known.name for known in env.plot_channels].index(channel)


MISTAKES = {
    "a plot outside": ([1, 7, 0], r"action\[1\]: expected a value within \[0, 6\], got 7"),
    "no plot": ([1, 0, 0], r"action\[1\]: expected a place of Field-0/Spring-0/pour, got 0, no plot; try one of: 1, "),
    "an amount outside": ([1, 1, 11], r"action\[2\]: expected a value within \[0, 10\], got 11"),
    "an amount of another order": ([3, 0, 4], r"action\[2\]: expected an amount of Field-0/Reed-0/cut, got 4"),
    "a masked order": (
        [6, 0, 0],
        r"action\[0\]: expected an order that is possible now, got 6, .*cut; try one of: ",
    ),
    "half an order": ([1, 1], r"action: expected integers of shape \(3,\)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_bad_orders_are_refused_and_change_nothing(mistake: str) -> None:
    action, message = MISTAKES[mistake]
    core = pond("po", "hours" if mistake == "a masked order" else "")
    env = GymEnv(core)
    env.reset(seed=0)
    if mistake == "a masked order":
        env.step(order(core, "BasicFarmer-0/Field-0/Reed-0/cut"))
    before = jax.device_get(env.run_state.state)
    with pytest.raises(ConfigError, match=message):
        env.step(np.asarray(action))
    assert_same(before, jax.device_get(env.run_state.state))


@long
def test_a_batch_refuses_bad_orders_of_running_environments() -> None:
    env, stop = VecEnv(pond("po"), 2), np.zeros((2, 3), int)
    env.reset(seed=0)
    bad = np.asarray([[0, 0, 0], [1, 0, 0]])
    with pytest.raises(ConfigError, match=r"action\[1\]\[1\]: expected a place of .*pour, got 0, no plot"):
        env.step(bad)
    obs: Any = None
    truncated = np.zeros(2, bool)
    for _ in range(9):
        obs, _, _, truncated, _ = env.step(stop)
    assert truncated.all() and obs["mask"]["what"].shape == (2, 4)
    env.step(bad)  # waits for the next episode, in which its action is ignored


@long
def test_the_mask_of_the_observation_is_that_of_the_device() -> None:
    """`action_masks` reads it from the last observation, and asks the device after another state was assigned."""
    env = GymEnv(pond("ao"))
    obs = env.reset(seed=0)[0]
    for _ in range(3):
        obs = env.step(env.action_space.sample(mask=obs["mask"]))[0]
        shown: Any = env.action_masks()
        env.run_state = env.run_state
        asked: Any = env.action_masks()
        for part in ("what", "where", "amount"):
            np.testing.assert_array_equal(shown[part], asked[part])
            np.testing.assert_array_equal(shown[part], obs["mask"][part])


def test_compiled_code_takes_impossible_orders_for_stop() -> None:
    env, key = pond("po"), jax.random.key(0)
    state, _ = jax.jit(env.reset)(key)
    for action in ([1, 0, 0], [1, 1, 11], [2, 1, 0]):
        state, _ = jax.jit(env.step)(key, state, np.asarray(action), env.params)
    assert int(state.inner.day) == 3 and not state.inner.accepted.any()


@pytest.mark.parametrize("mode", ["po", "ao"])
def test_gymnasium_checker_passes(mode: str) -> None:
    gymnasium_check(GymEnv(pond(mode)), skip_render_check=True)


@long
def test_registered_farms_have_the_interface() -> None:
    """`gymnasium.make`, `make_vec` and the functional environment; the batch is that of the single environment."""
    single = gymnasium.make(ONE_PLOT, interface="map")
    batch = harvestgym.make_vec(ONE_PLOT, 2, interface="map")
    first, _ = single.reset(seed=1)
    seen, _ = batch.reset(seed=0)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a[1], b), seen, first)
    batch.action_space.seed(0)
    for _ in range(3):
        actions = batch.action_space.sample(mask=seen["mask"])
        seen, rewards, *_ = batch.step(actions)
        after, reward, *_ = single.step(actions[1])
        assert batch.observation_space.contains(seen) and single.observation_space.contains(after)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a[1], b, rtol=1e-5), seen, after)
        assert rewards[1] == pytest.approx(reward, abs=1e-6)
    gymnasium_check(single.unwrapped, skip_render_check=True)
    check_env(batch.unwrapped.core, steps=4)  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="interface: expected a known name, got 'maps'; try 'map'"):
        harvestgym.make(ONE_PLOT, interface="maps")
