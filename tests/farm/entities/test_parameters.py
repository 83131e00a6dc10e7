"""Every parameter matters: perturbed, it changes a trajectory of a farm on which everything happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.pytree import Pytree, replace, var
from harvestgym.farm.build.components import load_kind
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Board, Draws, Entity, Ledger, Place, publishes
from harvestgym.farm.entities.messages import NUTRIENTS, Dose, Flock, Load, Strain, Visits
from tests.farm.messages import message
from tests.farm.one_field import make_farm
from tests.long_form import long

EPISODES, DAYS, ROUNDS = 4, 120, 32
"""A parameter has up to so many rounds of so many episodes of so many days to show that it matters."""

SEEDS = jnp.concatenate([jax.random.split(jax.random.key(i), 4 * EPISODES) for i in range(ROUNDS // 4)])
KEYS = SEEDS.reshape(ROUNDS, EPISODES)
"""The keys of the episodes of each round."""


class NoState(Pytree):
    """A kind must have a described state."""

    age: jax.Array = var("age#day", "days of trouble", axes=())


class Trouble(Entity):
    """Birds, pests, pollinators, a disease and a spill, a little of each on some days."""

    State: ClassVar[type] = NoState
    randomness: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "birds": (), "pests": ("host", "plot"), "visits": ("plot",), "strain": ("host", "plot"),
        "spill": ("target", "plot"),
    }  # fmt: skip

    @publishes(Flock)
    def flock(self, state: NoState, place: Place, board: Board, draws: Draws) -> Flock:
        """Draw up to three birds on one day in four."""
        birds = jnp.round(3 * jnp.maximum(4 * draws["birds"] - 3, 0))
        return message(Flock, place, seed_eaters=birds, pest_eaters=birds, pollinator_eaters=birds)

    @publishes(Load)
    def load(self, state: NoState, place: Place, board: Board, draws: Draws) -> Load:
        """Draw up to four pests on one day in ten."""
        return message(Load, place, pests=jnp.round(4 * jnp.maximum(10 * draws["pests"] - 9, 0)))

    @publishes(Visits)
    def visits(self, state: NoState, place: Place, board: Board, draws: Draws) -> Visits:
        """Return every other day."""
        return message(Visits, place, occurrence=draws["visits"] < 0.5)

    @publishes(Strain)
    def strain(self, state: NoState, place: Place, board: Board, draws: Draws) -> Strain:
        """Return a light disease."""
        light = 0.02 * draws["strain"]
        return message(Strain, place, death=light, growth=light, harvest=light)

    @publishes(Dose)
    def dose(self, state: NoState, place: Place, board: Board, draws: Draws) -> Dose:
        """Return a gram on one day in twenty."""
        return message(Dose, place, toxin=draws["spill"] < 0.05)

    def update(self, state: NoState, place: Place, board: Board, draws: Draws) -> tuple[NoState, Ledger]:
        return NoState(age=state.age + 1), Ledger({}, {})


ANY: dict[str, Any] = {"stage": ["none", "seed", "seed", "grow", "bloom", "fruit", "ripe", "dead"]}
CROWDED: dict[str, Any] = {"stage": ["bloom", "fruit", "ripe"], "population#nb": [40], "spacing#cm": [5]}
UNHEARD = {".repulsion"}
"""Said to pests, for which `Trouble` stands in here."""
EARS = {".ripe.keep.frost.sensitivity", ".ripe.keep.age_ripe.sensitivity"}
"""Corn has an ear or two: the floor of eq. (21) takes them before frost or age can."""


ROOTS = {
    ".ripe.keep.rain.sensitivity", ".fruit.ripen.visits.sensitivity", ".bloom.insects.visits.sensitivity",
    ".ripe.keep.age_ripe.sensitivity", ".ripe.keep.age_ripe.high",
}  # fmt: skip
"""No rain spoils a root in the ground and no visit is missed by it: the windows of the carrot hold all there is. Nor
does one grow too old here, as the disease of `Trouble` and the floor of eq. (21) take a root of the clump each day."""
SILENT = {"corn": EARS, "carrots": ROOTS}


def wild(folder: Path, coldest: float = 0.0) -> str:
    """Return a year of every weather: half of the days mild, others heat, drought and damp; a cold spring.

    Of ten frosty nights nine are so light that some plants of every crop survive them. `coldest` is the mean of the
    coldest day of the spring.
    """
    rng = np.random.default_rng(0)
    mild = rng.random(365) < 0.5
    mean = np.where(mild, rng.uniform(15, 25, 365), rng.uniform(0, 42, 365))
    mean[60:120] = rng.uniform(coldest, 6, 60)
    humidity = np.where(mild, rng.uniform(50, 80, 365), rng.uniform(5, 100, 365))
    rain = np.where(rng.random(365) < 0.3, rng.gamma(0.7, 12.0, 365), 0.0)
    low = np.where((mean < 5) & (rng.random(365) < 0.9), np.clip(mean - 5, -0.8, None), mean - 5)
    rows = zip(np.minimum(low, mean), mean + 6, mean, humidity, rng.uniform(0, 9, 365), rain, strict=True)
    file = folder / "wild.csv"
    file.write_text("Tmin,Tmax,T,RH,U,Rain\n" + "".join(",".join(f"{v:.2f}" for v in row) + "\n" for row in rows))
    return str(file)


POOR = {
    "extends": "sand",
    "start": {f"{n}_{end}#g.m-2": v for n in NUTRIENTS for end, v in (("min", 0), ("max", 0.05))},
}
POOR |= {f"bedrocks_release_{n}#mg.day-1": 1 for n in NUTRIENTS}
POOR |= {"depth#m": 2}
"""A sand on which plants go hungry, deeper than their roots."""

WITHOUT_CARBON = {"extends": "sand", "start": {"C_min#g.m-2": 0, "C_max#g.m-2": 0.05}}
WITHOUT_CARBON |= {"bedrocks_release_C#mg.day-1": 1}
"""A sand that lacks carbon alone: of several nutrients only the scarcest counts, which elsewhere is another."""


def farm(
    weather: Any, crop: str = "bean", soil: Any = "clay", plants: Any = ANY, others: tuple[str, ...] = ()
) -> FarmModel:
    """Return two plots of a crop, begun at any stage on any day, next to other crops."""
    crops = [("Plant", name) for name in (crop, *others)]
    entities: list[Any] = [("Weather", "own"), ("Soil", soil), *crops, ("Trouble", "own")]
    init = {"Weather-0": {"day#int365": [1, 60, 120, 180, 300]}, "Plant-0": plants}
    made = [load_kind("Weather").named(weather), *(load_kind(kind).named(which) for kind, which in entities[1:-1])]
    place, made = (50.6, 3.1, 200.0), [*made, Trouble()]
    return make_farm(entities, (1, 2), init, place, made=made, rules={"horizon#day": DAYS})


def prints(env: FarmModel) -> Any:
    """Compiled: parameters and the keys of some episodes -> a fingerprint of each, with random actions.

    It is every leaf of the state, summed over the days of each episode.
    """

    def episode(params: Any, key: jax.Array) -> Any:
        state = env.initial(key, params)

        def step(state: Any, now: jax.Array) -> tuple[Any, Any]:
            today = jax.random.fold_in(key, now)
            busy = jax.random.bernoulli(today, 0.3)
            index = jax.random.randint(today, (), 0, env.actions.size) * busy
            after = env.transition(today, state, index, params)
            return after, [jnp.sum(leaf.astype(jnp.float32)) for leaf in jax.tree.leaves(after)]

        return jnp.stack([jnp.sum(leaf) for leaf in jax.lax.scan(step, state, jnp.arange(DAYS))[1]])

    many = jax.vmap(episode, (None, 0))
    return jax.jit(many)


def perturbed(fields: Any) -> tuple[list[str], list[Any]]:
    """Return the finite numbers among some parameters, by name, and the parameters with that one changed a lot."""
    paths, tree = jax.tree_util.tree_flatten_with_path(fields)
    leaves = [np.asarray(leaf, np.float32 if np.asarray(leaf).dtype.kind == "f" else None) for _, leaf in paths]
    names, rows = [], []
    for i, (path, _) in enumerate(paths):
        for at in np.ndindex(leaves[i].shape) if leaves[i].size <= 8 else [...]:
            if not np.all(np.isfinite(leaves[i][at])):
                continue
            changed = leaves[i].copy()
            upper = jax.tree_util.keystr(path).endswith(".high")
            if changed.dtype == bool:
                changed[at] = ~changed[at]
            else:
                changed[at] = changed[at] / 2 - 1 if upper else changed[at] * 2 + 1
            names.append(jax.tree_util.keystr(path) + (f"[{at}]" if at and at is not ... else ""))
            rows.append(jax.tree.unflatten(tree, [*leaves[:i], changed, *leaves[i + 1 :]]))
    return names, rows


def silent(run: Any, base: Any, *which: int, only: set[str] | None = None) -> set[str]:
    """Return the parameters (all, or `only` these) of some entities of a farm that change nothing in all the rounds."""
    fields = base.fields[0]
    names, rows = perturbed(tuple(fields.entities[i] for i in which))
    given = jax.device_put(base)
    usual: list[np.ndarray] = []

    def changes(row: Any) -> bool:
        changed = dict(zip(which, row, strict=True))
        mine = tuple(changed.get(i, entity) for i, entity in enumerate(given.fields[0].entities))
        params = replace(given, fields=(replace(given.fields[0], entities=mine),))
        for i, key in enumerate(KEYS):
            if i == len(usual):
                usual.append(np.asarray(run(given, key)))
            if not np.array_equal(np.asarray(run(params, key)), usual[i], equal_nan=True):
                return True
        return False

    names = [name.removeprefix("[0]") if len(which) == 1 else name for name in names]
    return {name for name, row in zip(names, rows, strict=True) if (only is None or name in only) and not changes(row)}


@pytest.fixture(scope="module")
def lille() -> tuple[FarmModel, Any]:
    """Return a farm in the climate of Lille, and its compiled fingerprints."""
    env = farm("lille")
    return env, prints(env)


@long
def test_a_seed_gives_the_same_season_twice(lille: tuple[FarmModel, Any]) -> None:
    env, run = lille
    np.testing.assert_array_equal(run(env.params, KEYS[0]), run(env.params, KEYS[0]))


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, Callable[[str], FarmModel]]]:
    """Fields for a crop and what runs their like: wild weather on a poor soil, in clay next to corn, crowded."""
    table = {"table": wild(tmp_path_factory.mktemp("weather"))}
    make = (
        lambda crop: farm(table, crop, POOR),
        lambda crop: farm(table, crop, plants={}, others=("corn",)),
        lambda crop: farm(table, crop, WITHOUT_CARBON, CROWDED),
    )
    return [(prints(one("bean")), one) for one in make]


@long
@pytest.mark.parametrize("crop", ["bean", "corn", "tomato", "carrots"])
def test_every_parameter_of_a_crop_matters(crop: str, fields: list[tuple[Any, Callable[[str], FarmModel]]]) -> None:
    """Somewhere: begun at any stage, or alone next to another, or crowded in its late stages.

    A field is compiled and run only if the fields before it left parameters that are still to be shown to matter.
    """
    quiet: set[str] | None = None
    allowed = UNHEARD | SILENT.get(crop, set())
    for run, of in fields:
        if quiet is None or not quiet <= allowed:
            quiet = silent(run, of(crop).params, 2, only=quiet)
    assert quiet is not None and quiet <= allowed


@long
def test_every_parameter_of_the_soil_and_of_a_climate_matters(lille: tuple[FarmModel, Any]) -> None:
    env, run = lille
    assert not silent(run, env.params, 1)
    assert silent(run, env.params, 0) == {".settings.heavy_chance"}, (
        "which is for tables that say only whether it rains"
    )


@long
def test_every_parameter_of_a_table_matters(tmp_path: Path) -> None:
    file = tmp_path / "my.csv"
    rows = "\n".join(f"{5 + i % 9},{20 + i % 7},{13 + i % 3},{60 + i % 20},{2 + i % 3},{i % 2}" for i in range(365))
    file.write_text(f"Tmin,Tmax,T,RH,U,Rain\n{rows}\n")
    env = farm({"table": str(file), "rain": "occurrence", "station_altitude#m": 10})
    assert silent(prints(env), env.params, 0) <= {".sky.year"}, "the table has one year"


CROWD: list[list[Any]] = [
    ["Plant", "bean"], ["Birds", {"extends": "base_bird", "pollinator_eater": True}], ["Weeds", "base_weed"],
    ["Pests", "agressive"], ["Pollinators", "bee"], ["Cide", {"extends": "pesticide", "effect": {"weeds": 0.2}}],
    ["Fertilizer", "fast_all"], ["Facility", {"extends": "hedge", "insect_lure#plot": 0.25}],
]  # fmt: skip
BUSY: dict[str, Any] = {
    "Plant-0": {"stage": ["none", "seed", "bloom", "fruit"]}, "Weeds-0": {"seeds#nb": "(0, 60)", "grow#nb": "(0, 60)"},
    "Pests-0": {"plot_population#nb": "(0, 30)"}, "Weather-0": {"day#int365": [1, 60, 120, 180, 300]},
}  # fmt: skip


def crowd(folder: Path) -> FarmModel:
    """Everything on 3 x 3 plots of a poor sand in wild weather; what an order does to the crop comes as often.

    Its spring kills the crop and reaches the window of the weeds.
    """
    entities = [["Weather", {"table": wild(folder, coldest=-5)}], ["Soil", POOR], *CROWD]
    return make_farm(entities, (3, 3), BUSY, (50.6, 3.1, 200.0), rules={"horizon#day": DAYS})


@long
def test_every_parameter_of_the_company_matters(tmp_path: Path) -> None:
    env = crowd(tmp_path)
    quiet = silent(prints(env), env.params, *range(3, len(env.fields[0].slots)))
    assert not quiet, quiet
