"""Corn and beans on one plot: their joint yield relative to each crop alone, by the time at which corn is sown.

The land equivalent ratio (Mead and Willey 1980) is the area on which crops grown alone yield as much as the mixture
does on one unit of area: the sum of the crops' yields, each relative to its best stand alone. Crops of different
heights that grow in the same weeks take light, water and nutrients from each other. If one is sown later (relay
intercropping), each crop grows without competition for part of its time. In experiments, the ratio is 1.22 on average,
and it rises with the length of that part if one crop is C3 and the other C4, like beans and corn (Yu et al. 2015, a
meta-analysis).

No parameter was chosen for this study. Apart from the shared soil, the crops interact only through shade, which depends
on the height of both canopies.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.tables import Table
from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.evaluate.statistics import ConfidenceInterval
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.state import DayReport, FarmState
from harvestgym.farm.entities.plant.stages import Stage

from .common.findings import Claim, bootstrap, claim_at_least, claims_table
from .common.report import open_figure, write_seasons
from .common.trials import (
    HARVEST,
    REPORTED,
    WATER,
    WATERING_MINUTES,
    Case,
    TreatmentOrder,
    find_water_level,
    make_trial_farm,
    run_seasons,
)  # fmt: skip
from .common.variants import Variant, variants_table

CORN, BEANS = "Plant-0", "Plant-1"
BEAN_SEEDS, CORN_SEEDS = (15, 20, 25), (10, 15, 20)
LEADS = (0, 10, 20, 30, 40)
"""Heights of the beans, cm, at which the corn of a mixture is sown."""

SHOWN_LEAD = 20
"""The lead for which the claims are stated."""

SHARE = (20, 20)
"""Seeds of corn and beans in a mixture: the same number of each as in its best stand alone."""

SPACING = 20.0
DRY_DAY_LITRES = 15.0
LAST_SOWING, LAST_AGAIN = 60, 100
"""Latest days, from the start, for a first sowing and for beans that follow beans."""

VARIANTS = {
    "as in the study": Variant(weather="seattle"),
    "with bees": Variant(weather="seattle"),
    "clay": Variant(weather="seattle", soils=("clay",)),
    "sand": Variant(weather="seattle", soils=("sand",)),
    "silt": Variant(weather="seattle", soils=("silt",)),
    "generated summers of Isparta": Variant(weather="isparta"),
    "the same day every day": Variant(),
}


class Plan(NamedTuple):
    """The sowing of both crops, and the watering.

    Attributes:
        corn, beans: numbers of seeds.
        lead: height of the beans, cm, from which corn is sown.
        again: whether beans are sown again after a harvest of beans.
        level: water in the plot, L, below which it is watered.
    """

    corn: Any
    beans: Any
    lead: Any
    again: Any
    level: Any


def run(
    replicates: int = 100,
    out: Path | None = None,
    progress: Progress = ignore_progress,
    seed: int = REPORTED,
    variants: bool = False,
) -> list[Table]:
    """Tabulate the yields of both crops alone and together, the land equivalent ratio, and the claims.

    `progress` counts farms. With `variants`, the first claim is also tested on other farms, `VARIANTS`.
    """
    cases = _make_cases("as in the study")
    kg = run_both(cases, replicates, seed)
    progress(1)
    if out is not None:
        labels = {name: [case.labels[name] for case in cases] for name in cases[0].labels}
        write_seasons(out / "intercropping.parquet", labels, {"corn_kg_m2": kg[:, 0], "beans_kg_m2": kg[:, 1]})
        _draw(kg, out / "intercropping.png")
    tables = [_make_table(cases, kg), claims_table(_make_claims(kg), replicates)]
    if variants:
        found = []
        for name in VARIANTS:
            cases = _make_cases(name)
            found.append((name, _make_claims(run_both(cases, replicates, seed))[0]))
            progress(1)
        tables.append(variants_table(found))
    return tables


def run_both(cases: Sequence[Case], replicates: int, seed: int) -> np.ndarray:
    """Return the yields of corn and beans, kg, (cases, 2, replicates)."""
    kept = run_seasons(cases, tend_both, watch_harvests, replicates, seed)
    return np.stack([kept["corn"][..., -1], kept["beans"][..., -1]], 1)


def tend_both(plan: Plan, state: FarmState) -> list[TreatmentOrder]:
    """Sow according to the plan, water crops on dry soil, and harvest ripe crops."""
    _, soil, corn, beans, *_ = state.fields[0]
    early, still = state.day < LAST_SOWING, state.day < LAST_AGAIN
    sow_corn = _is_free(corn) & ~_is_harvested(corn) & (plan.corn > 0) & (beans.size >= plan.lead).any() & early
    sow_beans = _is_free(beans) & (plan.beans > 0)
    sow_beans &= jnp.where(_is_harvested(beans), (plan.again > 0) & still, early)
    stands = ~(_is_free(corn) & _is_free(beans))
    return [
        ((CORN, "harvest"), jnp.any(corn.stage == Stage.RIPE), ()),
        ((BEANS, "harvest"), jnp.any(beans.stage == Stage.RIPE), ()),
        ((CORN, "sow"), sow_corn, (plan.corn, SPACING)),
        ((BEANS, "sow"), sow_beans, (plan.beans, SPACING)),
        (WATER, stands & jnp.any(soil.water < plan.level), (DRY_DAY_LITRES, WATERING_MINUTES)),
    ]


def watch_harvests(state: FarmState, report: DayReport) -> dict[str, jax.Array]:
    """Record the harvest of each crop so far, kg."""
    _, _, corn, beans, *_ = state.fields[0]
    return {"corn": corn.harvest_weight.sum(), "beans": beans.harvest_weight.sum()}


def compute_ratio(corn: np.ndarray, beans: np.ndarray, sole_corn: np.ndarray, sole_beans: np.ndarray) -> np.ndarray:
    """Return the land equivalent ratio of yields (..., seasons); yields of sole crops are (stands, seasons).

    The best stand alone is the one with the largest mean.
    """
    return corn.mean(-1) / sole_corn.mean(-1).max() + beans.mean(-1) / sole_beans.mean(-1).max()


def _is_free(crop: Any) -> jax.Array:
    return jnp.all(crop.stage == Stage.NONE)


def _is_harvested(crop: Any) -> jax.Array:
    return jnp.any(crop.harvested)


def _make_farm(name: str) -> FarmModel:
    variant = VARIANTS[name]
    [soil] = variant.soils or ("loam",)
    weather, ground, corn = variant.entities("corn", soil)
    bees = [("Pollinators", "bee")] if name == "with bees" else []
    empty = {plant: {"stage": "none"} for plant in (CORN, BEANS)}
    actions = [(BEANS, HARVEST[1]), (CORN, "sow"), (BEANS, "sow")]
    site = variant.weather if variant.weather == "seattle" else None
    return make_trial_farm([weather, ground, corn, ("Plant", "bean"), *bees], actions, empty, site=site)


def _make_cases(name: str) -> list[Case]:
    """Make the stands of each crop alone (beans sown once, and sown again after harvest), then the mixtures."""
    env = _make_farm(name)
    level = find_water_level(env, 0.7)
    plans = [("corn alone", n, 0, 0, 0) for n in CORN_SEEDS]
    plans += [("beans alone", 0, n, 0, again) for again in (0, 1) for n in BEAN_SEEDS]
    plans += [("both", *SHARE, lead, 0) for lead in LEADS]
    return [Case({"sown": _name_stand(sown, lead, again), "corn_seeds": corn, "bean_seeds": beans}, env,
                 Plan(jnp.float32(corn), jnp.float32(beans), jnp.float32(lead), jnp.float32(again), level))
            for sown, corn, beans, lead, again in plans]  # fmt: skip


def _name_stand(sown: str, lead: int, again: int) -> str:
    if sown == "both":
        return f"corn into beans of {lead} cm" if lead else "both on one day"
    return f"{sown}, twice" if again else sown


def _split(kg: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the yields of the corn stands, of the bean stands, and of the mixtures, (leads, 2, seasons)."""
    corn = len(CORN_SEEDS)
    return kg[:corn, 0], kg[corn : -len(LEADS), 1], kg[-len(LEADS) :]


