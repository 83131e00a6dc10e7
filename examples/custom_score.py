"""Custom score: a term that rewards early beans, and a risk measure.

    python examples/custom_score.py

It prints the return of the expert, its entropic risk, and the bonus for early beans.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import harvestgym
from harvestgym.core.pytree import par
from harvestgym.core.risk import Entropic
from harvestgym.core.rollout import evaluate
from harvestgym.evaluate.run import policy_named
from harvestgym.farm import Term
from harvestgym.farm.engine.reward_terms import RewardContext

ID, SEASONS = "farm/bean-1x1-v0", 64


class EarlyMarket(Term):
    """A premium at the end of the season, for each kg and each day before the market was full."""

    premium: jax.Array = par("premium#day-1.kg-1", "premium on a kg per day", low=0)
    full: jax.Array = par("full#day", "day of the game from which there is no premium", low=1)

    def final(self, context: RewardContext) -> jax.Array:
        """Return the premium; `context.totals` has the season's totals, `context.read` any variable of any entity."""
        return self.premium * context.totals["harvest#kg"] * jnp.maximum(self.full - context.day, 0.0)


RISK = Entropic(aversion=2)
TERMS = {"early": {"kind": f"{__name__}:EarlyMarket", "premium#day-1.kg-1": 0.02, "full#day": 100}}


def main() -> None:
    """Run the expert on the catalogue farm with a custom score, which is written with the keys of a farm file."""
    env = harvestgym.make(ID, scoring={"terms": TERMS, "risk": RISK})
    seasons = evaluate(env, policy_named(ID, env, "expert"), jax.random.key(0), SEASONS, 220)
    returns = np.asarray(seasons.returns)
    print(f"return {returns.mean():.3f}, {RISK}: {RISK(returns):.3f}")
    last = {name: float(np.mean(seasons.info[f"reward/{name}"])) for name in ("yield", *TERMS)}
    print(", ".join(f"{name} {worth:.3f}" for name, worth in last.items()))


if __name__ == "__main__":
    main()
