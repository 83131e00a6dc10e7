"""Part B of `protocol.md`: experts in weather that they were not tuned on (Maricopa, LIRF), and experts that travel.

python -m experiments.reality.years --work FOLDER                 # tune the rules, on the development side only
python -m experiments.reality.years --work FOLDER --open-sealed   # then play the sealed years, once
python -m experiments.reality.years --page                        # the page of the docs, from the results

Tuning takes about an hour on two cores; every result is a file in the folder, and an interrupted run continues. For
each id, three rules are tuned with equal budgets: one on the development years of Maricopa, one on years generated from
the monthly means of LIRF, and a travelling rule (`travelling`) on all climates of the package and the development years
of Maricopa. The sealed years are read by `open_sealed` only, which appends a line to `OPENED`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import jax
import numpy as np

from experiments.studies.common.findings import bootstrap
from harvestgym import registry
from harvestgym.core.episode import episode_keys
from harvestgym.core.policy import Policy
from harvestgym.core.pytree import replace
from harvestgym.core.tuning.rule_family import RuleFamily
from harvestgym.core.view.timeline import ignore_progress
from harvestgym.core.xla.process_checks import free_programs_if_full
from harvestgym.evaluate import splits
from harvestgym.evaluate.run import run_rows
from harvestgym.evaluate.statistics import WORST_TENTH
from harvestgym.evaluate.tune import Bench, Budget, search_numbers
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.weather.weather import Weather
from harvestgym.farm.policies.expert_rules import compile_policy
from harvestgym.farm.policies.rule_numbers import make_rule_families
from harvestgym.farm.weather_data.table import YEAR

from . import places, years_page
from .places import Place
from .sealed import LOG as OPENED
from .sealed import describe_run, log_opening
from .travelling import Season, build_fast, make_travelling_family, measure_season

RESULTS = Path(__file__).parents[1] / "results/reality-years.json"
HOMES = {"pests-weeds-1x1-v0": "montpellier"}
"""The sites of the farms in `TRAVELLING` that are not in Seattle."""

TRAVELLING = (
    "bean-1x1-v0", "corn-1x1-v0", "tomato-1x1-v0", "fertilizer-1x1-v0", "paid-looks-1x1-v0", "pests-weeds-1x1-v0",
    "full-1x1-v0", "bean-clay-weeds-3x4-v0", "pollination-3x4-v0", "polyculture-3x4-v0",
)  # fmt: skip
"""The ids that the protocol names, those of one plot first."""

OTHERS = ("corn-nitrate-1x1-v0", "game0-v0", "game0-weeds-v0", "rotation-v0", "full-3x4-v0", "full-10x10-v0")
"""The other farms with one weather site."""

LARGE = 50
"""Number of plots from which a farm has a small budget."""

FINALIST_SEASONS = 4
"""Number of fresh seasons of a finalist, as a multiple of those of a candidate."""

NEVER = 10**7
"""A pause, in days, that is longer than any memory: a rule with it does nothing."""

SEEDS = {"maricopa": 32, "lirf": 144}
"""Seasons in each sealed year of a farm of one plot; half as many with more plots, and a quarter on large farms."""


@dataclass(frozen=True, eq=False)
class Farm:
    """A farm of the catalogue whose weather, latitude and altitude are arguments; one program plays all places.

    Attributes:
        id: without `farm/`.
        env: the farm, with its tuned expert, and a table as its weather.
    """

    id: str
    env: FarmModel

    @classmethod
    def load(cls, id: str) -> Farm:
        """Load a farm of the catalogue."""
        env: Any = registry.spec(f"farm/{id}").make(entities={"Weather-0": "seattle"})
        return cls(id, env)

    @cached_property
    def plots(self) -> int:
        """The number of plots."""
        return int(np.prod(self.env.params.fields[0].place.shape))

    @property
    def budget(self) -> Budget:
        """The size of a search for this farm: candidates, and seasons for each."""
        if self.plots >= LARGE:
            return Budget(32, 12)
        return Budget(320 if self.plots == 1 and self.steps < 2 * YEAR else 96, 36)

    @property
    def rows(self) -> int:
        """The number of seasons in a call on the device."""
        return 576 if self.plots < LARGE else 96

    @property
    def steps(self) -> int:
        """The largest number of steps of a season."""
        return int(self.env.params.horizon) * (2 if self.env.asks else 1)

    @property
    def table_days(self) -> int:
        """The days of weather that a season may need: from 1 January to the end and its forecast."""
        return YEAR * -(-(int(self.env.params.horizon) + YEAR) // YEAR)

    def move(self, place: Place, year: int) -> Any:
        """Return the farm's parameters at a place, in weather that begins on 1 January of one of its years."""
        (field,) = self.env.params.fields
        days = place.follow(year, self.table_days)
        entities = tuple(
            replace(one, station=np.float32(place.altitude), wind_from=place.wind_from,
                    sky=replace(one.sky, days=days, start_day=np.int32(1), year=np.int32(0)))
            if isinstance(one, Weather) else one
            for one in field.entities
        )  # fmt: skip
        where = replace(field.place, latitude=np.float32(place.latitude), altitude=np.float32(place.altitude))
        return replace(self.env.params, fields=(replace(field, entities=entities, place=where),))


