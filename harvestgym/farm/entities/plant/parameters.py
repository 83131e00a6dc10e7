"""Parameters of a crop, by stage, in one group per equation.

Every `Response` is one equation of section 4.2 in the form of eq. (1); its windows are named after their drivers, with
these units:

    temperature (mean, degC), humidity (%), rain (1 on a rainy day), frost (consecutive days); birds (seed eaters);
    age_seed, age_bloom, age_ripe, nogrow, noweight (days); pests (on the plot's plants); visits (by pollinators since
    the flowers opened); N, P, K, C (unmet fraction of the day's need); water (minus the log of K_s, the fraction of
    transpiration that remains in dry soil); crowding (fraction of its ground that a plant lacks); light (fraction of
    its light that the plot's other hosts take); radiation (solar, MJ/m2/day); cold (the day's minimum, degC); stress
    (of eq. (8)); drought (minus the log of relative yield after dry days, FAO-33).
"""

from __future__ import annotations

from collections.abc import Iterator

import jax

from harvestgym.core.pytree import par, pytree
from harvestgym.farm.entities.base import check_order
from harvestgym.farm.entities.messages import NUTRIENTS, REPULSION
from harvestgym.farm.entities.response import Response, Window

from .stages import STAGES

FLOWERS_MAX = 100
"""Largest number of flowers on a plant, for which the binomials of eqs. (10) and (11) are compiled."""

PLANTS_MAX = 1_000_000
"""Largest number of plants on a plot: enough for carrots, the densest crop, on 6,000 m2."""

HEIGHT_MAX = 15_000.0
"""Largest size, in cm; the tallest tree measures 11,600."""

FRUIT_MAX = 2e6
"""Largest weight of a fruit, in g; the heaviest pumpkin weighs 1.3e6."""


def _each(key: str, doc: str) -> jax.Array:
    """Return a parameter with one value per nutrient; `key` has a placeholder for the nutrient's name."""
    return par(tuple(key.format(n) for n in NUTRIENTS), doc, low=0, high=100)


@pytree
class SeedSurvival(Response):
    """Eq. (2), with [0, oldest] as the age interval, as in the reference implementation.

    The paper's interval, [sprout_age_min, inf), would kill young seeds rather than old ones.
    """

    birds: Window
    age_seed: Window


@pytree
class Sprouting(Response):
    """Eq. (3); the paper's text says p_stay where it means p_sprout."""

    temperature: Window
    humidity: Window
    age_seed: Window


@pytree
class Seed:
    """The stage from the seed to the first leaves, section 4.2.1."""

    survive: SeedSurvival
    sprout: Sprouting


@pytree
class Rate(Response):
    """Eqs. (4) and (16), with the unmet fraction of the need instead of the soil's stock.

    If the stock were used, a soil that keeps its nutrients because its microlife is dead would feed plants better than
    one whose plants take them up. Only the scarcest nutrient counts (Liebig's law of the minimum). The paper's litres
    below the threshold of eq. (5) are replaced by minus the log of K_s, so that growth follows a power of the
    transpiration (like the yield in Jensen 1968) and stops at the wilting point. Crowding, light and radiation are not
    in the paper, in which spacing, shade between crops and sunlight have no effect.
    """

    temperature: Window
    N: Window
    P: Window
    K: Window
    C: Window
    water: Window
    crowding: Window
    light: Window
    radiation: Window


@pytree
class GrowSurvival(Response):
    """Eq. (9), with cold added; in the paper cold harms only flowers."""

    nogrow: Window
    pests: Window
    cold: Window


