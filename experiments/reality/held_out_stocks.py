"""Part A of `protocol.md`, split: one policy for all stocks, compared with each stock's own rule.

    python -m experiments.reality.held_out_stocks train    # rule and agent on the training stocks, measured there
    python -m experiments.reality.held_out_stocks open     # once: the same policies on the held-out stocks

Both policies are trained on `fishing/us-stocks-v0`; they see the biomass as a share of K and choose the share to catch.
The returns are measured in the fitted dynamics of each stock. They count catches only, without a price for the stock at
the end, as they did when the held-out stocks were opened.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

import harvestgym
from experiments.reality.sealed import open_sealed
from experiments.reality.stocks import RESULTS, SEASONS, find_median_interval, quartiles, store
from harvestgym.core.episode import episode_keys
from harvestgym.core.loading import load_object
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily
from harvestgym.core.view.timeline import ignore_progress
from harvestgym.evaluate import splits
from harvestgym.evaluate.tune import Bench, Budget, search_numbers
from harvestgym.fishing import control, us_stocks
from harvestgym.fishing.analysis.reference_points import find_reference_point
from harvestgym.fishing.model import FishingModel

ID = "fishing/us-stocks-v0"
LEVELS = 41
"""Choices of the agent: shares of 0, 0.025 … 1."""

OWN, SHARED = Budget(160, 32), Budget(480, 256)
"""Sizes of the search for a stock's own rule, and for the rule of all training stocks."""

STACKS = (1, 8)
"""Numbers of observations that an agent remembers; the better one on the training stocks is kept."""


def make_ramp(env: FishingModel) -> RuleFamily:
    """Make the family of rules: a share of the biomass above `full`, 0 below `closed` (a share of `full`)."""
    numbers = {
        "share": NumberRange(0.0, 1.0, 0.1),
        "closed": NumberRange(0.0, 0.99, 0.25),
        "full": NumberRange(0.0, 1.5, 0.4),
    }
    return RuleFamily(numbers, lambda n: control.ramp(env, n["share"], n["closed"] * n["full"], n["full"]))


def make_bench(env: FishingModel, seed: int, seasons: int, split: str = "train") -> Bench:
    """Make the seasons of a search or a comparison."""
    return Bench(env, episode_keys(jax.random.fold_in(splits.split(ID, split).key(seed), 44), seasons))


def tune(env: FishingModel, budget: Budget) -> dict[str, float]:
    """Return the best numbers of the rule, on the training side."""
    first, fresh = make_bench(env, 1, budget.seasons), make_bench(env, 2, 8 * budget.seasons)
    return search_numbers("ramp", make_ramp(env), first, fresh, budget, 0, ignore_progress).numbers


def make_stock(name: str, **more: Any) -> Any:
    """Make the fishery of one stock, in shares of K, from the last biomass of its record."""
    return harvestgym.make(ID, stocks=[name], final_price=0.0, **more)


def make_settings(stack: int) -> Any:
    """Return the settings of PPO, with a million years of training."""
    make = load_object("examples/ppo.py:Settings")
    return make(num_envs=128, num_steps=64, updates=122, stack=stack, gamma=0.99, idle=0.0)


def train_agent(stack: int) -> tuple[int, Any]:
    """Train PPO on the training stocks; return the number of observations that it remembers, and the agent."""
    env, train = splits.make(ID, "train", levels=LEVELS, final_price=0.0), load_object("examples/ppo.py:train")
    agent, _ = train(env, make_settings(stack), env.params, splits.split(ID, "train").key(0))
    return stack, jax.tree.map(np.asarray, agent)


def train() -> dict[str, Any]:
    """Train the policies, and measure them on the training stocks."""
    env: Any = splits.make(ID, "train", final_price=0.0)
    rule = tune(env, SHARED)
    print("rule:", rule, flush=True)
    names = us_stocks.list_stocks("train")
    own = {name: tune(make_stock(name), OWN) for name in names}
    found = {stack: compare(names, own, rule, train_agent(stack), "train") for stack in STACKS}
    best = max(found, key=lambda stack: found[stack]["agent / own rule"]["median"])
    return {"shared rule": rule, "observations that the agent remembers": best, **found[best]}


def open_held_out() -> dict[str, Any]:
    """Measure the rule and the agent of `train`, which is trained again from its seed, on the held-out stocks, once."""
    trained = json.loads(RESULTS.read_text(encoding="utf-8"))["training stocks"]
    agent = train_agent(trained["observations that the agent remembers"])
    open_sealed("stocks")
    names = us_stocks.list_stocks("test")
    own = {name: tune(make_stock(name), OWN) for name in names}
    return compare(names, own, trained["shared rule"], agent, "test")


def compare(names: Iterable[str], own: Mapping[str, Any], rule: Any, agent: Any, split: str) -> dict[str, Any]:
    """Return the mean returns of all policies by stock, and their ratios to the stock's own rule."""
    settings, weights = make_settings(agent[0]), agent[1]
    policy_of = load_object("examples/ppo.py:policy_of")
    stocks = {}
    for name in names:
        env = make_stock(name)
        law = harvestgym.make("fishing/us-stock-v0", stock=name).params.law
        target = find_reference_point(law).escapement / float(law.K)
        policies = {
            "own rule": make_ramp(env).build(own[name]),
            "rule": make_ramp(env).build(rule),
            "escapement": control.escapement(env, target),
        }
        stocks[name] = {kind: _measure(env, policy, split) for kind, policy in policies.items()}
        discrete = make_stock(name, levels=LEVELS)
        stocks[name]["agent"] = _measure(discrete, policy_of(discrete, settings, weights), split)
        print(name, {kind: round(value, 2) for kind, value in stocks[name].items()}, flush=True)
    kinds = ("rule", "agent", "escapement")
    ratios = {kind: np.asarray([one[kind] / one["own rule"] for one in stocks.values()]) for kind in kinds}
    return {
        f"{kind} / own rule": {**quartiles(of), "median interval": find_median_interval(of)}
        for kind, of in ratios.items()
    } | {"stocks": len(stocks), "by stock": stocks}


def _measure(env: FishingModel, policy: Policy, split: str) -> float:
    return float(make_bench(env, 3, SEASONS, split).run([policy]).mean())


def main() -> None:
    """Train, or open the held-out stocks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["train", "open"])
    if parser.parse_args().part == "train":
        store("training stocks", train())
    else:
        store("held-out stocks", open_held_out())


if __name__ == "__main__":
    main()