Build = Callable[[Mapping[str, float], Place], Policy]
"""Makes the policy for numbers (or shares) at a place."""


@dataclass(frozen=True)
class Seasons:
    """The seasons in which rules are compared, at one or more places; a `Bench` for `search_numbers`.

    Attributes:
        farm: the farm.
        places: where it is played.
        place, year: int (seasons,), the place and year of each season.
        keys: the random key of each season, which also draws the first day.
        build: makes a candidate's policy at a place.
    """

    farm: Farm
    places: tuple[Place, ...]
    place: np.ndarray
    year: np.ndarray
    keys: jax.Array
    build: Build

    @cached_property
    def params(self) -> Any:
        """The farm's parameters in each season, stacked."""
        each = [self.farm.move(self.places[p], int(y)) for p, y in zip(self.place, self.year, strict=True)]
        return jax.tree.map(lambda *leaves: np.stack([np.asarray(leaf) for leaf in leaves]), *each)

    def run_rules(self, family: RuleFamily, candidates: Sequence[Mapping[str, float]]) -> np.ndarray:
        """Return the return of each candidate in each season, (candidates, seasons)."""
        return self.run([[self.build(numbers, place) for place in self.places] for numbers in candidates])

    def run(self, policies: Sequence[Sequence[Policy]]) -> np.ndarray:
        """Return the returns, (candidates, seasons), of policies of one structure: one for each place, by candidate."""
        leaves = [jax.tree.map(np.asarray, policy.traced()) for row in policies for policy in row]
        stacked = jax.tree.map(lambda *parts: np.stack(parts), *leaves)
        candidate, season = np.divmod(np.arange(len(policies) * len(self.year)), len(self.year))
        which = candidate * len(self.places) + self.place[season]
        acting = jax.tree.map(lambda leaf: leaf[which], stacked)
        whole = run_rows(
            self.farm.env, acting, np.arange(len(which)), lambda rows: self.keys[season[rows]], self.farm.steps,
            self.farm.rows, jax.tree.map(lambda leaf: leaf[season], self.params),
        )  # fmt: skip
        return np.asarray(whole.returns, float).reshape(len(policies), -1)


