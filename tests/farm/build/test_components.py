"""Farmers, rules and terms of a score, ours and a user's own, named in a farm file."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import par
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.actions import Orders
from harvestgym.farm.engine.farmers import Farmer as Base
from harvestgym.farm.engine.farmers import HourlyFarmer, HourlyMemory, Rule, Work, WorkResult
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.reward_terms import Biodiversity, RewardContext, Term
from harvestgym.farm.schema import farm_spec
from tests.farm.engine.test_engine import FILE, REED, SPRING

POUR = ("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (1, 2), "amount#L": 4.0})


class Idler(Base):
    """Works on even days only, for a wage of 2."""

    def work(self, memory: Any, work: Work) -> WorkResult:
        done = work.wanted & (work.day % 2 == 0)
        return WorkResult(done, memory, 2.0 * done.sum())


class Thirst(Term):
    """So much for each litre that the reed has drunk."""

    weight: jax.Array = par("weight", "worth of a litre")

    def daily(self, context: RewardContext) -> jax.Array:
        return self.weight * context.read("Field-0", "Reed-0", "cumulated_water#L").sum()


class Dry(Rule):
    """No watering on the first day; the game ends on the third."""

    def permits(self, orders: Orders, prices: jax.Array, context: RewardContext) -> jax.Array:
        return jnp.broadcast_to(context.day > 0, orders.kind.shape)

    def ends(self, context: RewardContext) -> jax.Array:
        return context.day >= 3


def farm(farmers: Any = None, scoring: Any = None, **rules: Any) -> FarmModel:
    data = FILE | {"rules": FILE["rules"] | {"max_action_schedule_size": 3} | rules}
    data |= {"farmers": farmers} if farmers else {}
    data |= {"scoring": FILE["scoring"] | scoring} if scoring else {}
    return build(farm_spec(data, "test"), {"Field-0": (SPRING, REED)})


def days(env: FarmModel, *schedules: list[Any]) -> list[tuple[Any, dict[str, Any]]]:
    state, out = env.initial(jax.random.key(0), env.params), []
    for schedule in schedules:
        orders = env.actions.encode(schedule, env.schedule)
        state, _ = env.day(jax.random.key(1), state, jax.tree.map(jnp.asarray, orders), env.params)
        out.append((state, env.info(state, env.params)))
    return out


def pour(who: str) -> tuple[Any, ...]:
    return (who, *POUR[1:])


def test_a_farmer_of_ones_own_works_when_it_likes_and_is_paid() -> None:
    env = farm([{"kind": f"{__name__}:Idler"}, {"kind": f"{__name__}:Idler"}, {"max_daily_interventions": 1}])
    assert env.actions.farmers == ("Idler-0", "Idler-1", "BasicFarmer-0")
    team = [pour("Idler-0"), pour("Idler-1"), pour("BasicFarmer-0")]
    (first, text), (second, later) = days(env, team, team)
    assert np.asarray(first.accepted).tolist() == [True] * 3 and float(text["wages"]) == 4.0
    assert np.asarray(second.accepted).tolist() == [False, False, True] and float(later["wages"]) == 0.0
    assert float(text["gain"]) - float(text["net"]) == pytest.approx(1.5 + 4.0), "orders and wages are paid"


def test_hourly_farmer_stops_after_its_hours_of_each_day() -> None:
    env = farm([{"kind": "HourlyFarmer", "hours#h.day-1": 1, "intervention#min": 25, "wage#h-1": 12}])
    team = [pour("HourlyFarmer-0")] * 3
    for state, text in days(env, team, team):
        assert np.asarray(state.accepted).tolist() == [True, True, False]
        assert np.asarray(text["refusal"]).tolist() == [0, 0, 1]
        assert env.reasons[0] == ("HourlyFarmer-0", "not enough of the 1 h per day is left")
        assert float(text["wages"]) == pytest.approx(12 * 50 / 60)


def test_a_budget_is_spent_once() -> None:
    env = farm([{"kind": "HourlyFarmer", "budget": 1.2}])
    seen = days(env, *[[pour("HourlyFarmer-0")] * 2] * 2)
    spent = [np.asarray(state.accepted).tolist() for state, _ in seen]
    assert spent == [[True, True, False], [False] * 3], "an order costs 0.5"
    assert np.asarray(seen[1][1]["refusal"]).tolist() == [2, 2, 0] and env.reasons[1][1] == "not enough money is left"
    counted = {name: np.asarray(counts).tolist() for name, counts in env.count(seen[1][1]).items()}
    assert counted == {"orders": [1, 0, 0, 0, 2]}, "no order, done, no effect, no time, no money"


def test_durations_and_observations_take_time_of_the_day() -> None:
    farmer = HourlyFarmer(hours=1.0, intervention=30.0, observation=5.0, wage=0.0, budget=10.0)  # pyright: ignore
    none = jnp.zeros(2)
    pocket = farmer.look(
        HourlyMemory(jnp.float32(0), jnp.float32(10)), Work(none < 1, none, none, none + 3.0, jnp.int32(0))
    ).memory
    assert float(pocket.minutes) == 30.0
    shift = farmer.work(pocket, Work(none < 1, jnp.asarray([45.0, 20.0]), none + 4.0, none, jnp.int32(0)))
    assert np.asarray(shift.done).tolist() == [False, True], "45 minutes do not fit in what is left, 20 do"
    assert float(shift.memory.minutes) == 0.0 and float(shift.memory.money) == 6.0


def test_prices_and_terms_of_ones_own_are_added_to_the_reward() -> None:
    terms = {
        "money": {"kind": "Tally", "prices": {"water#L": -0.5}},
        "thirst": {"kind": f"{__name__}:Thirst", "weight": 2},
    }
    env = farm(scoring={"terms": terms})
    ((state, text),) = days(env, [POUR])
    assert float(text["reward/money"]) == -2.0
    assert float(text["reward/thirst"]) == pytest.approx(2 * float(np.asarray(state.fields[0][1].store).sum()))
    assert float(text["gain"]) == pytest.approx(sum(float(v) for n, v in text.items() if n.startswith("reward/")))


def test_biodiversity_is_shannons_index() -> None:
    counts = {"birds#nb": 1.0, "weeds#nb": 3.0}
    context = RewardContext(
        {}, {n: jnp.float32(v) for n, v in counts.items()}, {}, lambda *_: jnp.zeros(()), jnp.int32(0)
    )
    wanted = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75)) / np.log(4)
    assert float(Biodiversity(weight=1.0).final(context)) == pytest.approx(wanted, rel=1e-5)  # pyright: ignore


def test_a_rule_of_ones_own_forbids_and_ends() -> None:
    env = farm(further={"dry": {"kind": f"{__name__}:Dry"}})
    (first, _), (second, _), (third, _) = days(env, [POUR], [POUR], [POUR])
    assert not np.asarray(first.accepted).any() and float(first.cost) == 0.0
    assert np.asarray(second.accepted).tolist() == [True, False, False]
    assert not env.terminal(second, env.params) and env.terminal(third, env.params)


class Zealot(Base):
    """Says that it does everything, asked or not."""

    def work(self, memory: Any, work: Work) -> WorkResult:
        return WorkResult(jnp.ones_like(work.wanted), memory, jnp.float32(0.0))


def test_nobody_does_the_orders_of_others() -> None:
    env = farm(
        [{"kind": f"{__name__}:Zealot"}, {"max_daily_interventions": 0}], further={"dry": {"kind": f"{__name__}:Dry"}}
    )
    (first, _), (second, _) = days(env, [pour("Zealot-0")], [pour("Zealot-0"), pour("BasicFarmer-0")])
    assert not np.asarray(first.accepted).any(), "a rule forbids the first day"
    assert np.asarray(second.accepted).tolist() == [True, False, False]
    assert [np.asarray(state.refusal).tolist() for state in (first, second)] == [[1, 0, 0], [0, 3, 0]]
    assert env.reasons[2] == ("BasicFarmer-0", "the farmer's daily limit is 0")


def test_books_are_read_one_variable_at_a_time() -> None:
    env = farm()
    context = env.reward_context(env.initial(jax.random.key(0), env.params), env.params)
    assert context.read("field-0", "reed-0", "stage").shape == (2, 3)
    with pytest.raises(ConfigError, match="expected a known variable, got 'stge'"):
        context.read("Field-0", "Reed-0", "stge")


def test_the_cost_of_a_schedule_can_be_capped() -> None:
    env = farm(further={"cap": {"kind": "CostCap", "max_action_schedule_cost": 1.0}})
    ((state, _),) = days(env, [POUR] * 3)
    assert np.asarray(state.accepted).tolist() == [True, True, False] and float(state.cost) == 1.0
    assert np.asarray(state.refusal).tolist() == [0, 0, 1]
    assert env.reasons[0] == ("cap", "the orders of a day may cost at most 1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"farmers": [{"kind": "HourlyFarmr"}]}, "farmers > 0.*HourlyFarmr.*HourlyFarmer"),
        (
            {"farmers": [{"kind": "HourlyFarmer", "hours": 3}]},
            r"farmers > 0(.|\n)*hours: expected a known key.*hours#h.day-1",
        ),
        ({"farmers": [{"kind": "json:loads"}]}, "expected a subclass of Farmer"),
        ({"scoring": {"terms": {"x": {"kind": "Talley"}}}}, "scoring > terms > x.*Talley.*Tally"),
        (
            {"further": {"cap": {"kind": "CostCap"}}},
            r"rules > further > cap(.|\n)*max_action_schedule_cost: expected a value",
        ),
    ],
)
def test_mistakes_name_their_place_and_the_nearest_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        farm(**change)
