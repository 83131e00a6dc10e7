"""The printed form of environments and of results is short and says what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
import pytest

import harvestgym
from harvestgym.core.rollout import evaluate, rollout
from harvestgym.core.spaces import summarise_space
from harvestgym.evaluate.datasets.episodes import record_demonstrations
from harvestgym.evaluate.record import record_named
from harvestgym.evaluate.run import Comparison, evaluate_together, policy_named
from harvestgym.farm import Farm, Field, Plant, Soil, Weather
from harvestgym.fishing import FishingEnv
from harvestgym.fishing.shared_stock import share_stock
from harvestgym.gym.env import GymEnv
from harvestgym.gym.pettingzoo_env import ParallelEnv
from tests.long_form import long, some

MOST = 400
"""Characters of a repr."""
IDS = ("farm/full-10x10-v0", "farm/contexts-1x1-v0", "farm/paid-looks-1x1-v0", "farm/two-climates-v0",
       "fishing/any-law-v0", "fishing/three-species-v0", "forager/relearning-v0")  # fmt: skip


def make_farm() -> Farm:
    """Return a farm of 2 x 1 plots in the paper's classes."""
    field = Field(
        localization={"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30},
        shape={"length#nb": 1, "width#nb": 2, "scale#m": 1.0},
        entities=[(Weather, "montpellier"), (Soil, "clay"), (Plant, "bean")],
    )
    return Farm(fields=[field])


@pytest.mark.parametrize("id", some(IDS, "paid-looks-1x1-v0", "three-species-v0"))
def test_environments_of_an_id_print_in_short(id: str) -> None:
    env, batch = harvestgym.make(id), harvestgym.make_vec(id, 3)
    for made in (env, GymEnv(env), gymnasium.make(id), gymnasium.make(id).unwrapped, batch):
        assert len(repr(made)) < MOST and len(str(made)) < MOST
    assert type(env).__name__ in repr(env) and type(env.action_space).__name__ in repr(env)
    assert repr(env) in repr(batch) and "num_envs=3" in repr(batch)
    assert id in repr(gymnasium.make(id))


@pytest.mark.parametrize("changes", [{"interface": "multidiscrete"}, {"interface": "discrete"}, {"mode": "fo"}])
def test_other_interfaces_and_modes_print_in_short(changes: dict[str, Any]) -> None:
    env = gymnasium.make("farm/full-10x10-v0", **changes).unwrapped
    assert len(repr(env)) < MOST and "10 x 10 plots" in repr(env)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (make_farm, ("Farm", "1 x 2 plots", "mode ao", "Weather, Soil, Plant")),
        (FishingEnv, ("FishingEnv", "Logistic law", "quota")),
        (lambda: ParallelEnv(share_stock(harvestgym.make("fishing/logistic-v0"), 3)), ("fleet_2", "Logistic law")),
        (lambda: harvestgym.make("forager/two-biome-v0"), ("15 x 15 torus", "morel", "Discrete(4)")),
    ],
)
def test_an_interface_prints_its_content_in_short(make: Callable[[], Any], says: tuple[str, ...]) -> None:
    text = repr(make())
    assert len(text) < MOST and all(part in text for part in says), text


@long
def test_results_print_in_short_and_notebooks_show_them() -> None:
    id = "fishing/patches-v0"
    env = harvestgym.make(id)
    compared, season = evaluate_together(id, ["none", "random", "closed"], 50), record_named(id, "closed", seed=3)
    policy, key = policy_named(id, env, "random"), jax.random.key(0)
    kept = record_demonstrations(id, "closed", 2)
    steps, episodes = rollout(env, policy, key, 20, 60), evaluate(env, policy, key, 50, 60)
    shown = [compared, compared["none"], compared["none"].summary, season.film(320), steps, episodes]
    for made in (*shown, season, kept, kept.episodes[0]):
        assert repr(made).startswith(f"{type(made).__name__}(") and len(repr(made)) < MOST
    assert all(name in repr(compared) for name in (id, "50 episodes", *compared))
    assert "seed 3" in repr(season) and "(60, 20)" in repr(steps) and "closed" in repr(kept)
    assert len(repr(Comparison({f"policy {i}": compared["none"] for i in range(99)}))) < MOST
    assert repr(Comparison()) == "Comparison()"
    assert all("<" in made._repr_html_() for made in shown) and season._repr_png_()
    assert str(compared["none"].summary) in compared["none"].summary._repr_html_()


def test_a_long_space_is_summarised() -> None:
    long = gymnasium.spaces.Box(np.arange(500, dtype=np.float32), np.float32(1000))
    assert summarise_space(long) == "Box(0, 1000, (500,), float32)"
    named = gymnasium.spaces.Dict({f"entry {i}": long for i in range(50)})
    assert summarise_space(named).startswith("Dict of 50: entry 0, entry 1") and len(summarise_space(named)) <= 120
    assert summarise_space(gymnasium.spaces.Discrete(3)) == "Discrete(3)"
    assert summarise_space(gymnasium.spaces.MultiDiscrete([1005] * 40)) == "MultiDiscrete of (40,): 1005"
