"""Start from a farm's expert on the map interface, and learn with PPO when to deviate.

    pip install '.[train]'
    python examples/map_residual.py                          # a few minutes on two cores
    python examples/map_residual.py --ids farm/full-3x4-v0 --seeds 5 --out results.json
    python examples/map_residual.py --updates 10 --num-envs 8 --seasons 8  # a quick test

The agent observes the expert's next order, and initially gives it with probability `--trust`; the network learns a
correction (residual learning: Silver et al. 2018, Johannink et al. 2019). The agent therefore starts out as good as the
expert, but needs the expert's rule at test time too. The network and PPO come from `map_ppo.py`.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from map_imitation import Learned, Taught, make_task, make_taught, next_order
from map_ppo import Learner, Settings, begin, make_plan, make_weights, train
from map_results import Task, make_parser, run

from harvestgym.core.env import Timestep
from harvestgym.core.wrappers import StatelessWrapper
from harvestgym.evaluate import splits
from harvestgym.farm import MapFarm

SEASON = 8
"""Number of updates in about a season; fewer and fewer environments restart in these, which spreads them out."""


@dataclass(frozen=True, eq=False)
class Advised(StatelessWrapper[Any]):
    """A taught farm whose diary shows the expert's next order, and whose mask gives it the probability `trust`.

    For an untrained agent, the other orders share the remaining probability in proportion to their number of places.
    """

    env: Taught
    trust: float
    words: ClassVar = (*Taught.words, "advised")

    @property
    def farm(self) -> MapFarm:
        """The farm with maps."""
        return self.env.farm

    def opened(self, state: Any, first: Timestep) -> tuple[Any, Timestep]:
        return state, self._shown(first)

    def _shown(self, timestep: Timestep) -> Timestep:
        obs, odds = timestep.obs, self.trust / (1 - self.trust)
        what, where, amount = order = next_order(obs)
        mask = {part: jnp.float32(possible) for part, possible in obs["mask"].items()}
        others = (mask["what"][:, None] * mask["where"]).sum(), mask["amount"][what].sum()
        mask["where"] = mask["where"].at[what, where].multiply(1 + odds * others[0])
        mask["amount"] = mask["amount"].at[what, amount].multiply(1 + odds * others[1])
        advised = jnp.zeros(obs["since"].shape[:2]).at[what, where].set(1.0)
        since = jnp.concatenate([obs["since"], advised[..., None]], -1)
        lesson = {"orders": order[None], "wanted": jnp.ones(1, bool)}
        return timestep._replace(obs=obs | {"since": since, "mask": mask, "lesson": lesson})


def train_seed(id: str, env: Advised, settings: Settings, args: argparse.Namespace, seed: int) -> Learned:
    """Learn the values of the expert's days, then train with PPO; return the learning curve and the weights."""
    first, later = jax.random.split(splits.split(id, "train").key(seed))
    weights = make_weights(first, env.farm, settings, env.words)
    loop = begin(Learner, env, settings, env.params, later, weights)
    update = np.arange(settings.updates)
    restart = np.clip(1 - (update + 1) / SEASON, 0, 1)
    plan = make_plan(settings.updates, settings.rate, settings.entropy, restart=restart, gain=update >= args.settle)
    loop, curve = train(Learner, env, settings, loop, plan)
    return curve, {"agent": loop.weights}


def read_options(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the options from `words`, by default from the command line."""
    defaults = Settings(num_steps=128, updates=150, minibatches=16, rate=2e-3, trace=0.99, entropy=0.0)
    parser = make_parser(__doc__ or "", defaults)
    parser.add_argument("--trust", type=float, default=0.9, help="initial probability of the expert's order")
    parser.add_argument("--settle", type=int, default=8, help="updates that train only the value function")
    return parser.parse_args(words)


def make_residual_task(id: str, args: argparse.Namespace) -> Task:
    """Return the task of learning on one farm."""

    def make(id: str, side: str) -> Advised:
        return Advised(make_taught(id, side), args.trust)

    return make_task(id, args, make, train_seed)


def main() -> None:
    """Train on each id."""
    args = read_options()
    run(args, lambda id: make_residual_task(id, args))


if __name__ == "__main__":
    main()
