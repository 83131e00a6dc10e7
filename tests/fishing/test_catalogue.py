"""Every registered fishery through three checkers: ours, Gymnasium's and Stable-Baselines3's, warnings as errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env as gymnasium_check

import harvestgym
from harvestgym.core.rollout import evaluate
from harvestgym.fishing import control
from harvestgym.fishing.family import CATALOGUE
from harvestgym.fishing.spec import read_spec
from harvestgym.testing import check_env
from tests.evaluate.test_reference_returns import IDLE_SHARE
from tests.fishing.recovery import PUBLISHED_RECOVERY
from tests.load_script import ROOT
from tests.long_form import long, some

YEARS = 6
"""Shorter than `STEPS`, so that the end of an episode is among what is checked."""

STEPS = 8

IDS = harvestgym.ids("fishing")
LEADERBOARD = ROOT / "docs" / "leaderboard.json"


@pytest.fixture(autouse=True)
def quick_to_compile() -> Iterator[None]:
    """Contracts do not depend on how well XLA optimises, and compiling is nearly all that these tests do."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def test_every_file_is_registered() -> None:
    """The ids are the files of the catalogue, no more and no less, and each says what it is."""
    assert [f"fishing/{path.stem}" for path in sorted(CATALOGUE.glob("*-v*.yaml"))] == IDS
    for id in IDS:
        doc = read_spec(CATALOGUE / f"{id.partition('/')[2]}.yaml", {}).doc
        assert doc.endswith(".") and "\n" not in doc


STEPPED = some(
    IDS,
    "levels-v0",
    "patches-v0",
    "recovery-ricker-v0",
)
"""Fisheries that the checkers step. In the short form one of each form of observation and action, but for the driver of
`tests/test_contract.py`."""


@pytest.mark.parametrize("id", STEPPED)
def test_contract_and_checker(id: str) -> None:
    """The functional contract, then Gymnasium's checker."""
    check_env(harvestgym.make(id, Tmax=YEARS), steps=STEPS)
    gymnasium_check(gymnasium.make(id, Tmax=YEARS, render_mode="ansi").unwrapped)


@pytest.mark.torch
@pytest.mark.parametrize("id", some(STEPPED, "levels-v0", "patches-v0"))
def test_stable_baselines3_checker_passes(id: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(id, Tmax=YEARS, render_mode="ansi").unwrapped, warn=True)


@pytest.mark.parametrize("mode", ["rgb_array", "svg"])
@pytest.mark.parametrize("id", [pytest.param("fishing/recovery-ricker-v0", marks=long), "fishing/logistic-v0"])
def test_a_picture_is_drawn_before_the_first_step(id: str, mode: str) -> None:
    """The picture of the start, alone and in a vector environment, then that of a year."""
    env, envs = gymnasium.make(id, Tmax=4, render_mode=mode), harvestgym.make_vec(id, 2, render_mode=mode, Tmax=4)
    env.reset(seed=0)
    envs.reset(seed=0)
    start = env.render()
    assert all(np.array_equal(np.asarray(start), np.asarray(picture)) for picture in envs.render())
    env.action_space.seed(1)
    env.step(env.action_space.sample())
    assert not np.array_equal(np.asarray(env.render()), np.asarray(start))
    assert mode == "svg" or start.flags.writeable


@pytest.mark.parametrize(
    ("id", "name", "first"), [("drifting-v0", "r", 0.793), ("three-species-drift-v0", "r_x", 0.995)]
)
def test_the_law_drifts_from_the_first_year(id: str, name: str, first: float) -> None:
    """As in fishing-v10, whose growth rate changes before the first year's growth."""
    env: Any = harvestgym.make(f"fishing/{id}")
    assert float(getattr(env.law(env.reset(jax.random.key(0))[0], env.params), name)) == pytest.approx(first)


@long
@pytest.mark.parametrize(
    ("id", "published", "idle", "spread"),
    [
        ("fishing/driver-v0", {"satiation": 1.0}, 42.33, 4.2),
        ("fishing/driver-v0", {"satiation": 1.0, "noise": {"kind": "none"}}, 50.68, 0.01),
        ("fishing/recovery-ricker-v0", {"loss": 0.0, "benefit": 5.0, "sigma": 0.1}, 488.8, 16.2),
        ("fishing/recovery-ricker-v0", PUBLISHED_RECOVERY, 67.29, 1.31),
    ],
)
def test_the_published_games_are_arguments_of_make(
    id: str, published: dict[str, Any], idle: float, spread: float
) -> None:
    """Doing nothing earns there what gym_conservation pays, within five standard errors; the id pays other amounts."""
    for options, as_before in ((published, True), ({}, False)):
        env = harvestgym.make(id, **options)
        returns = evaluate(env, control.quota(env, 0.0), jax.random.key(0), 100, int(env.params.horizon)).returns
        assert (abs(float(returns.mean()) - idle) < 5 * spread / 10) == as_before


def test_doing_nothing_earns_little_and_chance_less_than_the_expert() -> None:
    """On every fishery of the leaderboard the one is at most 25 % of the expert; no random policy comes close to it."""
    found: dict[str, dict[str, float]] = {}
    for row in json.loads(LEADERBOARD.read_text(encoding="utf-8"))["rows"]:
        if row["id"].startswith("fishing/"):
            found.setdefault(row["id"], {})[row["policy"]] = row["mean"]
    assert set(found) == set(IDS)
    for id, mean in found.items():
        assert mean["none"] <= IDLE_SHARE * mean["expert"], id
        assert mean["random"] <= 0.7 * mean["expert"], id
