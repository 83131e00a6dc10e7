"""The value of observing in each text task: the best policy that does not observe, on the scale of the task.

python -m experiments.text_tasks        # writes results/text-tasks.json

A fishery: the best of 60 constant decisions. The commons: the best of 60 constant quotas, equal for all fleets. A farm:
the best of the expert's orders in each of 16 training seasons, repeated in the others; of the rules on the calendar
that the adversary found; and of the best fixed schedule on the leaderboard, if there are any. Ids whose score reaches
0.8 are no tasks.
"""

from __future__ import annotations

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from experiments.search.found import read_choices
from experiments.test_side import RESULTS
from harvestgym.core.policy import Policy, constant_policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import horizon, policy_named, run_episodes
from harvestgym.evaluate.score import list_references
from harvestgym.fishing.family import make_commons, policies
from harvestgym.text.commons import FISHERY
from harvestgym.text.tasks import TASKS

OUT, SEASONS, LEVELS, RECORDED = RESULTS / "text-tasks.json", 200, 60, 16

MOST = 0.06
"""Upper end of the constant quotas of a fleet of the commons: four times its share of the maximum sustainable yield."""


def find_constant(id: str) -> float:
    """Return the score of the best constant decision, the same for all targets, in training seasons of a fishery."""
    side = splits.split(id, "train")
    env: Any = side.make()
    most = float(np.max(env.units.wanted(env.action_space.high)))
    none, expert = (policy_named(id, env, name) for name in ("none", "expert"))
    return compare_constants(env, none, expert, side.seed(0), most)


def find_constant_quota() -> float:
    """Return the score of the best constant quota of all fleets of the commons; the social optimum scores 1."""
    env = make_commons()
    closed = constant_policy(env.units.action(jnp.zeros(env.units.targets)))
    return compare_constants(env, closed, policies(env)["optimum"], splits.split(FISHERY, "train").seed(0), MOST)


def compare_constants(env: Any, nothing: Policy, best_known: Policy, first: int, most: float) -> float:
    """Return the score of the best of `LEVELS` constant decisions below `most` in the seasons from seed `first`."""

    def play(policy: Policy) -> float:
        return float(np.mean(run_episodes(env, policy, SEASONS, first, horizon(env)).returns))

    none, expert = play(nothing), play(best_known)
    units = env.units
    actions = [jnp.asarray(units.action(jnp.full(units.targets, share * most / LEVELS))) for share in range(LEVELS)]
    best = max(play(constant_policy(action)) for action in actions)
    return (best - none) / (expert - none)


def find_repeated(id: str) -> float:
    """Return the score of the best of the expert's seasons, its actions repeated in other training seasons."""
    side = splits.split(id, "train")
    env = side.make()
    expert, first, length = policy_named(id, env, "expert"), side.seed(SEASONS), horizon(env)

    def play(policy: Policy) -> float:
        return float(np.mean(run_episodes(env, policy, SEASONS, first, length).returns))

    none, most, found = play(policy_named(id, env, "none")), play(expert), []
    for season in range(RECORDED):
        actions = np.asarray(record_episode(id, env, expert, side.seed(season))["action"])[1:]
        padded = np.zeros((length, *actions.shape[1:]), actions.dtype)
        padded[: len(actions)] = actions
        found.append(play(Policy(jnp.int32(0), Partial(_repeat, jnp.asarray(padded)))))
    return (max(found) - none) / (most - none)


def _repeat(actions: Any, day: Any, obs: Any, key: Any) -> tuple[Any, Any]:
    """Act as on the same day of a recorded season."""
    return day + 1, actions[day]


def find_blind(id: str) -> tuple[float, str]:
    """Return the score of the best policy known that does not observe, and where it comes from."""
    if id.startswith("fishing/"):
        return find_constant(id), "best constant decision"
    scores = {"an expert's season, repeated": find_repeated(id)}
    choice = read_choices().get(id, {})
    returns = choice.get("training_returns", {})
    if calendars := [value for name, value in returns.items() if name.startswith("calendar")]:
        none = returns.get("none", 0.0)
        scores["rules on the calendar"] = (max(calendars) - none) / (returns[choice["form"]] - none)
    means = {name: point.mean for name, point in list_references(id).items()}
    if "blind" in means:
        scores["best fixed schedule"] = (means["blind"] - means["none"]) / (means["expert"] - means["none"])
    name = max(scores, key=lambda name: scores[name])
    return scores[name], name


def main() -> None:
    """Write the scores of all tasks."""
    rows = []
    for task in TASKS:
        value, what = find_blind(task.id)
        rows.append({"id": task.id, "not observing": round(value, 3), "policy": what})
        print(rows[-1], flush=True)
    row = {"id": "fishing/commons-v0", "not observing": round(find_constant_quota(), 3)}
    rows.append(row | {"policy": "best constant quotas"})
    OUT.write_text("[\n" + ",\n".join(f" {json.dumps(row)}" for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