def _find_ratio(kg: np.ndarray, corn: np.ndarray, beans: np.ndarray) -> ConfidenceInterval:
    sole_corn, sole_beans, _ = _split(kg)
    return bootstrap(compute_ratio, corn, beans, sole_corn, sole_beans)


def _make_table(cases: Sequence[Case], kg: np.ndarray) -> Table:
    rows = []
    for case, (corn, beans) in zip(cases, kg, strict=True):
        labels = case.labels
        means = (f"{corn.mean():.2f}", f"{beans.mean():.2f}", f"{(corn + beans).mean():.2f}")
        ratio = str(_find_ratio(kg, corn, beans))
        rows.append((labels["sown"], f"{labels['corn_seeds']}", f"{labels['bean_seeds']}", *means, ratio))
    columns = ("sown", "corn seeds", "bean seeds", "corn", "beans", "sum", "land equivalent ratio")
    return Table("yield, kg.m-2, mean of the seasons", columns, rows)


def _make_claims(kg: np.ndarray) -> list[Claim]:
    sole_corn, sole_beans, mixtures = _split(kg)
    late = f"corn into beans of {SHOWN_LEAD} cm"

    def compare(relay: np.ndarray, same: np.ndarray, sole_corn: np.ndarray, sole_beans: np.ndarray) -> np.ndarray:
        ratios = [compute_ratio(both[0], both[1], sole_corn, sole_beans) for both in (relay, same)]
        return ratios[0] / ratios[1]

    relay = mixtures[LEADS.index(SHOWN_LEAD)]
    effect = bootstrap(compare, relay, mixtures[0], sole_corn, sole_beans)
    return [
        claim_at_least(f"{late}: land equivalent ratio", _find_ratio(kg, *relay), 1),
        claim_at_least(f"{late}: land equivalent ratio, to that of both on one day", effect, 1),
    ]


def _draw(kg: np.ndarray, path: Path) -> None:
    """Draw the relative yields of both crops against the lead of the beans."""
    sole_corn, sole_beans, mixtures = _split(kg)
    relative = mixtures.mean(-1).T / np.asarray([[sole_corn.mean(-1).max()], [sole_beans.mean(-1).max()]])
    with open_figure(path, 6, 3.6) as figure:
        axes, at = figure.subplots(), np.arange(len(LEADS))
        axes.bar(at, relative[0], color="C1", label="corn")
        axes.bar(at, relative[1], bottom=relative[0], color="C2", label="beans")
        axes.axhline(1, color="black", lw=1, ls="--", label="one crop alone")
        axes.set_xticks(at, [f"{lead} cm" if lead else "same day" for lead in LEADS])
        axes.set(xlabel="height of the beans when corn is sown", ylabel="land equivalent ratio")
        figure.legend(loc="outside right upper", frameon=False)
