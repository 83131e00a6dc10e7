"""Birds: any number up to the most, fewer with a scarecrow, more with a hedge, and a danger to what they eat."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harvestgym.core.pytree import replace
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Ledger
from harvestgym.farm.entities.birds.birds import BIRDS_MAX, Birds, BirdsState
from harvestgym.farm.entities.facility import Facility
from harvestgym.farm.entities.messages import Message, Structures
from harvestgym.farm.entities.plant.state import CAUSES
from harvestgym.testing.entity import check_entity
from tests.farm.messages import message
from tests.farm.one_field import make_farm
from tests.farm.soil_plant_day import board, check_ranges, field
from tests.long_form import long

BASE = Birds.named("base_bird")
PLACE = field()
NOBODY = BASE.init(jax.random.key(0), PLACE)
UNIFORMS = jax.random.uniform(jax.random.key(1), (9000,))
ENDS = jnp.float32(0.0), jnp.float32(1 - 2**-24)
"""The ends of what a uniform can be."""


def built(deterred: float = 0.0, birds: float = 0.0) -> Structures:
    return message(Structures, PLACE, deterred=deterred, bird_lure=birds)


def day(u: jax.Array, birds: Birds = BASE, *said: Message, state: BirdsState = NOBODY) -> tuple[BirdsState, Ledger]:
    morning = board(PLACE, "Birds-0", *(("other", message) for message in said))
    return birds.update(state, PLACE, morning, {"birds": u})


def came(birds: Birds = BASE, *said: Message) -> np.ndarray:
    """Return the birds of many days, on the same uniforms for any company."""
    states, _ = jax.vmap(lambda u: day(u, birds, *said))(UNIFORMS)
    return np.asarray(states.population)


def test_every_number_from_none_to_the_most_is_equally_likely() -> None:
    """Chi-square over 9000 days at 0.1 %; a most that never comes (0 to 7) would give 1125 where 26 is the limit."""
    counts = np.bincount(came(), minlength=9)
    assert len(counts) == 9
    assert stats.chisquare(counts).pvalue > 1e-3
    assert [int(day(u)[0].population) for u in ENDS] == [0, 8], "both ends included"


@pytest.mark.parametrize("deterred", [0, 4, 10])
def test_a_scarecrow_keeps_its_number_away_and_no_more_than_there_are(deterred: int) -> None:
    with_scarecrow = came(BASE, built(deterred))
    np.testing.assert_array_equal(with_scarecrow, np.maximum(came() - deterred, 0))


def test_a_hedge_raises_the_most_that_come() -> None:
    lured = came(BASE, built(birds=4))
    assert stats.chisquare(np.bincount(lured, minlength=13)).pvalue > 1e-3 and lured.max() == 12
    np.testing.assert_array_equal(came(BASE, built(4, 4)), np.maximum(lured - 4, 0))


def test_no_lure_brings_more_than_the_range_holds() -> None:
    many = replace(BASE, max_population=np.int32(BIRDS_MAX))
    state, _ = day(ENDS[1], many, built(birds=50))
    check_ranges(state)
    assert int(state.population) == BIRDS_MAX == 10**5, "the paper's range"


@pytest.mark.parametrize(
    ("name", "eats"),
    [("base_bird", "110"), ("seed_eater", "100"), ("pest_eater", "010"), ("pollinator_eater", "001")],
)
def test_each_kind_counts_for_what_it_eats(name: str, eats: str) -> None:
    birds = Birds.named(name)
    morning = board(PLACE, "Birds-0")
    flock = birds.flock(NOBODY, PLACE, morning, {"birds": ENDS[1]})
    most = float(birds.max_population)
    found = [float(n) for n in (flock.seed_eaters, flock.pest_eaters, flock.pollinator_eaters)]
    assert found == [most * int(e) for e in eats] and most in found


def test_what_is_published_is_what_is_noted_and_summed() -> None:
    state, total = NOBODY, 0
    for u in UNIFORMS[:20]:
        flock = BASE.flock(state, PLACE, board(PLACE, "Birds-0"), {"birds": u})
        state, ledger = day(u, state=state)
        total += int(state.population)
        check_ranges(state)
        assert float(flock.seed_eaters) == int(state.population) == float(ledger.tally["birds#nb"])
    assert int(state.total) == total > 0


def test_keeps_the_contract_with_a_hedge_and_alone() -> None:
    check_entity(BASE, [Facility.named("hedge")], days=10)
    check_entity(Birds.named("pollinator_eater"), days=3)


def farm() -> FarmModel:
    entities = [
        ["Weather", "montpellier"], ["Soil", "loam"], ["Plant", "bean"], ["Birds", "seed_eater"],
        ["Facility", "base_facility"],
    ]  # fmt: skip
    return make_farm(entities, (4, 4), {"Weather-0": {"day#int365": [130]}})


def with_birds(env: FarmModel, name: str) -> Any:
    params = env.params.fields[0]
    mine = (*params.entities[:3], Birds.named(name), *params.entities[4:])
    return replace(env.params, fields=(replace(params, entities=mine),))


@long
def test_seed_eaters_eat_seeds_until_a_scarecrow_stands() -> None:
    """16 plots of bean for ten days: the same weather and the same draws, with an order on the first morning."""
    env = farm()
    put = ("BasicFarmer-0", "Field-0", "Facility-0", "put_scarecrow", {"type": "advanced"})
    advanced = env.actions.encode([put], env.schedule)
    none = env.actions.encode([], env.schedule)
    step, morning = jax.jit(env.day), jax.jit(env.initial)(jax.random.key(5), env.params)
    assert int(morning.fields[0][3].total) == 0, "a new season begins with none"

    def season(name: str, first: Any) -> tuple[int, list[int], Any]:
        """Plots whose seeds birds ate, the birds of each day, and the last state."""
        params, state, seen = with_birds(env, name), morning, []
        for t in range(10):
            state, _ = step(jax.random.key(t), state, none if t else first, params)
            seen.append(int(state.fields[0][3].population))
        eaten = int((state.fields[0][2].cause_of_death == CAUSES.index("seed: birds")).sum())
        return eaten, seen, state

    eaten, seen, state = season("seed_eater", none)
    spared, others, _ = season("pest_eater", none)
    kept, away, guarded = season("seed_eater", advanced)
    assert eaten >= 12, "mean daily survival is 0.28 up to eight birds"
    assert spared == 0 and sum(others) > 0, "birds that do not eat seeds"
    assert kept == 0 and away == [0] * 10, "the scarecrow acts on the morning it is put up"
    assert int(state.fields[0][3].total) == sum(seen) == float(state.totals["birds#nb"])
    assert int(guarded.fields[0][4].scarecrow) == 2
