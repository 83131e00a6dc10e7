"""An entity of one's own: a fungus that beans feel and a fungicide stops, with no edit of either.

    python examples/fungus.py

Prints, over some seasons of a bean field in Lille, how much of the leaves was infected at worst, the share of plots
still alive after fifty days and the pods on the field after seventy: without the fungus, with it, and treated.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.tree import par, pytree, var
from harvestgym.farm.build import build
from harvestgym.farm.entities.cide import Cide
from harvestgym.farm.entities.plant import Plant
from harvestgym.farm.entities.plant.state import Stage
from harvestgym.farm.entities.soil import Soil
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entity import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.messages import Air, Canopy, Strain
from harvestgym.farm.spec import farm_spec

DAYS, SEASONS = 70, 32


@pytree
class FungusState:
    """What the leaves of each plot bear."""

    infected: jax.Array = var("infected#%", "share of the leaves, 0 to 1", high=1)


@pytree
class Fungus(Entity):
    """Comes on damp days, grows on them, and weakens every plant that it finds."""

    State: ClassVar[type] = FungusState
    targets: ClassVar[tuple[str, ...]] = ("fungus",)  # a name that cides can act on from now on
    randomness: ClassVar = {"spores": ("plot",)}
    arrival: jax.Array = par("arrival#day-1", "chance that spores come to a plot on a damp day", low=0, high=1)

    def init(self, key: jax.Array, place: Place) -> FungusState:
        return FungusState(infected=jnp.zeros(place.shape))

    @publishes(Strain)
    def strain(self, state: FungusState, place: Place, board: Board, draws: Draws) -> Strain:
        """Exponents that plants and weeds add to those of their own."""
        there = state.infected * (board.by_host(Canopy).alive > 0)
        return Strain(death=0.03 * there, growth=0.7 * there, harvest=0.02 * there)

    def update(self, state: FungusState, place: Place, board: Board, draws: Draws) -> tuple[FungusState, Ledger]:
        damp = board.one(Air).humidity > 70
        grown = state.infected * jnp.where(damp, 1.3, 1.0) + 0.05 * (damp & (draws["spores"] < self.arrival))
        healed = jnp.minimum(grown, 1.0) * jnp.exp(-2 * board.toxin("fungus") / place.surface)
        return FungusState(infected=healed), Ledger({}, {})


def farm(arrival: float) -> Any:
    """A square metre of beans, and a fungicide made of the herbicide."""
    cide = Cide.named({"extends": "herbicide", "effect": {"fungus": 1, "weeds": 0}})
    kinds = [Weather.named("lille"), Soil.named("clay"), Plant.named("bean"), cide, Fungus(arrival=np.float32(arrival))]  # pyright: ignore[reportArgumentType]
    place = {"latitude#°": 50.6, "longitude#°": 3.1, "altitude#m": 20}
    field = {"localization": place, "shape": {"length#nb": 1, "width#nb": 1}, "entities": [["ready", "made"]]}
    start = {"Field-0": {"Weather-0": {"day#int365": 130}, "Plant-0": {"stage": "seed"}}}
    return build(farm_spec({"fields": {"Field-0": field}, "rules": {"init": start}}, "example"), {"Field-0": kinds})


def season(key: jax.Array, env: Any, params: Any, plan: jax.Array) -> tuple[jax.Array, ...]:
    """The worst infection, life after fifty days, pods at the end, kg."""

    def day(state: Any, today: tuple[jax.Array, jax.Array]) -> Any:
        after = env.transition(jax.random.fold_in(key, today[0]), state, today[1], params)
        _, _, bean, _, fungus = after.fields[0]
        kg = bean.population * bean.fruits * bean.fruit_weight / 1000
        return after, (fungus.infected.mean(), jnp.mean(bean.stage != Stage.DEAD), kg.sum())

    infected, alive, kg = jax.lax.scan(day, env.initial(key, params), (jnp.arange(DAYS), plan))[1]
    return infected.max(), alive[50], kg[-1]


def main() -> None:
    """Three arms on the same seeds; they share one compiled program."""
    env = farm(0.1)
    bag = next(i for i, c in enumerate(env.actions.choices) if c and c.row.action.name == "scatter_bag")
    treated = np.zeros(DAYS, int)
    treated[[15, 45]] = bag
    run = jax.jit(jax.vmap(lambda key, params, plan: season(key, env, params, plan), (0, None, None)))
    keys = jax.random.split(jax.random.key(0), SEASONS)
    for name, arrival, plan in (("healthy", 0.0, 0 * treated), ("ill", 0.1, 0 * treated), ("treated", 0.1, treated)):
        infected, alive, kg = (float(x.mean()) for x in run(keys, farm(arrival).params, jnp.asarray(plan)))
        print(f"{name}: infected {infected:.2f}, alive {alive:.2f}, pods {kg:.2f} kg")


if __name__ == "__main__":
    main()
