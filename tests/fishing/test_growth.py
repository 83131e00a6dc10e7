"""Growth laws: closed forms, published values, invariances, and a new law in one place."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.policy import random_policy
from harvestgym.core.pytree import par, replace
from harvestgym.core.rollout import rollout
from harvestgym.fishing.analysis.dynamic_programming import solve
from harvestgym.fishing.analysis.reference_points import find_fixed_points, find_reference_point
from harvestgym.fishing.family import from_yaml, make
from harvestgym.fishing.growth import (
    Allee,
    AlleePublished,
    BevertonHolt,
    Fox,
    GrowthLaw,
    Logistic,
    May,
    Myers,
    OneOf,
    PellaTomlinson,
    Ricker,
    settle_stock,
)
from harvestgym.fishing.spec import GROWTH_LAWS, build_law
from harvestgym.fishing.structured_growth import AgeStructured, Patches, ThreeSpecies

SINGLE: dict[str, Any] = {
    "logistic": Logistic(), "beverton-holt": BevertonHolt(), "ricker": Ricker(), "allee": Allee(),
    "allee-published": AlleePublished(), "myers": Myers(), "may": May(), "pella-tomlinson": PellaTomlinson(),
    "fox": Fox(),
}  # fmt: skip
"""Every law of a single stock with its default parameters, by its name in files."""

WITH_RATE = ("logistic", "beverton-holt", "ricker", "pella-tomlinson", "fox")
"""Laws with a growth rate r and a capacity K that grow between 0 and K."""


class ThetaRicker(GrowthLaw):
    """s exp(r (1 - (s/M)^theta)): a law from outside the package, without a parameter K."""

    r: jax.Array = par("r", "growth rate, per year", low=0.0, default=0.4)
    M: jax.Array = par("M", "equilibrium", low=1e-6, default=2.0)
    theta: jax.Array = par("theta", "shape", low=0.0, default=1.0)

    def __call__(self, left: jax.Array) -> jax.Array:
        return left * jnp.exp(self.r * (1 - (left / self.M) ** self.theta))


OUTSIDE = {"kind": "tests.fishing.test_growth:ThetaRicker", "r": 0.4}


# -- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "stock", "expected"),
    [
        ("logistic", 0.5, 0.575),
        ("logistic", 5.0, 0.0),
        ("beverton-holt", 0.5, 0.65 / 1.15),
        ("ricker", 0.5, 0.5 * np.exp(0.15)),
        ("allee", 0.75, 0.75 * np.exp(0.3 * 0.25 * 0.25)),
        ("allee-published", 0.5, 0.5 * np.exp(0.3 * 0.5 * 0.5)),
        ("myers", 1.0, 1.0),
        ("may", 0.15, 0.15 + 0.7 * 0.15 * 0.9 - 0.1),
        ("pella-tomlinson", 0.5, 0.5 + 0.3 * 0.5 * 0.75 / 2),
        ("fox", 0.5, 0.5 + 0.15 * np.log(2)),
    ],
)
def test_law_follows_its_equation(name: str, stock: float, expected: float) -> None:
    assert float(SINGLE[name](jnp.float32(stock))) == pytest.approx(expected, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", SINGLE)
def test_nothing_grows_from_nothing_and_no_stock_is_negative(name: str) -> None:
    grid = jnp.linspace(0.0, 10.0, 1001)
    grown = np.asarray(SINGLE[name](grid))
    assert grown[0] == 0 and np.isfinite(grown).all() and (grown >= 0).all()


@pytest.mark.parametrize("name", SINGLE)
def test_capacity_is_a_fixed_point(name: str) -> None:
    law = SINGLE[name]
    assert float(law(law.capacity)) == pytest.approx(float(law.capacity), rel=1e-5)


@pytest.mark.parametrize("name", WITH_RATE)
def test_growth_scales_with_capacity(name: str) -> None:
    """A law has no unit of its own: f(c s; c K) = c f(s; K)."""
    law, stock = SINGLE[name], jnp.linspace(0.05, 1.4, 28)
    np.testing.assert_allclose(replace(law, K=7.0)(7 * stock), 7 * law(stock), rtol=2e-6)


@pytest.mark.parametrize("name", WITH_RATE)
def test_a_stock_below_capacity_grows_and_one_above_shrinks(name: str) -> None:
    low, high = jnp.linspace(0.05, 0.95, 10), jnp.linspace(1.05, 2.0, 10)
    assert (SINGLE[name](low) > low).all() and (SINGLE[name](high) < high).all()


@pytest.mark.parametrize("name", WITH_RATE)
def test_without_a_rate_nothing_changes(name: str) -> None:
    stock = jnp.linspace(0.1, 1.0, 10)
    np.testing.assert_allclose(replace(SINGLE[name], r=0.0)(stock), stock, rtol=1e-6)


def test_special_cases_of_shape_parameters() -> None:
    """Pella-Tomlinson is Schaefer's at theta 1 and Fox's towards 0; Myers at theta 1 is Beverton-Holt."""
    stock = jnp.linspace(0.1, 1.5, 15)
    np.testing.assert_allclose(PellaTomlinson(theta=1.0)(stock), Logistic()(stock), rtol=1e-6)  # type: ignore[arg-type]
    np.testing.assert_allclose(PellaTomlinson(theta=2e-3)(stock), Fox()(stock), atol=1e-3)  # type: ignore[arg-type]
    beverton = Myers(A=1.3, M=1 / 0.3, theta=1.0)  # type: ignore[arg-type]
    np.testing.assert_allclose(beverton(stock), BevertonHolt(r=0.3, K=0.3 / 0.39 * 1.3)(stock), rtol=1e-5)  # type: ignore[arg-type]
    np.testing.assert_allclose(May(a=0.0, M=1.0, r=0.3)(stock), Logistic()(stock), rtol=1e-6)  # type: ignore[arg-type]


def test_an_allee_effect_has_its_threshold_in_any_unit() -> None:
    """f(c s; c K, c C) = c f(s; K, C); below C a stock declines, from C to K it grows."""
    stock = jnp.linspace(0.0, 1.4, 29)
    large = Allee(K=4.0, C=2.0)  # type: ignore[arg-type]
    np.testing.assert_allclose(large(4 * stock), 4 * Allee()(stock), rtol=2e-6)
    grows = np.asarray(large(4 * stock) > 4 * stock)
    np.testing.assert_array_equal(grows, (np.asarray(stock) > 0.501) & (np.asarray(stock) < 0.999))


def test_myers_settles_at_the_upper_root_beyond_its_threshold() -> None:
    """theta = 2: s = A s^2 / (1 + s^2 / M) at M (A +- sqrt(A^2 - 4 / M)) / 2; below the lower root a stock dies out."""
    law = Myers(A=2.0, M=25.0, theta=2.0)  # type: ignore[arg-type]
    low, high = (25 * (2 + sign * np.sqrt(4 - 4 / 25)) / 2 for sign in (-1, 1))
    assert float(law.capacity) == pytest.approx(high, rel=1e-5)
    assert float(settle_stock(law, jnp.float32(0.95 * low))) == pytest.approx(0, abs=1e-6)
    assert float(settle_stock(law, jnp.float32(1.05 * low))) == pytest.approx(high, rel=1e-5)


def test_a_law_that_never_grows_has_no_capacity() -> None:
    assert float(ThetaRicker(r=0.0).capacity) == 0.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("law", "name", "most"), [(Logistic, "r", 20.0), (Myers, "A", 20.0), (Myers, "theta", 20.0), (May, "q", 20.0)]
)
def test_no_law_is_steeper_or_faster_than_any_stock(law: type[GrowthLaw], name: str, most: float) -> None:
    assert float(getattr(law(**{name: most}), name)) == most
    with pytest.raises(ConfigError, match=f"{name}: expected"):
        law(**{name: most + 0.5})


def test_laws_to_choose_from_are_of_one_stock_and_one_of_them_is_chosen() -> None:
    both = OneOf(laws=(Ricker(), Fox()), which=jnp.int32(1))
    assert float(both.capacity) == 1.0 and both.biomass(jnp.asarray([3.0])) == 3.0
    wrong = (
        ((), 0, "at least one law"),
        ((Fox(), ThreeSpecies()), 0, "of one stock"),
        ((Ricker(), Fox()), 2, "below 2"),
    )
    for laws, which, words in wrong:
        with pytest.raises(ConfigError, match=words):
            OneOf(laws=laws, which=np.int32(which))  # pyright: ignore[reportArgumentType]


def test_published_allee_is_a_slower_ricker() -> None:
    stock = jnp.linspace(0.0, 2.0, 21)
    np.testing.assert_allclose(AlleePublished()(stock), Ricker(r=0.15)(stock), rtol=1e-6)  # type: ignore[arg-type]
    large: Any = AlleePublished(K=2.0), Ricker(r=0.075, K=2.0)  # type: ignore[arg-type]
    np.testing.assert_allclose(large[0](stock), large[1](stock), rtol=1e-6)


def test_beverton_holt_settles_as_its_closed_form() -> None:
    """x_t = K / (1 + (K/x_0 - 1) (1 + r)^-t): Beverton-Holt is a logistic curve in discrete time."""
    law, stock = BevertonHolt(), 0.1
    for year in range(1, 31):
        stock = float(law(jnp.float32(stock)))
        assert stock == pytest.approx(1 / (1 + 9 * 1.3**-year), rel=1e-5)


def test_myers_settles_at_the_golden_ratio() -> None:
    assert float(settle_stock(Myers(), jnp.float32(4.0))) == pytest.approx((1 + 5**0.5) / 2, rel=1e-6)


# -- laws of several numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "stocks", "targets", "seen", "shocks"),
    [
        (Logistic(), 1, 1, 1, 1),
        (AgeStructured(), 21, 1, 1, 1),
        (ThreeSpecies(), 3, 2, 3, 3),
        (Patches(law=Logistic(), patches=4), 4, 4, 4, 4),
        (OneOf(laws=(Ricker(), Fox())), 1, 1, 1, 1),
    ],
)
def test_sizes_follow_from_the_methods(law: GrowthLaw, stocks: int, targets: int, seen: int, shocks: int) -> None:
    assert (law.stocks, law.targets, law.seen, law.shocks) == (stocks, targets, seen, shocks)


@pytest.mark.parametrize(
    "law",
    [Logistic(), AgeStructured(), ThreeSpecies(), Patches(law=Logistic(), patches=3)],
    ids=lambda law: type(law).__name__,
)
def test_harvest_takes_the_catch_and_no_more(law: GrowthLaw) -> None:
    """The stock falls by the catch at a small catch, and is never negative after the greatest one."""
    stock = law.start(jnp.float32(0.6))
    there = law.available(stock)
    after = law.available(law.harvest(stock, 0.25 * there))
    if isinstance(law, AgeStructured):
        # A rate on what is vulnerable: an age that is half vulnerable loses half of the rate.
        vulnerable = law.vulnerability * law.weight * stock[:-1]
        assert float(after[0]) == pytest.approx(float((vulnerable * (1 - 0.25 * law.vulnerability)).sum()), rel=1e-5)
    else:
        np.testing.assert_allclose(after, 0.75 * there, rtol=1e-6)
    assert (law.harvest(stock, there) >= 0).all()


def test_one_of_is_the_law_chosen() -> None:
    laws, stock = (Ricker(), Fox(), Logistic()), jnp.linspace(0.1, 1.5, 5)
    for which, law in enumerate(laws):
        np.testing.assert_array_equal(OneOf(laws=laws, which=jnp.int32(which))(stock), law(stock))


def test_equal_patches_grow_as_one_stock() -> None:
    law = Patches(law=Ricker(), patches=6, dispersal=0.3)  # type: ignore[arg-type]
    np.testing.assert_allclose(law(jnp.full(6, 0.4)), jnp.full(6, Ricker()(jnp.float32(0.4))), rtol=1e-6)


def test_a_year_class_ages_and_survives() -> None:
    """Only survival acts on the numbers at age; what is due enters at age 1."""
    law = AgeStructured()
    stock = law.start(jnp.float32(1.0))
    after = law(stock)
    assert float(after[0]) == pytest.approx(float(stock[law.ages]))
    np.testing.assert_allclose(after[1 : law.ages - 1], law.survival * stock[: law.ages - 2], rtol=1e-6)
    assert float(after[law.ages - 1]) == pytest.approx(float(law.survival * (stock[18] + stock[19])), rel=1e-6)


def test_steepness_is_goodyears_compensation() -> None:
    """At low stock recruits per spawner are the compensation ratio times those of the unfished stock."""
    law = AgeStructured(compensation=4.0)  # type: ignore[arg-type]

    def recruits_per_spawner(share: float) -> float:
        stock = law.start(jnp.float32(share) * law.capacity)
        return float(stock[-1] / law.spawners(stock[:-1]))

    assert recruits_per_spawner(1e-5) / recruits_per_spawner(1.0) == pytest.approx(4.0, rel=1e-3)


def test_predators_without_prey_decline_and_prey_without_predators_settle() -> None:
    law = ThreeSpecies(competition=0.0)  # type: ignore[arg-type]
    assert float(law(jnp.array([0.0, 0.0, 1.0]))[2]) == pytest.approx(0.9)
    stock = jnp.array([0.2, 0.7, 0.0])
    for _ in range(60):
        stock = law(stock)
    np.testing.assert_allclose(stock, [1.0, 1.0, 0.0], atol=1e-5)


# -- a new law is one class --------------------------------------------------------------------------------


def test_files_name_laws_by_their_class() -> None:
    assert {**{name: type(law) for name, law in SINGLE.items()}, "age-structured": AgeStructured} == {
        name: law for name, law in GROWTH_LAWS.items() if name not in ("three-species", "patches", "one-of")
    }


def test_a_law_from_outside_needs_its_class_only(tmp_path: Any) -> None:
    """Parameters, capacity, bounds, reference points and rollouts follow from the class."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"law: {{kind: '{OUTSIDE['kind']}'}}\nTmax: 20\nstart: 1.5\n")
    env, law = from_yaml(file, r=0.3, sigma=0.1), ThetaRicker(r=0.3)  # type: ignore[arg-type]
    assert float(env.params.law.r) == pytest.approx(0.3)  # type: ignore[attr-defined]
    assert float(law.capacity) == pytest.approx(2.0, rel=1e-4) and env.units.bound == pytest.approx(4.0, rel=1e-4)
    point, ricker = find_reference_point(law), find_reference_point(Ricker(K=2.0))  # type: ignore[arg-type]
    assert point == pytest.approx(ricker, rel=1e-4)
    assert [p.stock for p in find_fixed_points(law)] == pytest.approx([2.0], rel=1e-4)
    path = rollout(env, random_policy(env), jax.random.key(0), 8, 20)
    assert np.isfinite(path.reward).all()


