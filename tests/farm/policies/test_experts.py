"""Every registered farm has an expert that is one, and where looking costs it is best done now and then."""

from __future__ import annotations

from typing import Any

import pytest

import harvestgym
from harvestgym.evaluate.run import Evaluation, evaluate_id, evaluate_together, policy_named
from harvestgym.farm.family import make as farm
from tests.long_form import ALL, long, some

IDS = some(
    harvestgym.ids("farm"), "bean-1x1-v0", "corn-1x1-v0",
)  # fmt: skip
"""In the short form those that compile soonest; `python -m experiments.leaderboard` compares the three on every id."""
SEASONS = 200 if ALL else 100


def overlap(a: Evaluation, b: Evaluation) -> bool:
    return a.summary.low <= b.summary.high and b.summary.low <= a.summary.high


@long
@pytest.mark.parametrize("id", IDS)
def test_the_expert_beats_the_random_farmer_and_the_idle_one(id: str) -> None:
    """Over many seasons on seeds that nothing was tuned on: means with disjoint 95 % intervals, and CVaR 10 %.

    In its worst tenth, the idle farmer may be better: it loses no crop on which money was spent.
    """
    found = evaluate_together(id, ("expert", "random", "none"), episodes=SEASONS, seed=2_000)
    expert, random, idle = found.values()
    for other in (random, idle):
        assert expert.summary.mean > other.summary.mean and not overlap(expert, other)
    assert expert.summary.cvar10 > random.summary.cvar10


@long
def test_the_expert_also_acts_where_observations_cost() -> None:
    """It asks for nothing and does as well: the free observations are the same."""
    id = "farm/bean-1x1-v0"
    asking = evaluate_id(id, "expert", episodes=50, seed=1, env=harvestgym.make(id, mode="ao"))
    plain = evaluate_id(id, "expert", episodes=50, seed=1)
    assert abs(asking.summary.mean - plain.summary.mean) < 0.15, "one season's sd is 0.17, that of a mean of 50 is 0.03"
    assert asking.lengths.mean() == pytest.approx(2 * plain.lengths.mean(), rel=0.1), "a day is two steps"


LOOKS = "farm/paid-looks-1x1-v0"


def always_observing() -> list[dict[str, Any]]:
    """Return the rules of the expert, who looks at all that it ever looks at, every day."""
    rules = [rule.model_dump(by_alias=True) for rule in farm(LOOKS.partition("/")[2]).spec.expert]
    return [rule | {"when": [], "every#day": 1} if rule["observe"] else rule for rule in rules]


def never_observing() -> list[dict[str, Any]]:
    """Watering by the dry spells and harvest by the calendar, on the best days of seven choices that were tried."""
    pour = {"do": "Soil-0.watering_discrete", "amount#L": 20, "duration#min": 60}
    return [
        {"when": "Weather-0.day in [190, 225]", "do": "Plant-0.harvest"},
        {"when": "Weather-0.day in [140, 160, 180]", "do": "Weeds-0.remove"},
        {"when": "Weather-0.consecutive_dry >= 3", "every#day": 8, **pour},
    ]


@long
def test_costly_observations_are_best_made_now_and_then() -> None:
    farmers = {"expert": harvestgym.make(LOOKS)} | {
        rules.__name__: harvestgym.make(LOOKS, expert=rules()) for rules in (always_observing, never_observing)
    }
    policies = {name: policy_named(LOOKS, env, "expert") for name, env in farmers.items()}
    expert, *others = evaluate_together(LOOKS, policies, episodes=SEASONS, seed=2_000).values()
    for other in others:
        assert expert.summary.mean > other.summary.mean and not overlap(expert, other), other.policy
