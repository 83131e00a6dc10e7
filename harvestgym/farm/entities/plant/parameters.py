"""Parameters of a crop, by stage, in one group per equation.

Every `Response` is one equation of section 4.2 in the form of eq. (1); its windows are named after their drivers, with
these units:

    temperature (mean, degC), humidity (%), rain (1 on a rainy day), frost (consecutive days), cold (the day's minimum,
    degC, raised by hardening); birds (seed eaters); pests (on the plot's plants); visits (by pollinators since the
    flowers opened); age_seed, age_ripe, nogrow, noweight (days); N, P, K, C (minus the log of the nutrition index:
    uptake as a fraction of the need since sowing); water (minus the log of K_s, the fraction of transpiration that
    remains in dry soil); light (minus the log of the fraction of the usable light that plants receive); crowding
    (minus the log of the fraction of its ground that a plant has); salt (electrical conductivity of the soil water,
    dS/m); drought (minus the log of relative yield after dry days, FAO-33).
"""

from __future__ import annotations

from collections.abc import Iterator

from jax import Array

from harvestgym.core.pytree import Pytree, par
from harvestgym.farm.entities.base import check_order
from harvestgym.farm.entities.messages import name_nutrients, repels
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

SUMS = tuple(f"{stage}_sum#°C.day" for stage in STAGES[1:5])
CHILLS = ("chill_min#day", "chill_full#day")
DAYLENGTHS = ("daylength_min#h", "daylength_full#h")
POLLINATION_RATES = tuple(f"{way}_pollination_rate#%" for way in ("auto", "wind", "insect"))
RELEASE_SPEEDS = name_nutrients("{}_release_speed#g.g-1.day-1")


class Clock(Pytree):
    """Development: the degree-days of the timed stages, and the factors that hasten or delay them.

    The paper's stages end at a size, a weight or an age (eqs. (3), (7), (14), (18)). A flat response to temperature, as
    in eq. (4), is the special case of an optimum just above the base.
    """

    base: Array = par("t_base#°C", "mean temperature below which nothing develops", low=-50, high=60)
    optimum: Array = par("t_optimum#°C", "temperature above which development is no faster", low=-50, high=60)
    ceiling: Array = par("t_ceiling#°C", "temperature at which development stops", low=-50, high=1e6)
    sums: Array = par(SUMS, "degree-days of each stage", low=1e-3, high=1e5)
    chill: Array = par(CHILLS, "cold days from which growth starts, and is at full pace", low=-1, high=1e3)
    hardening: Array = par("hardening#°C", "frost tolerance that cold days add before flowering", low=0, high=50)
    daylength: Array = par(DAYLENGTHS, "day length from which growth starts, and is at full pace", low=-1, high=25)
    hunger_delay: Array = par("hunger_delay#%", "delay of flowering without nitrogen, share (0 to 1)", low=0, high=1)
    drought_haste: Array = par("drought_haste#%", "haste of filling without water, share (0 to 10)", low=0, high=10)

    def check(self) -> Iterator[str]:
        """Check the order of the temperatures."""
        yield from check_order("t_base#°C", self.base, "t_optimum#°C", self.optimum)
        yield from check_order("t_optimum#°C", self.optimum, "t_ceiling#°C", self.ceiling)


class SeedSurvival(Response):
    """Eq. (2), with [0, oldest] as the age interval, as in the reference implementation.

    The paper's interval, [sprout_age_min, inf), would kill young seeds rather than old ones.
    """

    birds: Window
    age_seed: Window


class Sprouting(Response):
    """Eq. (3), reduced to its response to humidity, as a factor of the clock."""

    humidity: Window


class Seed(Pytree):
    """The stage from the seed to the first leaves, section 4.2.1."""

    survive: SeedSurvival
    sprout: Sprouting