def draw_seasons(farm: Farm, at: Sequence[Place], number: int, build: Build, seed: int) -> Seasons:
    """Draw seasons of the training split, equally many at each place, in years drawn evenly."""
    place = np.arange(number) % len(at)
    rng = np.random.default_rng(seed)
    turn = rng.permuted(np.arange(number) // len(at))
    year = np.asarray([turn[i] % len(at[place[i]].years) for i in range(number)])
    key = jax.random.fold_in(splits.split(f"farm/{farm.id}", "train").key(0), seed)
    return Seasons(farm, tuple(at), place, year, episode_keys(key, number), build)


class Tuned(NamedTuple):
    """A tuned rule: its numbers or shares, and its mean in fresh seasons of the development side."""

    numbers: dict[str, float]
    mean: float


def tune(farm: Farm, at: Sequence[Place], family: RuleFamily, build: Build) -> Tuned:
    """Search for the best numbers of a family at some places."""
    seasons = farm.budget.seasons
    bench, fresh = (
        draw_seasons(farm, at, number, build, seed) for seed, number in ((1, seasons), (2, FINALIST_SEASONS * seasons))
    )
    found = search_numbers("expert", family, cast(Bench, bench), cast(Bench, fresh), farm.budget, 0, ignore_progress)
    return Tuned(found.numbers, found.mean)


class Workshop(NamedTuple):
    """The rules of one farm, and how they are built.

    Attributes:
        farm: the farm.
        means: the monthly means of LIRF.
        work: the folder of intermediate results.
    """

    farm: Farm
    means: dict[str, list[float]]
    work: Path

    @property
    def development(self) -> dict[str, Place]:
        """The development side of each measured place."""
        return {"maricopa": places.read_maricopa(places.DEVELOPMENT), "lirf": places.generate_lirf(self.means)}

    def measure_seasons(self) -> dict[str, Season]:
        """Measure the farm's season at every place, from its development side."""
        at = (*places.generate_sites(), *self.development.values())
        return {place.name: measure_season(self.farm.env, place) for place in at}

    def tune_own(self, name: str) -> dict[str, Any]:
        """Tune the expert on the development side of a place."""
        family = make_rule_families(self.farm.env)["expert"]
        make = build_fast(family)
        return tune(self.farm, [self.development[name]], family, lambda numbers, place: make(numbers))._asdict()

    def tune_travelling(self) -> dict[str, Any]:
        """Tune the travelling rule on all generated climates of the package, and on Maricopa."""
        seasons = self.measure_seasons()
        family, build = make_travelling_family(self.farm.env, seasons[HOMES.get(self.farm.id, "seattle")])
        at = [*places.generate_sites(), self.development["maricopa"]]
        found = tune(self.farm, at, family, lambda shares, place: build(shares, seasons[place.name]))
        return found._asdict() | {"season days": {name: season.days for name, season in seasons.items()}}

    def keep(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a result from the folder, or make it."""
        path = self.work / self.farm.id / f"{name}.json"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            begun = datetime.now(UTC)
            made = make() | {"seconds": round((datetime.now(UTC) - begun).total_seconds(), 1)}
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
            print(f"{self.farm.id} {name}: {made.get('mean', '')} in {made['seconds']} s", flush=True)
        return json.loads(path.read_text(encoding="utf-8"))

    def tune_all(self) -> dict[str, dict[str, Any]]:
        """Return the tuned rules, by name."""
        rules = {name: self.keep(f"own-{name}", partial(self.tune_own, name)) for name in SEEDS}
        return rules | ({"travelling": self.keep("travelling", self.tune_travelling)} if self.travels else {})

    @property
    def travels(self) -> bool:
        """True for an id that the protocol names."""
        return self.farm.id in TRAVELLING

    def build_rules(self, name: str) -> dict[str, Policy]:
        """Build the rules that play at a place, of one structure: doing nothing, expert, tuned there, travelling."""
        env, tuned = self.farm.env, self.tune_all()
        family = make_rule_families(env)["expert"]
        idle = [rule.model_copy(update={"every": NEVER}) for rule in env.spec.expert]
        rules = {"none": compile_policy(env, idle), "expert": compile_policy(env, env.spec.expert)}
        rules["own"] = family.build(tuned[f"{name}"]["numbers"])
        if self.travels:
            seasons = self.measure_seasons()
            _, build = make_travelling_family(env, seasons[HOMES.get(self.farm.id, "seattle")])
            rules["travelling"] = build(tuned["travelling"]["numbers"], seasons[name])
        return rules

    def play(self, place: Place) -> dict[str, Any]:
        """Play all years of a place with each of its rules, in the same seasons."""
        fewer = 1 + (self.farm.plots > 1) + 2 * (self.farm.plots >= LARGE)
        rules, each = self.build_rules(place.name), SEEDS[place.name] // fewer
        year = np.repeat(np.arange(len(place.years)), each)
        key = splits.split(f"farm/{self.farm.id}", "test").key(0)
        build: Build = lambda numbers, at: rules["expert"]  # noqa: E731 (never called)
        at = Seasons(self.farm, (place,), np.zeros_like(year), year, episode_keys(key, len(year)), build)
        returns = at.run([[policy] for policy in rules.values()])
        return {"returns": {name: _by_year(row, len(place.years)) for name, row in zip(rules, returns, strict=True)}}


def _by_year(returns: np.ndarray, years: int) -> list[list[float]]:
    return [[float(f"{value:.5g}") for value in row] for row in returns.reshape(years, -1)]


def compare(rule: np.ndarray, own: np.ndarray) -> dict[str, dict[str, float] | None]:
    """Compare the returns of a rule with those of the rule tuned on the place; both (years, seasons).

    The ratios of the means, and of the means of the worst tenth, have 95 % bootstrap intervals over years. Where the
    rule tuned on the place has no positive mean, there is no ratio; resamples without one are left out of the interval.
    """
    found: dict[str, dict[str, float] | None] = {}
    for name, measure in (("mean", np.mean), ("worst tenth", WORST_TENTH)):
        divide = partial(_divide, measure, rule, own)
        years = np.arange(len(rule))
        found[name] = None if np.isnan(divide(years)) else bootstrap(divide, years)._asdict()
    return found


def _divide(measure: Callable[[Any], Any], rule: np.ndarray, own: np.ndarray, years: np.ndarray) -> float:
    below = float(measure(own[years].ravel()))
    return float(measure(rule[years].ravel())) / below if below > 0 else np.nan


def open_sealed(what: str) -> tuple[Place, ...]:
    """Read sealed years after logging it: `"means"` reads LIRF only, for its monthly means; `"play"` reads all."""
    log_opening(f"years: {what}", OPENED)
    lirf = places.read_lirf()
    return (lirf,) if what == "means" else (places.read_maricopa(places.SEALED), lirf)


def read_means(work: Path) -> dict[str, list[float]]:
    """Return the monthly means of LIRF, which the protocol allows for development."""
    path = work / "lirf-means.json"
    if not path.is_file():
        work.mkdir(parents=True, exist_ok=True)
        (lirf,) = open_sealed("means")
        path.write_text(json.dumps(places.average_months(lirf), indent=1) + "\n", encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def summarise(shop: Workshop, sealed: Sequence[Place]) -> dict[str, Any]:
    """Play the sealed years with the rules of a farm and summarise the returns."""
    out: dict[str, Any] = {"budget": shop.farm.budget._asdict(), "rules": shop.tune_all(), "places": {}}
    for place in sealed:
        played = shop.keep(f"sealed-{place.name}", partial(shop.play, place))["returns"]
        returns = {name: np.asarray(values) for name, values in played.items()}
        out["places"][place.name] = {
            name: {
                "mean": float(of.mean()), "worst tenth": float(WORST_TENTH(of.ravel())),
                "years": of.mean(1).tolist(), "of own": compare(of, returns["own"]),
            }
            for name, of in returns.items()
        }  # fmt: skip
    return out


def main(given: Sequence[str] | None = None) -> None:
    """Tune, play the sealed years, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ids", nargs="*", default=[*TRAVELLING, *OTHERS], help="ids without farm/; default: all")
    parser.add_argument("--work", type=Path, default=Path("out/reality-years"), help="folder of intermediate results")
    parser.add_argument("--open-sealed", action="store_true", help="play the sealed years and write the results")
    parser.add_argument("--out", type=Path, default=RESULTS, help="JSON file of the results")
    parser.add_argument("--page", action="store_true", help="only write the page of the docs, from the results")
    options = parser.parse_args(given)
    if options.page:
        years_page.write(options.out)
        return
    run, means = describe_run(), read_means(options.work)
    sealed = open_sealed("play") if options.open_sealed else ()
    found = {}
    for id in options.ids:
        free_programs_if_full()
        shop = Workshop(Farm.load(id), means, options.work)
        shop.tune_all()
        if sealed:
            found[id] = summarise(shop, sealed)
    if sealed:
        made = run | {"lirf means": means, "ids": found}
        options.out.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