@pytree
class Grow:
    """The stage from the first leaves to the first flowers, section 4.2.2, with transpiration as a function of size."""

    rate: Rate
    survive: GrowSurvival
    variance: jax.Array = par("grow_rate_sigma2", "variance of the rate's noise, eq. (6)", low=0, high=100)
    rate_min: jax.Array = par("grow_rate_min#", "rate at or below which nothing grows, eq. (6)", low=0, high=1)
    yield_response: jax.Array = par(
        "Water_yield_response", "K_y of the vegetative period beyond the effect of size, FAO-33", low=0, high=10
    )
    drought: jax.Array = par("sensitivity_draught#%", "d of eq. (5), share (0 to 1)", low=0, high=1)
    nutrients: jax.Array = _each("{}_grow_consumption#g.mm-1", "need of a plant per mm of its size and day")
    water: jax.Array = par("Water_grow_consumption#mL", "water that a growing plant keeps in its body", low=0, high=1e6)
    leaf_surface: jax.Array = par(
        "grow_leaf_surface#m2.cm-1", "ground covered by a plant per cm of its size", low=0, high=10
    )
    alpha_0: jax.Array = par("Water_evapo_alpha_0", "alpha_0 of K_t, its value at height 0", low=-10, high=10)
    alpha_1: jax.Array = par("Water_evapo_alpha_1#cm-1", "alpha_1 of K_t, per cm of height", low=-10, high=10)


@pytree
class StressWeights:
    """Weights of unmet needs, as fractions of the needs, in the stress of eqs. (8) and (19)."""

    nutrients: jax.Array = par(
        tuple(f"sensitivity_stress_{n}" for n in NUTRIENTS), "stress if all needs so far are unmet", low=0, high=1e3
    )
    water: jax.Array = par(
        "sensitivity_stress_water", "stress if all needs of its growth are unmet, eq. (8)", low=0, high=1e3
    )
    light: jax.Array = par("sensitivity_stress_light", "stress of weeks without any light", low=0, high=1e3)


@pytree
class Opening(Response):
    """Effect of crowding and shade on the number of flowers in eq. (10).

    If they only slowed growth, a late plant would yield as much as an early one, and any number of plants could share
    a plot without loss. The paper includes neither.
    """

    crowding: Window
    light: Window


@pytree
class WindPollination(Response):
    """Eq. (12)."""

    temperature: Window


@pytree
class InsectPollination(Response):
    """Eq. (13). Visits are counted from the opening of the flowers up to and including today, as in eq. (19)."""

    visits: Window


@pytree
class BloomSurvival(Response):
    """Eq. (15), with the temperature of a single night added."""

    frost: Window
    cold: Window


@pytree
class Fading(Response):
    """Eq. (14). The paper's text has p_stay and an age of the weather where p_fruit and the flowers' age are meant."""

    age_bloom: Window


@pytree
class Bloom:
    """The stage from the first flowers to their fall, section 4.2.3."""

    survive: BloomSurvival
    open: Opening
    wind: WindPollination
    insects: InsectPollination
    fade: Fading
    share: jax.Array = par(
        "bloom_share#%", "size at which an unstressed plant flowers, share (0 to 1) of the largest, eq. (8)",
        low=0, high=1,
    )  # fmt: skip
    rates: jax.Array = par(
        ("auto_pollination_rate#%", "wind_pollination_rate#%", "insect_pollination_rate#%"),
        "weights w of eq. (11), normalised when used", low=0, high=1000,
    )  # fmt: skip
    yield_response: jax.Array = par("Water_yield_response", "K_y of the flowering period, FAO-33", low=0, high=10)
    auto_success: jax.Array = par("auto_pollination_success#%", "p_auto of eq. (11), 0 to 1 a day", low=0, high=1)
    nutrients: jax.Array = _each("{}_flower_consumption#g", "need per flower and day")
    water: jax.Array = par("Water_flower_consumption#mL", "water that a flower keeps", low=0, high=1e6)


@pytree
class FruitSurvival(Response):
    """Eq. (20), with cold added."""

    noweight: Window
    humidity: Window
    pests: Window
    cold: Window


@pytree
class Ripening(Response):
    """Eq. (19), as minus the log of the fraction of the largest weight that fruit reaches, given stress and visits.

    The paper's interval for the stress, [0, inf), has no effect; here it is (-inf, 0]. The intercept sets the fraction
    that an unstressed fruit reaches, because growth by eq. (17) never reaches its ceiling. Drought acts through the
    yield response factors of FAO-33 rather than, as in the paper, through litres in the stress.
    """

    stress: Window
    visits: Window
    drought: Window


