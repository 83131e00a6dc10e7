"""The value of observing in each text task: the best policy that does not observe, on the scale of the task.

python -m experiments.text_tasks        # writes results/text-tasks.json

A fishery: the best of 60 constant decisions. A farm: the best of the expert's orders in each of 16 training seasons,
repeated in the others; of the rules on the calendar that the adversary found; and of the best fixed schedule on the
leaderboard, if there are any. Ids whose score reaches 0.8 are no tasks.
"""

from __future__ import annotations

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from experiments.search.found import read_choices
from experiments.test_side import RESULTS
from harvestgym.core.policy import Policy
from harvestgym.evaluate import splits
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import horizon, policy_named, run_episodes
from harvestgym.evaluate.score import list_references
from harvestgym.text.tasks import TASKS

OUT, SEASONS, LEVELS, RECORDED = RESULTS / "text-tasks.json", 200, 60, 16


def find_constant(id: str) -> float:
    """Return the score of the best constant decision, the same for all targets, in training seasons of a fishery."""
    side = splits.split(id, "train")
    env: Any = side.make()
    first = side.seed(0)

    def play(policy: Policy) -> float:
        return float(np.mean(run_episodes(env, policy, SEASONS, first, horizon(env)).returns))

    none, expert = play(policy_named(id, env, "none")), play(policy_named(id, env, "expert"))
    units = env.units
    most = float(np.max(units.wanted(env.action_space.high)))
    actions = [jnp.asarray(units.action(jnp.full(units.targets, share * most / LEVELS))) for share in range(LEVELS)]
    best = max(play(Policy((), Partial(_always, action))) for action in actions)
    return (best - none) / (expert - none)


def _always(action: Any, memory: Any, obs: Any, key: Any) -> tuple[Any, Any]:
    """Act the same in every year."""
    return memory, action


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
    OUT.write_text("[\n" + ",\n".join(f" {json.dumps(row)}" for row in rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