class Rate(Response):
    """Eqs. (4) and (16): the growth of a day, as a fraction of the growth of an unstressed plant at the same pace.

    Plants and fruits respond alike; in the paper each equation has its own coefficients.
    Nutrients count by their nutrition index, not by the soil's stock or the day's shortage, and only the scarcest one
    counts (Liebig's law of the minimum). The paper's litres below the threshold of eq. (5) are replaced by minus the
    log of K_s, so that growth follows a power of the transpiration (like the yield in Jensen 1968) and stops at the
    wilting point. Crowding, light and salt are not in the paper.
    """

    temperature: Window
    N: Window
    P: Window
    K: Window
    C: Window
    water: Window
    crowding: Window
    light: Window
    salt: Window


class GrowSurvival(Response):
    """Eq. (9), with cold added; in the paper cold harms only flowers."""

    nogrow: Window
    pests: Window
    cold: Window


class Grow(Pytree):
    """The stage from the first leaves to the first flowers, section 4.2.2, with transpiration as a function of size."""

    survive: GrowSurvival
    yield_response: Array = par("Water_yield_response", "K_y of the vegetative period, FAO-33", low=0, high=10)
    drought: Array = par("sensitivity_draught#%", "sensitivity to drought, d of eq. (5), 0 to 1", low=0, high=1)
    nutrients: Array = par(name_nutrients("{}_grow_consumption#g.mm-1"), "content per mm of its size", low=0, high=100)
    water: Array = par("Water_grow_consumption#mL", "water that a growing plant keeps in its body", low=0, high=1e6)
    leaf_surface: Array = par("grow_leaf_surface#m2.cm-1", "ground under a plant, per cm of size", low=0, high=10)
    alpha_0: Array = par("Water_evapo_alpha_0", "alpha_0 of K_t: its value at height 0", low=-10, high=10)
    alpha_1: Array = par("Water_evapo_alpha_1#cm-1", "alpha_1 of K_t: its increase per cm of height", low=-10, high=10)


class Opening(Response):
    """Effect of crowding on the number of flowers in eq. (10), which the paper does not include."""

    crowding: Window


class WindPollination(Response):
    """Eq. (12)."""

    temperature: Window


class InsectPollination(Response):
    """Eq. (13). Visits are counted from the opening of the flowers up to and including today, as in eq. (19)."""

    visits: Window


class BloomSurvival(Response):
    """Eq. (15), but for the temperature of a single night, not for the days of frost."""

    cold: Window


class Bloom(Pytree):
    """The stage from the first flowers to their fall, section 4.2.3."""

    survive: BloomSurvival
    open: Opening
    wind: WindPollination
    insects: InsectPollination
    share: Array = par("bloom_share#%", "usual size in bloom, as a share (below 1) of the largest", low=0, high=0.99)
    rates: Array = par(POLLINATION_RATES, "weights w of eq. (11), normalised when used", low=0, high=1000)
    yield_response: Array = par("Water_yield_response", "K_y of the flowering period, FAO-33", low=0, high=10)
    auto_success: Array = par("auto_pollination_success#%", "p_auto of eq. (11), a daily probability", low=0, high=1)


class FruitSurvival(Response):
    """Eq. (20), with cold added."""

    noweight: Window
    pests: Window
    cold: Window


class Holding(Response):
    """The fraction of the fruits that stay healthy for a day while they fill.

    In the paper, humid or dry air kills whole plants by eq. (20).
    """

    humidity: Window


class Ripening(Response):
    """Eq. (19), as minus the log of the fraction of the largest weight that fruit reaches, given visits and drought.

    The intercept sets the fraction that an unstressed fruit reaches, because growth by eq. (17) never reaches its
    ceiling. Drought acts through the yield response factors of FAO-33; hunger and shade act through eq. (16).
    """

    intercept: Array = par("intercept", "exponent if all is favourable (beta_0)", low=1e-3, high=1e6, default=0.1)
    visits: Window
    drought: Window


