"""Growth laws and reference points against the literature and against SciPy."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import lambertw

from harvestgym.core.errors import ConfigError
from harvestgym.fishing.analysis.reference_points import (
    find_best_escapement,
    find_fixed_points,
    find_folds,
    find_reference_point,
)
from harvestgym.fishing.growth import (
    Allee,
    AlleePublished,
    BevertonHolt,
    Fox,
    GrowthLaw,
    Logistic,
    May,
    Myers,
    PellaTomlinson,
    Ricker,
)
from harvestgym.fishing.structured_growth import AgeStructured, Patches, ThreeSpecies

ROOT = np.sqrt(1.3)


@pytest.mark.parametrize(
    ("law", "best", "catch"),
    [
        (Logistic(), 0.5, 0.075),
        (Logistic(r=0.5, K=2.0), 1.0, 0.25),
        (BevertonHolt(), (ROOT - 1) / 0.3, (ROOT - 1) ** 2 / 0.3),
        (Ricker(), (1 - lambertw(np.exp(0.7)).real) / 0.3, 0.081037),
        (Allee(), 0.788354, 0.0145667),
        (Myers(), 1.295132, 0.074433),
        (May(), 0.743, 0.06411),
        (PellaTomlinson(), 3**-0.5, 0.3 * 3**-0.5 / 3),
        (Fox(), np.exp(-1), 0.3 * np.exp(-1)),
    ],
)
def test_msy(law: GrowthLaw, best: float, catch: float) -> None:
    """S_MSY and MSY: closed forms, and the figures of the reference for the laws without one."""
    point = find_reference_point(law)
    assert point.escapement == pytest.approx(best, abs=2e-5)
    assert point.catch == pytest.approx(catch, abs=5e-6)
    assert point.rate == pytest.approx(1 - best / (best + catch), abs=2e-5)


@pytest.mark.parametrize(("discount", "best"), [(0.99, 0.4831650), (0.95, 0.4122807), (0.9, 0.3148148)])
def test_clark(discount: float, best: float) -> None:
    """Clark's rule: K/2 (1 - rho/r) for the logistic; searched for any other law, it satisfies discount f'(S) = 1."""
    assert find_best_escapement(Logistic(), discount) == pytest.approx(best, abs=1e-6)
    r = 0.3
    root = brentq(lambda s: discount * (1 - r * s) * np.exp(r * (1 - s)) - 1, 0.01, 0.9)
    assert find_best_escapement(Ricker(), discount) == pytest.approx(root, abs=1e-5)


def test_growth_that_never_pays_is_not_kept() -> None:
    """With a discount rate above r nothing is left."""
    assert find_best_escapement(Logistic(r=0.05), 0.9) == 0.0  # type: ignore[arg-type]
    assert find_best_escapement(PellaTomlinson(r=0.05, theta=1.0), 0.9) == 0.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("law", "points"),
    [
        (Logistic(), [(1.0, 0.7)]),
        (Ricker(), [(1.0, 0.7)]),
        (BevertonHolt(), [(1.0, 1 / 1.3)]),
        (Allee(), [(0.5, 1.075), (1.0, 0.85)]),
        (Myers(), [(1.0, 1.5), ((1 + 5**0.5) / 2, 0.572949)]),
        (May(), [(0.13831, 0.5023), (0.34051, 1.25436), (1.11737, 0.65583)]),
        (May(M=1.2), [(0.13416, 0.45616), (0.42124, 1.14968), (0.74128, 0.82858)]),  # type: ignore[arg-type]
    ],
)
def test_fixed_points(law: GrowthLaw, points: list[tuple[float, float]]) -> None:
    """Every equilibrium, with its slope; the middle one of three is unstable."""
    found = find_fixed_points(law)
    assert [p.stock for p in found] == pytest.approx([s for s, _ in points], abs=2e-5)
    assert [p.slope for p in found] == pytest.approx([m for _, m in points], abs=1e-4)


def test_folds() -> None:
    """The tipping points of May's law, M = 1.2 and 1.5."""
    low, high = find_folds(May(M=1.2))  # type: ignore[arg-type]
    assert (low.a, low.stock) == pytest.approx((0.16546, 0.2119), abs=1e-4)
    assert (high.a, high.stock) == pytest.approx((0.21341, 0.5847), abs=1e-4)
    assert [f.a for f in find_folds(May())] == pytest.approx([0.17242, 0.26464], abs=1e-5)


def test_the_published_allee_has_no_threshold() -> None:
    """At x = 0.1 it grows where the literature's declines: 0.1145 and 0.0898."""
    assert float(AlleePublished()(jnp.float32(0.1))) == pytest.approx(0.1145, abs=5e-5)
    assert float(Allee()(jnp.float32(0.1))) == pytest.approx(0.0898, abs=5e-5)


def test_walleye() -> None:
    """Unfished recruits and spawners, U_MSY, MSY and the spawners at MSY, as computed independently."""
    law = AgeStructured()
    assert float(law.spawners(law.unfished)) == pytest.approx(2.2192, abs=1e-4)
    point = find_reference_point(law)
    assert (point.rate, point.catch) == pytest.approx((0.1288, 0.11030), abs=6e-4)
    rested = law.start(law.capacity)
    assert np.asarray(law(rested)) == pytest.approx(np.asarray(rested), rel=1e-5)


def test_three_species_rest() -> None:
    """The unharvested community stays where it is."""
    law = ThreeSpecies()
    rest = law.start(jnp.float32(1.0))
    assert np.asarray(law(rest)) == pytest.approx(np.asarray(rest), abs=2e-5)


def test_msy_of_several_species_spares_each_of_them() -> None:
    """At U_MSY each species keeps a fifth of its own unfished biomass for good, and the predator not much more."""
    law, point = ThreeSpecies(), find_reference_point(ThreeSpecies())
    rest = stock = law.start(jnp.float32(1.0))
    for _ in range(2000):
        stock = law(law.harvest(stock, point.rate * law.available(stock)))
    kept = np.asarray(stock / rest)
    assert kept.min() == kept[2] == pytest.approx(0.2, abs=0.01) and kept[2] >= 0.2
    assert point.catch == pytest.approx(point.rate * float(law.available(stock).mean()), rel=1e-4)


def test_a_reference_point_is_that_of_a_law() -> None:
    with pytest.raises(ConfigError, match="expected a growth law, got float; try env.params.law"):
        find_reference_point(0.3)  # type: ignore[arg-type]


def test_dispersal_conserves() -> None:
    """Moving between patches neither makes nor loses biomass, and evens patches out."""
    law = Patches(law=Logistic(r=0.0), patches=5, dispersal=0.4)  # type: ignore[arg-type]
    stock = jnp.array([0.1, 0.9, 0.0, 0.3, 0.7])
    after = law(stock)
    assert float(after.sum()) == pytest.approx(float(stock.sum()), rel=1e-6)
    assert float(after.std()) < float(stock.std())
