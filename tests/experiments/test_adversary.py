"""The open adversary: forms do what their numbers say, searches stay on the training side, and verdicts are correct."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harvestgym
from experiments import adversary
from experiments.search import found
from experiments.search.farm_player import FarmPlayer
from experiments.search.fleet_player import FleetPlayer
from experiments.search.forms import RULES, Correction, Linear, RuleList, Tree, make_forms
from experiments.search.measure import measure_player
from experiments.search.optimise import POPULATION, Archive, Effort, search_form
from experiments.search.places import leave_out, list_places, make_training
from experiments.search.player import QUANTILES, Player
from experiments.search.players import make_player
from harvestgym.core.episode import episode_keys
from harvestgym.core.errors import ConfigError
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import horizon, policy_named, run_episodes
from tests.long_form import long

FISHERY, FARM, FORAGER = "fishing/logistic-v0", "farm/bean-1x1-v0", "forager/two-biome-v0"
YEARS, KEY = 20, jax.random.key(0)
ENTRY = adversary.Entry("id", "tree", 1, 10.0, 5, 4, 1.0)


def make_fleet(**more: int) -> FleetPlayer:
    """Return the player of a fishery whose inputs all range from 0 to 2."""
    player = make_player(harvestgym.make(FISHERY, **more))
    assert isinstance(player, FleetPlayer)
    scale = np.tile(np.linspace(0, 2, QUANTILES, dtype=np.float32), (player.inputs, 1))
    return player.scaled_by(scale)  # pyright: ignore[reportReturnType]


def decide(player: Player, form: object, numbers: np.ndarray, obs: object) -> object:
    """Return the first action for an observation."""
    policy = player.policy(form, numbers)
    return np.asarray(policy.act(policy.init, obs, jax.random.key(0))[1])


def test_a_ramp_is_a_constant_escapement() -> None:
    """A tree with the same leaf everywhere: catch what is above level 1 (in the unit of actions, which start at 0)."""
    player = make_fleet()
    form = Tree(player, [0])
    leaf = [0.0, 0.5, 1 / 3, 0.0]  # input 0, level at half of its quantiles, slope 1, base 0
    numbers = np.concatenate([np.zeros(14), np.tile(leaf, 8)])
    for stock in (0.5, 1.0, 1.5):
        action = decide(player, form, numbers, jnp.float32([stock - 1]))
        assert action == pytest.approx(max(stock - 1.0, 0.0) - 1, abs=1e-5)


def test_the_first_rule_that_holds_decides() -> None:
    """Rule 0: input above 1.5, catch 0.2; rule 1: always, catch 0.6. A base b of a ramp is 2 (b - 0.5)."""
    player = make_fleet()
    form = RuleList(player, [0])
    rows = np.zeros((RULES, 6 + 4))
    rows[:, 4:6] = 0.9  # always
    rows[0, 2], rows[0, 4] = 0.75, 0.6  # above the level at three quarters of the quantiles
    rows[:, -1] = 0.5 + 0.3
    rows[0, -1] = 0.5 + 0.1
    actions = [decide(player, form, rows.ravel(), jnp.float32([stock - 1])) for stock in (1.4, 1.6)]
    assert np.ravel(actions) == pytest.approx([0.6 - 1, 0.2 - 1], abs=1e-5)


def test_a_linear_policy_of_a_fleet_is_in_the_unit_of_its_actions() -> None:
    player = make_fleet()
    numbers = np.asarray([0.5, 0.1], np.float32)  # half of the stock, and 0.1
    assert decide(player, Linear(player, [0]), numbers, jnp.float32([0.2])) == pytest.approx(0.5 * 1.2 + 0.1 - 1)


def test_labels_of_a_farm_are_its_orders_on_every_plot() -> None:
    farm = harvestgym.make("farm/full-3x4-v0")
    player = make_player(farm)
    assert isinstance(player, FarmPlayer) and player.places == 13
    orders = player.numbers[player.numbers > 0]
    assert sorted(orders) == list(range(1, farm.action_space.nvec[0])), "each order once"
    assert (player.numbers[0] > 0).any(), "place 0 is the whole farm"


def test_a_request_whose_last_time_comes_first_is_never_made() -> None:
    """A tree of a farm with six paid observations, which asks for the first every day and never for the others."""
    player = make_player(harvestgym.make("farm/paid-looks-1x1-v0"))
    player = player.scaled_by(np.tile(np.linspace(0, 1, QUANTILES, dtype=np.float32), (player.inputs, 1)))
    form = Tree(player, [0])
    asks = np.tile([0.0, 0.6, 0.4], (player.requests.sum(), 1))
    asks[0] = 0.0, 0.0, 1.0
    policy = player.policy(form, np.concatenate([np.zeros(form.size - asks.size), asks.ravel()]))
    shapes = jax.eval_shape(player.env.reset, jax.random.key(0), player.env.params)[1].obs
    action = policy.act(policy.init, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), shapes), jax.random.key(0))[1]
    assert len(asks) == 6 and action["request"].sum() == 1


def test_a_mean_of_an_archive_is_over_seasons() -> None:
    """The first candidate has 2 in four seasons and 0 in sixteen; the second has 0.5 in all."""
    archive, rows = Archive(), np.eye(2)
    archive.add(rows, np.asarray([2.0, 0.5]), 4)
    archive.add(rows, np.asarray([0.0, 0.5]), 16)
    archive.add(np.ones((1, 2)), np.asarray([9.0]), 4)
    np.testing.assert_array_equal(archive.best(3, 2), [rows[1], rows[0], [1, 1]])


def test_searches_cannot_reach_the_test_side(monkeypatch: pytest.MonkeyPatch) -> None:
    def reach(*_: object) -> None:
        splits.make(FISHERY, "test")

    monkeypatch.setattr(adversary, "_search_form", reach)
    with pytest.raises(ConfigError, match="test"):
        adversary.search(FISHERY, ["tree"], 1, 1000)
    monkeypatch.setattr(adversary, "read_entries", reach)
    with pytest.raises(ConfigError, match="test"):
        adversary.choose(["fishing/driver-v0"], 1)


@pytest.mark.parametrize(
    ("gain", "spread", "searches", "verdict"),
    [
        (0.0, 0.01, 1, "holds"),
        (0.01, 0.001, 1, "holds"),
        (0.03, 0.001, 1, "beaten"),
        (0.03, 1.0, 1, "undecided"),
        (0.03, 0.14, 1, "beaten"),
        (0.03, 0.14, 10, "undecided"),
    ],
)
def test_a_policy_is_beaten_by_more_than_the_tolerance_and_beyond_chance(
    gain: float, spread: float, searches: int, verdict: str
) -> None:
    """Of 100 seasons; with a spread of .14 the gain of .03 is 2.13 standard errors, 10 searches require 2.87."""
    best, signs = np.full(100, 10.0), np.tile([1.0, -1.0], 50)
    mine = best * (1 + gain + spread * signs)
    compared = adversary.compare("id", ENTRY, mine, best, np.zeros(100), searches)
    assert compared.gain == pytest.approx(gain, abs=1e-9) and compared.verdict == verdict
    if searches == 1:
        error = spread * np.sqrt(100 / 99) / 10
        assert compared.half == pytest.approx(stats.t.isf(0.025, 99) * error)
    assert compared._replace(allowed=False).verdict == "holds"


def test_seasons_of_a_weather_year_are_one_observation() -> None:
    """A gain of .1 in one of two years and of .2 in the other: a standard error of .05 with one degree of freedom."""
    best, blocks = np.full(100, 10.0), np.repeat([0, 1], 50)
    compared = adversary.compare("id", ENTRY, best * np.where(blocks == 0, 1.1, 1.2), best, blocks, 1)
    assert compared.half == pytest.approx(12.706 * 0.05, rel=1e-3) and compared.verdict == "undecided"


def test_a_find_takes_the_experts_place_only_if_it_gains_in_every_site() -> None:
    sites = np.repeat(["north", "south"], 50)
    expert = np.tile([9.0, 11.0], 50)
    finds = {"tree-1": expert + np.where(sites == "north", 2.0, -0.1), "linear-1": expert + 0.05}
    assert adversary.select({"expert": expert} | finds, sites) == "expert", "the best find loses in the south"
    finds |= {"network-1": expert + np.where(sites == "north", 2.1, 2.0)}
    assert adversary.select({"expert": expert} | finds, sites) == "network-1"
    assert adversary.select({"expert": expert, "linear-1": expert + 0.05}, sites) == "expert", "it gains half a percent"
    finds |= {"ppo-1": expert + np.where(sites == "north", 9.0, 0.5)}
    assert adversary.select({"expert": expert} | finds, sites) == "expert", "two sites differ too much"


def test_a_search_can_leave_out_a_site() -> None:
    id = "farm/contexts-1x1-v0"
    assert list_places(id) == ["seattle_generated", "lille"] and list_places(FISHERY) == []
    for env, wanted in ((leave_out(id, "lille"), 0), (make_training(id, ["lille"]), 2)):
        numbers = jax.vmap(lambda key, env=env: env.reset(key, env.params)[0].context.numbers)(episode_keys(KEY, 20))
        assert set(numbers[:, 0].tolist()) == {wanted}
    with pytest.raises(ConfigError, match="lille"):
        leave_out(id, "lile")


@long
@pytest.mark.parametrize("id", [FISHERY, FARM, FORAGER])
def test_a_correction_of_zeros_is_its_adviser(id: str) -> None:
    """For foragers, the adviser breaks ties at random, so a navigator is compared in a few steps."""
    env = splits.make(id, "train")
    expert, steps = policy_named(id, env, "expert"), min(horizon(env), 200)
    player, varying = measure_player(make_player(env).advised_by(expert), jax.random.key(0))
    form = make_forms(player, varying)["correction"]
    assert isinstance(form, Correction)
    policies = expert, player.policy(form, np.zeros(form.size, np.float32))
    mine, theirs = (run_episodes(env, policy, 4, 0, steps).returns for policy in policies)
    np.testing.assert_allclose(mine, theirs, rtol=1e-5)


@long
@pytest.mark.parametrize("name", ["thresholds", "tree", "linear"])
def test_a_search_finds_what_is_known_to_be_optimal(name: str) -> None:
    """Constant escapement is optimal for a stock whose remainder counts (Reed 1979)."""
    env = splits.make(FISHERY, "train", Tmax=YEARS)
    player, varying = measure_player(make_player(env), jax.random.key(0))
    form = make_forms(player, varying)[name]
    found = search_form(form, jax.random.key(1), Effort(8, 30, 4, 64), lambda whole: {})
    expert = run_episodes(env, policy_named(FISHERY, env, "expert"), 64, 0, YEARS).returns.mean()
    assert found.tried >= 20 * POPULATION and 0.95 * expert < found.mean < 1.05 * expert


@long
def test_a_stored_policy_is_the_one_that_was_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "FOUND", tmp_path / "found.json")
    monkeypatch.setattr(found, "NUMBERS", tmp_path / "numbers")
    monkeypatch.setattr(adversary, "choose_effort", lambda *_: Effort(2, 3, 2, 4))
    for seed in (1, 2):
        adversary.search(FISHERY, ["tree", "correction", "rules"], seed, 1000)
    entries = adversary.read_entries(FISHERY)
    forms = ["correction", "rules", "tree"]
    assert [entry.name for entry in entries] == [f"{form}-{seed}" for seed in (1, 2) for form in forms]
    env = splits.make(FISHERY, "train")
    for entry in entries:
        policy = adversary.load_entry(entry, env)
        assert run_episodes(env, policy, 4, 0, 100).returns.mean() > 0
    adversary.search(FISHERY, ["tree"], 1, 1000)
    assert adversary.read_entries(FISHERY) != entries and len(adversary.read_entries(FISHERY)) == 6
