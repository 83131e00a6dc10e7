"""Custom farmer who rests on Sundays, charges a wage for each action, and has a limited budget.

    python examples/sunday_farmer.py

The program orders watering every day for ten weeks. It prints how often the farmer watered on each weekday, the money
spent, and the day on which the budget ran out.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.pytree import par
from harvestgym.farm import BasicRule, BasicScore, Farm, Farmer, Field, Plant, Soil, Weather
from harvestgym.farm.engine.farmers import Work, WorkResult

DAYS = 70
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WATER = ("SundayFarmer-0", "Field-0", "Soil-0", "watering_discrete",
         {"plot": (0, 0), "amount#L": 2, "duration#min": 30})  # fmt: skip


class SundayFarmer(Farmer):
    """A farmer who rests on Sundays, and works on other days as long as the money lasts."""

    wage: jax.Array = par("wage", "for each order", low=0)
    budget: jax.Array = par("budget", "money for wages and costs of orders in the season", low=0)

    def init(self) -> jax.Array:
        """Return the initial memory: the money in the budget."""
        return jnp.float32(self.budget)

    def work(self, memory: jax.Array, work: Work) -> WorkResult:
        """Accept the first orders in the list, as long as their total price is within the budget."""
        price = work.price + self.wage
        spent = jnp.cumsum(jnp.where(work.wanted, price, 0.0))
        done = work.wanted & (work.day % 7 != WEEK.index("Sun")) & (spent <= memory)
        return WorkResult(done, memory - jnp.sum(done * price), jnp.sum(done * self.wage))


def farm() -> Farm:
    """Return a farm with a square metre of beans on sand; watering costs 0.5, plus a wage of 0.5."""
    kinds = [(Weather, "lille"), (Soil, "sand"), (Plant, "bean")]
    field = Field({"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20}, {"length#nb": 1, "width#nb": 1}, kinds)
    start = {"Field-0": {"Weather-0": {"day#int365": 150}, "Plant-0": {"stage": "seed"}}}
    rules = BasicRule(init=start, horizon=DAYS, free_observations=[("Field-0", "Plant-0", "stage", [])])
    farmer = SundayFarmer(wage=jnp.float32(0.5), budget=jnp.float32(45.0))
    return Farm([field], [farmer], BasicScore(intervention_cost=0.5), rules, mode="po")


def main() -> None:
    """Run one season with the paper's action tuples."""
    game = farm()
    game.farmgym_reset(seed=0)
    done, paid = np.zeros((DAYS // 7, 7), int), 0.0
    for day in range(DAYS):
        _, _, terminated, truncated, info = game.farmgym_step([WATER])
        done[divmod(day, 7)] = not info["refused"]
        paid += info["wages"] + info["intervention cost"]
        if terminated or truncated:
            break
    print("  ".join(f"{name} {times}" for name, times in zip(WEEK, done.sum(0), strict=True)))
    print(f"paid {paid:.1f}, last watering on day {int(np.flatnonzero(done).max())} of {DAYS}")


if __name__ == "__main__":
    main()