class Fruit(Pytree):
    """The stage from the fall of the flowers to full-grown fruit, section 4.2.4."""

    survive: FruitSurvival
    hold: Holding
    ripen: Ripening
    frost_ripe: Array = par("frost_ripe#%", "share of filling (0 to 1) after which frost does no harm", low=0, high=1)
    yield_response: Array = par("Water_yield_response", "K_y of the yield formation, FAO-33", low=0, high=10)
    nutrients: Array = par(name_nutrients("{}_fruit_consumption#g.g-1"), "content per g of fruit", low=0, high=100)
    water: Array = par("Water_fruit_consumption#mL.g-1", "water that a fruit keeps, per g", low=0, high=1000)


class Keeping(Response):
    """Eq. (21). Rain is 1 on a rainy day; its interval is (-inf, 0], misprinted in the paper."""

    rain: Window
    frost: Window
    pests: Window
    age_ripe: Window


class Ripe(Pytree):
    """The stage from full-grown fruit to the harvest or the end, section 4.2.5."""

    keep: Keeping
    variance: Array = par("ripe_rate_sigma2", "variance of the noise of the kept share, eq. (21)", low=0, high=100)


class Dead(Pytree):
    """The release of nutrients from a dead plant to the soil, section 4.2.6."""

    release: Array = par(RELEASE_SPEEDS, "share (0 to 1) of the remains released per day", low=0, high=1)


class Crop(Pytree):
    """All parameters of a crop."""

    initial_stage: Array = par("initial_stage", "stage of plots that the farm file does not set", labels=STAGES)
    density: Array = par("population#nb.m-2", "plants per m2 on plots in the initial stage", low=0, high=1e5)
    size_start: Array = par("size_start#cm", "size of a sprout, where eq. (6) begins", low=0, high=HEIGHT_MAX)
    size_max: Array = par("size_max#cm", "size at which growth ends", low=1e-3, high=HEIGHT_MAX)
    flowers_max: Array = par("flowers_max#nb", "flowers of the largest plant", low=0, high=FLOWERS_MAX, dtype="int")
    fruit_weight_start: Array = par("fruit_weight_start#g", "weight of a new fruit, eq. (17)", low=0, high=FRUIT_MAX)
    fruit_weight_max: Array = par("fruit_weight_max#g", "weight of a full-grown fruit", low=1e-3, high=FRUIT_MAX)
    root_depth: Array = par("root_depth#m", "depth that its roots reach, Z_r of FAO-56", low=0.01, high=100)
    shadow: Array = par("shadow_coeff#%", "share (0 to 1) of the covered ground that is in shadow", low=0, high=1)
    repulsion: Array = repels("pest_repulsive_effect#float", "repulsion of pests; a negative value attracts them")
    light: Array = par("light#MJ.m-2.°C-1.day-1", "radiation per degree-day that growth can use", low=0, high=100)
    carbon: Array = par("CO2_response#%", "response to CO2, as a share of a C3 plant's", low=0, high=1, default=1.0)
    fixation: Array = par("N_fixed#%", "share of its nitrogen that a legume takes from the air", low=0, high=0.99)
    variance: Array = par("rate_sigma2", "variance of the noise of eqs. (6) and (17)", low=0, high=100)
    rate_min: Array = par("rate_min#", "rate at or below which nothing grows, eqs. (6) and (17)", low=0, high=1)
    clock: Clock
    rate: Rate
    seed: Seed
    grow: Grow
    bloom: Bloom
    fruit: Fruit
    ripe: Ripe
    dead: Dead

    def check(self) -> Iterator[str]:
        """Check that growth starts below the value at which it ends."""
        yield from check_order("size_start#cm", self.size_start, "size_max#cm", self.size_max)
        first, last = "fruit_weight_start#g", "fruit_weight_max#g"
        yield from check_order(first, self.fruit_weight_start, last, self.fruit_weight_max)
