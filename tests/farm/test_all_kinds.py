"""All kinds together: balances, no order of a file matters, nobody disturbs the others' draws, mirrors, two fields."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import par, replace
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.components import load_kind
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Draws, Entity, Place, publishes
from harvestgym.farm.entities.messages import Air
from harvestgym.farm.entities.plant.state import clear_plots
from harvestgym.farm.entities.weather import Weather
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_balance import imbalances
from tests.farm.one_field import LILLE, make_farm, make_field
from tests.long_form import long

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


@pytest.fixture(scope="module")
def together() -> FarmModel:
    return make_farm(COMPANY, (2, 2), INIT)


@long
def test_water_and_nutrients_balance_in_company(together: FarmModel) -> None:
    """Random orders of all kinds for 60 days, on 8 seeds: every plot and day, to 3e-6 of what is held and flows."""
    run = jax.jit(jax.vmap(lambda key: imbalances(together, together.params, key)))
    found = run(jax.random.split(jax.random.key(0), 8))
    for substance, each in found.items():
        assert float(np.max(each)) < 3e-6, substance


@partial(jax.jit, static_argnums=0)
def season(env: FarmModel, params: Any, order: jax.Array) -> dict[str, jax.Array]:
    """Return every variable on every of 40 days with the same order every day, by name."""

    def step(state: Any, now: jax.Array) -> tuple[Any, Any]:
        after = env.transition(jax.random.fold_in(jax.random.key(7), now), state, order, params)
        return after, {v.name: env.value(v, after, params) for v in env.variables}

    return jax.lax.scan(step, env.initial(jax.random.key(7), params), jnp.arange(40))[1]


def history(env: FarmModel, order: int = 0) -> dict[str, np.ndarray]:
    """Return that season, idle by default."""
    return {name: np.asarray(values) for name, values in season(env, env.params, jnp.int32(order)).items()}


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> None:
    """Equal integers, and floats up to the order in which sums are rounded, for the variables of `a`, all in `b`."""
    for name in a:
        if a[name].dtype.kind == "f":
            np.testing.assert_allclose(a[name], b[name], rtol=2e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


SMALL = [COMPANY[i] for i in (0, 1, 2, 4, 5, 7, 8, 9, 11, 13)]
FEW = {name: INIT[name] for name in ("Weather-0", "Plant-0", "Weeds-0", "Pests-0")}


PASSING = {"extends": "base_bird", "seed_eater": False, "pest_eater": False, "pollinator_eater": False}
"""Birds that come at random and touch nothing."""


@long
def test_no_order_of_the_file_matters_and_an_idle_entity_changes_nothing() -> None:
    """One kind of each in two orders, and once more with a fertilizer that lies in its bag and birds that pass by."""
    plain = history(make_farm(SMALL, (2, 2), FEW))
    assert (
        plain["Field-0/Pests-0/onplant_population#nb/Plant-0"].max() > 0
        and plain["Field-0/Weeds-0/flowers#nb"].max() > 0
    )
    same(plain, history(make_farm(SMALL[::-1], (2, 2), FEW)))
    more = history(make_farm([["Fertilizer", "slow_all"], *SMALL, ["Birds", PASSING]], (2, 2), FEW))
    assert len(set(more["Field-0/Birds-1/population#nb"])) > 3
    same(plain, more)


def fields(*which: str) -> FarmModel:
    """Fields far from one another, each with its own sky, soil and birds, and of its own shape."""
    rest = [["Soil", "sand"], ["Birds", "base_bird"]]
    plans = {
        "Field-0": make_field([["Weather", "montpellier"], *rest], (2, 1)),
        "Field-1": make_field([["Weather", "lille"], *rest], (1, 3), LILLE),
    }
    init = {name: {"Weather-0": {"day#int365": 130}} for name in which}
    return build(farm_spec({"fields": {name: plans[name] for name in which}, "rules": {"init": init}}, "test"))


@long
def test_a_field_neither_sees_nor_disturbs_another() -> None:
    """Alone or with another field, with any actions there: the same days; each field has its own sky."""
    both, alone = fields("Field-0", "Field-1"), history(fields("Field-0"))
    values = {"plot": (0, 2), "amount#L": 20, "duration#min": 60}
    pour = both.actions.index(("BasicFarmer-0", "Field-1", "Soil-0", "watering_discrete", values))
    idle, busy = history(both), history(both, order=pour)
    for company in (idle, busy):
        same(alone, company)
    water = "Field-1/Soil-0/available_Water#L"
    assert (busy[water] >= idle[water]).all() and (busy[water] - idle[water])[:, 0, 2].mean() > 2
    np.testing.assert_array_equal(busy[water][:, 0, :2], idle[water][:, 0, :2])
    air = [idle[f"Field-{i}/Weather-0/air_temperature/mean#°C"] for i in range(2)]
    assert (air[0] != air[1]).mean() > 0.9 and air[0].mean() > air[1].mean() + 2


class Breeze(Weather):
    """The weather of a site, with a wind that always blows the same way."""

    randomness: ClassVar = Weather.randomness
    blows_x: jax.Array = par("blows_x", "eastward component", low=-1, high=1)
    published: ClassVar = ()

    @publishes(Air)
    def air(self, state: Any, place: Place, board: Board, draws: Draws) -> Air:
        """Replace the wind of the weather."""
        reported = getattr(super(), Weather.published[0][1])(state, place, board, draws)
        return replace(reported, wind=jnp.float32(30.0), wind_x=jnp.float32(self.blows_x), wind_y=jnp.float32(0.0))


@partial(jax.jit, static_argnums=0)
def seasons(env: FarmModel, params: Any, bare: jax.Array, keys: jax.Array) -> jax.Array:
    """Pests, weeds and grams of a pod (season, what, plots) after 25 days, with no crop on the `bare` plots."""

    def season(key: jax.Array) -> jax.Array:
        def step(state: Any, now: jax.Array) -> tuple[Any, None]:
            return env.transition(jax.random.fold_in(key, now), state, jnp.int32(0), params), None

        first = env.initial(key, params)
        weather, soil, plant, *others = first.fields[0]
        first = replace(first, fields=((weather, soil, clear_plots(plant, bare), *others),))
        last, _ = jax.lax.scan(step, first, jnp.arange(25))
        _, _, plant, weeds, pests = last.fields[0]
        return jnp.stack([pests.population, weeds.growing + weeds.flowering, plant.fruit_weight]).astype(jnp.float32)

    return jax.vmap(season)(keys)


def means(blows: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error of what `seasons` gives on each plot of a 4 x 3 field, over 600 of them.

    The wind comes from the half of the field that has no crop.
    """
    sets = [load_kind(kind).named(which) for kind, which in SMALL[1:3]]
    weather = Breeze(**vars(Weather.named("montpellier")), blows_x=np.float32(blows))  # pyright: ignore
    rest: list[Entity] = [load_kind(k).named(w) for k, w in (["Weeds", "base_weed"], ["Pests", "agressive"])]
    made = [weather, *sets, *rest]
    init = {"Weather-0": FEW["Weather-0"], "Plant-0": {"stage": "bloom"}, "Weeds-0": FEW["Weeds-0"]}
    env = make_farm(SMALL, (4, 3), {"Breeze-0": init.pop("Weather-0"), **init}, made=made)

    bare = np.zeros((4, 3), bool)
    bare[slice(0, 2) if blows > 0 else slice(2, 4)] = True
    found = np.asarray(seasons(env, env.params, bare, jax.random.split(jax.random.key(int(blows > 0)), 600)))
    return found.mean(0), found.std(0) / np.sqrt(len(found))


@long
def test_a_mirrored_field_with_a_mirrored_wind_gives_mirrored_seasons() -> None:
    """No difference above 4.5 standard errors among 36 means; the two halves of a field differ by more than that."""
    (east, e), (west, w) = means(1.0), means(-1.0)
    apart = np.abs(east - west[:, ::-1]) / np.maximum(np.hypot(e, w[:, ::-1]), 1e-9)
    assert apart.max() < 4.5
    pests = east[0]
    assert (pests[-1] - pests[0]).sum() > 4.5 * np.hypot(e[0][-1], e[0][0]).sum(), "pests drift with the wind"
    pods = east[2]
    assert (pods[2:] > 1).all() and (pods[:2] == 0).all()