def test_the_optimum_of_a_law_from_outside_is_that_of_its_twin() -> None:
    """The same numbers as Ricker with K = 2 give the same optimum."""
    mine = make("ricker-v0", law=OUTSIDE, sigma=0.1, bound=4.0)
    twin = make("ricker-v0", r=0.4, K=2.0, sigma=0.1, bound=4.0)
    ours, theirs = (solve(env, n=101, discount=0.95) for env in (mine, twin))
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-5)
    np.testing.assert_array_equal(ours.target, theirs.target)


def test_mistakes_in_a_law_name_their_path() -> None:
    with pytest.raises(ConfigError, match="law: expected a known law, got 'rickr'; try 'ricker'"):
        build_law({"kind": "rickr"}, "law")
    with pytest.raises(ConfigError, match="a > law > 1: expected a known law, got None"):
        build_law({"kind": "one-of", "laws": [{"kind": "fox"}, {}]}, "a > law")
    with pytest.raises(ConfigError, match="expected a subclass of GrowthLaw"):
        build_law({"kind": "harvestgym.fishing.noise:Noise"}, "law")
    with pytest.raises(ConfigError, match="law: .*\n.*r:"):
        build_law({"kind": "fox", "r": -1}, "law")
    with pytest.raises(ConfigError, match="patches"):
        build_law({"kind": "patches", "patches": 1, "law": {"kind": "fox"}}, "law")
