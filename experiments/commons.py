"""The reference returns of `fishing/commons-v0` and of the same stock without a cost of effort: results/commons.json.

python -m experiments.commons     # also writes the table in docs/fishing.md; about two minutes

Fleet 0 plays one strategy and the four others another. The returns are those of one fleet, in 200 episodes with the
seeds 0 to 199: their mean and its 95 % interval, and the value that the solver computed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import Partial

from harvestgym.core.policy import Policy, constant_policy
from harvestgym.core.rollout import rollout
from harvestgym.core.view.tables import Table
from harvestgym.evaluate.statistics import estimate_mean
from harvestgym.fishing.analysis.commons import Strategy, find_equilibrium, respond, share_optimum
from harvestgym.fishing.control import follow_strategy
from harvestgym.fishing.family import make, make_commons
from harvestgym.fishing.shared_stock import CommonsModel, share_stock
from tools.docs_blocks import body, put

RESULTS = Path(__file__).parent / "results" / "commons.json"
SEEDS, FLEETS = 200, 5


def make_games() -> dict[str, CommonsModel]:
    """Return the commons, and the same stock without a cost of effort."""
    free: Any = make("logistic-v0", discount=1.0)
    return {"commons": make_commons(FLEETS), "without cost": share_stock(free, FLEETS)}


@dataclass(frozen=True)
class _Pair:
    """Fleet 0 takes its action from the first policy, the others from the second."""

    def __call__(self, acts: Any, memories: Any, obs: Array, key: Array) -> tuple[Any, Array]:
        (first, own), (second, joint) = (act(memory, obs, key) for act, memory in zip(acts, memories, strict=True))
        return (first, second), joint.at[0].set(own[0])


def pair(own: Policy, others: Policy) -> Policy:
    """Return the joint policy of fleet 0 and the others."""
    return Policy((own.init, others.init), Partial(_Pair(), (own.traced().act, others.traced().act)))


def play(env: CommonsModel, policy: Policy) -> tuple[np.ndarray, np.ndarray]:
    """Return the return of each fleet in each episode, (episodes, fleets), and the lengths of the episodes."""
    keys, years = jax.vmap(jax.random.key)(jnp.arange(SEEDS)), int(env.params.horizon)
    found = rollout(env, policy, keys, SEEDS, years)
    over = np.asarray(found.terminated | found.truncated)
    playing = np.cumsum(over, axis=0) - over == 0  # a new episode starts when one ends
    rewards = np.asarray(found.info["own"]["reward"]) * playing[..., None]
    return rewards.sum(0), playing.sum(0)


def measure(env: CommonsModel) -> dict[str, Any]:
    """Return the entries of all pairs of strategies of a game."""
    best, greedy = share_optimum(env), find_equilibrium(env)
    answer, deviation = respond(env, best), respond(env, greedy)
    most = constant_policy(env.units.action(jnp.full(FLEETS, env.units.highest)))
    policies = {"optimum": best, "greedy": greedy, "best response": answer}
    still = constant_policy(env.units.action(jnp.zeros(FLEETS)))
    acting = {name: follow_strategy(env, strategy) for name, strategy in policies.items()}
    acting |= {"the most": most, "no fishing": still}
    pairs: dict[tuple[str, str], Strategy | None] = {
        ("optimum", "optimum"): best,
        ("greedy", "greedy"): greedy,
        ("best response", "optimum"): answer,
        ("greedy", "optimum"): None,
        ("optimum", "greedy"): None,
        ("the most", "the most"): None,
        ("no fishing", "no fishing"): None,
    }
    rows = []
    for (own, others), strategy in pairs.items():
        returns, years = play(env, pair(acting[own], acting[others]))
        each = {"own return": returns[:, 0], "return of each other": returns[:, 1:].mean(1)}
        means = {name: [round(number, 5) for number in estimate_mean(values)] for name, values in each.items()}
        computed = None if strategy is None else round(strategy.start, 5)
        rows.append({"own": own, "others": others, "computed": computed} | means | {"years": float(years.mean())})
    gain = round(deviation.start - greedy.start, 6)
    return {"optimum of all": round(FLEETS * best.start, 5), "gain of the best deviation": gain, "pairs": rows}


def make_table(results: dict[str, Any]) -> Table:
    """Return the table of docs/fishing.md."""
    rows = [
        (game, row["own"], row["others"], *(_show(row[name]) for name in ("own return", "return of each other")),
         f"{row['years']:.0f}")
        for game, found in results.items() for row in found["pairs"]
    ]  # fmt: skip
    return Table("Commons", ("game", "one fleet", "four others", "its return", "return of each other", "years"), rows)


def _show(estimate: list[float]) -> str:
    mean, low, high = estimate
    return f"{mean:.3f} ± {(high - low) / 2:.3f}"


def main() -> None:
    """Measure both games, and write the file and the table."""
    results = {name: measure(env) for name, env in make_games().items()}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    put("fishing.md", "commons", body(make_table(results))[2:])


if __name__ == "__main__":
    main()
