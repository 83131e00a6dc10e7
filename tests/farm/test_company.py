"""All kinds together: balances close, no order of a file matters, nobody disturbs the others' draws, mirrors agree."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.tree import par, pytree, replace
from harvestgym.farm.build import build
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.entity import Board, Draws, Entity, Place, publishes
from harvestgym.farm.messages import Air
from harvestgym.farm.model import FarmModel
from harvestgym.farm.parts import kind_named
from harvestgym.farm.spec import farm_spec

from .test_balance import imbalances

COMPANY: list[Any] = [
    ["Weather", "montpellier"], ["Soil", "loam"], ["Plant", "bean"], ["Plant", "corn"], ["Birds", "base_bird"],
    ["Weeds", "base_weed"], ["Weeds", "grass"], ["Pests", "agressive"], ["Pollinators", "bee"], ["Cide", "herbicide"],
    ["Cide", "pesticide"], ["Fertilizer", "fast_all"], ["Fertilizer", "urea"], ["Facility", "hedge"],
]  # fmt: skip
INIT: dict[str, Any] = {
    "Weather-0": {"day#int365": 130},
    "Plant-0": {"stage": ["seed", "grow"]},
    "Plant-1": {"stage": ["grow", "bloom"]},
    "Weeds-0": {"seeds#nb": 20, "grow#nb": 10},
    "Pests-0": {"plot_population#nb": 40},
}


def farm(entities: list[Any], shape: tuple[int, int] = (2, 2), init: Any = INIT, **ready: Any) -> FarmModel:
    place = {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30.0}
    size = {"length#nb": shape[0], "width#nb": shape[1]}
    field = {"localization": place, "shape": size, "entities": entities}
    return build(farm_spec({"fields": {"Field-0": field}, "rules": {"init": {"Field-0": init}}}, "test"), **ready)


@pytest.fixture(scope="module")
def together() -> FarmModel:
    return farm(COMPANY)


def test_water_and_nutrients_balance_in_company(together: FarmModel) -> None:
    """Random orders of all kinds for 60 days, on 8 seeds: every plot and day, to 3e-6 of what is held and flows."""
    run = jax.jit(jax.vmap(lambda key: imbalances(together, together.params, key)))
    found = run(jax.random.split(jax.random.key(0), 8))
    for substance, each in found.items():
        assert float(np.max(each)) < 3e-6, substance


def history(env: FarmModel, days: int = 40) -> dict[str, np.ndarray]:
    """Every variable on every day of a season without orders, by name."""

    def step(state: Any, now: jax.Array) -> tuple[Any, Any]:
        key = jax.random.fold_in(jax.random.key(7), now)
        after = env.transition(key, state, jnp.int32(0), env.params)
        return after, {v.name: env.value(v, after, env.params) for v in env.variables}

    run = jax.jit(lambda: jax.lax.scan(step, env.initial(jax.random.key(7), env.params), jnp.arange(days))[1])
    return {name: np.asarray(values) for name, values in run().items()}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Equal integers, and floats up to the order in which sums are rounded, for the variables that both have."""
    for name in a.keys() & b.keys():
        if a[name].dtype.kind == "f":
            np.testing.assert_allclose(a[name], b[name], rtol=2e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


SMALL = [COMPANY[i] for i in (0, 1, 2, 4, 5, 7, 8, 9, 11, 13)]
FEW = {name: INIT[name] for name in ("Weather-0", "Plant-0", "Weeds-0", "Pests-0")}


def test_no_order_of_the_file_matters_and_an_idle_entity_changes_nothing() -> None:
    """One kind of each in two orders, and once more with a fertilizer that nobody scatters."""
    plain = history(farm(SMALL, init=FEW))
    assert (
        plain["Field-0/Pests-0/onplant_population#nb/Plant-0"].max() > 0
        and plain["Field-0/Weeds-0/flowers#nb"].max() > 0
    )
    same(plain, history(farm(SMALL[::-1], init=FEW)))
    same(plain, history(farm([*SMALL, ["Fertilizer", "slow_all"]], init=FEW)))


@pytree
class Breeze(Weather):
    """The weather of a site, with a wind that always blows the same way."""

    randomness: ClassVar = Weather.randomness
    blows_x: jax.Array = par("blows_x", "eastward component", low=-1, high=1)
    published: ClassVar = ()

    @publishes(Air)
    def air(self, state: Any, place: Place, board: Board, draws: Draws) -> Air:
        """As the weather says, but for the wind."""
        told = getattr(super(), Weather.published[0][1])(state, place, board, draws)
        return replace(told, wind=jnp.float32(30.0), wind_x=jnp.float32(self.blows_x), wind_y=jnp.float32(0.0))


@partial(jax.jit, static_argnums=0)
def seasons(env: FarmModel, params: Any, keys: jax.Array) -> jax.Array:
    """Pests and weeds (season, kind, plots) after 25 days."""

    def season(key: jax.Array) -> jax.Array:
        def step(state: Any, now: jax.Array) -> tuple[Any, None]:
            return env.transition(jax.random.fold_in(key, now), state, jnp.int32(0), params), None

        last, _ = jax.lax.scan(step, env.initial(key, params), jnp.arange(25))
        weeds, pests = last.fields[0][-2:]
        return jnp.stack([pests.population, weeds.growing + weeds.flowering]).astype(jnp.float32)

    return jax.vmap(season)(keys)


def means(blows: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error of pests and weeds on each plot of a 4 x 3 field after 25 days, over 600 seasons."""
    sets = [kind_named(kind).named(which) for kind, which in SMALL[1:3]]
    weather = Breeze(**vars(Weather.named("montpellier")), blows_x=np.float32(blows))  # pyright: ignore
    rest: list[Entity] = [kind_named(k).named(w) for k, w in (["Weeds", "base_weed"], ["Pests", "agressive"])]
    ready = {"Field-0": [weather, *sets, *rest]}
    init = {name: FEW[name] for name in ("Weather-0", "Plant-0", "Weeds-0")}
    env = farm(SMALL, (4, 3), {"Breeze-0": init.pop("Weather-0"), **init}, ready=ready)

    found = np.asarray(seasons(env, env.params, jax.random.split(jax.random.key(int(blows > 0)), 600)))
    return found.mean(0), found.std(0) / np.sqrt(len(found))


def test_a_mirrored_wind_gives_mirrored_fields() -> None:
    """No difference above 4.5 standard errors among 24 means; downwind and upwind differ by more than that."""
    (east, e), (west, w) = means(1.0), means(-1.0)
    apart = np.abs(east - west[:, ::-1]) / np.hypot(e, w[:, ::-1])
    assert apart.max() < 4.5
    pests = east[0]
    assert (pests[-1] - pests[0]).sum() > 4.5 * np.hypot(e[0][-1], e[0][0]).sum(), "pests drift with the wind"