@pytree
class Fruit:
    """The stage from the fall of the flowers to full-grown fruit, section 4.2.4."""

    rate: Rate
    survive: FruitSurvival
    ripen: Ripening
    yield_response: jax.Array = par("Water_yield_response", "K_y of the yield formation, FAO-33", low=0, high=10)
    variance: jax.Array = par("fruit_rate_sigma2", "variance of the rate's noise, eq. (17)", low=0, high=100)
    rate_min: jax.Array = par("weight_rate_min#", "rate at or below which fruit stops growing, eq. (17)", low=0, high=1)
    drought: jax.Array = par("sensitivity_draught#%", "d of eq. (5), share (0 to 1)", low=0, high=1)
    nutrients: jax.Array = _each("{}_fruit_consumption#g.g-1", "need per g of fruit and day")
    water: jax.Array = par("Water_fruit_consumption#mL.g-1", "water that a fruit keeps, per g", low=0, high=1000)


@pytree
class Keeping(Response):
    """Eq. (21). Rain is 1 on a rainy day; its interval is (-inf, 0], misprinted in the paper."""

    rain: Window
    frost: Window
    pests: Window
    age_ripe: Window


@pytree
class Ripe:
    """The stage from full-grown fruit to the harvest or the end, section 4.2.5."""

    keep: Keeping
    variance: jax.Array = par("ripe_rate_sigma2", "variance of the noise of the kept share, eq. (21)", low=0, high=100)


@pytree
class Dead:
    """The release of nutrients from a dead plant to the soil, section 4.2.6."""

    release: jax.Array = par(
        tuple(f"{n}_release_speed#g.g-1.day-1" for n in NUTRIENTS),
        "share (0 to 1) of the remains that is released per day", low=0, high=1,
    )  # fmt: skip


@pytree
class Crop:
    """All parameters of a crop."""

    initial_stage: jax.Array = par("initial_stage", "stage of plots that the farm file does not set", labels=STAGES)
    density: jax.Array = par("population#nb.m-2", "plants per m2 on these plots", low=0, high=1e5)
    size_start: jax.Array = par("size_start#cm", "size of a sprout, where eq. (6) begins", low=0, high=HEIGHT_MAX)
    size_max: jax.Array = par("size_max#cm", "size at which growth ends", low=1e-3, high=HEIGHT_MAX)
    flowers_max: jax.Array = par(
        "flowers_max#nb", "flowers of a plant of the largest size", low=0, high=FLOWERS_MAX, dtype="int"
    )
    fruit_weight_start: jax.Array = par(
        "fruit_weight_start#g", "weight of a fruit, where eq. (17) begins", low=0, high=FRUIT_MAX
    )
    fruit_weight_max: jax.Array = par(
        "fruit_weight_max#g", "weight at which a fruit stops growing", low=1e-3, high=FRUIT_MAX
    )
    root_depth: jax.Array = par("root_depth#m", "depth that its roots reach, Z_r of FAO-56", low=0.01, high=100)
    shadow: jax.Array = par("shadow_coeff#%", "share (0 to 1) of the covered ground that is in shadow", low=0, high=1)
    repulsion: jax.Array = par(
        "pest_repulsive_effect#float", "repulsive effect on pests; negative attracts", low=-REPULSION, high=REPULSION
    )
    stress: StressWeights
    seed: Seed
    grow: Grow
    bloom: Bloom
    fruit: Fruit
    ripe: Ripe
    dead: Dead

    def check(self) -> Iterator[str]:
        """Check that growth starts below the value at which it ends."""
        yield from check_order("size_start#cm", self.size_start, "size_max#cm", self.size_max)
        weights = self.fruit_weight_start, "fruit_weight_max#g", self.fruit_weight_max
        yield from check_order("fruit_weight_start#g", *weights)
