"""The engine under kinds of a user's own: phases, ranks, sharing, ledgers, orders, rules, scores."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import replace
from harvestgym.farm.build.compile import build
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.entities.base import Entity
from harvestgym.farm.entities.messages import Visits
from harvestgym.farm.schema import farm_spec
from harvestgym.gym.env import GymEnv
from tests.farm import kinds
from tests.farm.messages import message
from tests.farm.soil_plant_day import board, field

SPRING = kinds.Spring(flow=np.float32(1.0))  # pyright: ignore[reportArgumentType]
REED = kinds.Reed(thirst=np.float32(2.0))  # pyright: ignore[reportArgumentType]
WEED = kinds.Weed(thirst=np.float32(3.0))  # pyright: ignore[reportArgumentType]
GAUGE = kinds.Gauge()

FILE: dict[str, Any] = {
    "fields": {
        "Field-0": {
            "localization": {"latitude#°": 43.6, "longitude#°": 3.9, "altitude#m": 30},
            "shape": {"length#nb": 2, "width#nb": 3},
            "entities": [["Soil", "unused"]],
        }
    },
    "rules": {
        "horizon#day": 8,
        "free_observations": ["Spring-0.available_Water#L", "Reed-0.stage[1, 2]"],
        "terminal_conditions": "sum(Reed-0.cumulated_water#L) > 60",
    },
    "scoring": {"intervention_cost": 0.5, "yield": 1.0, "resource": 0.1},
}


def farm(*entities: Entity, **rules: Any) -> FarmModel:
    data = FILE | {"rules": FILE["rules"] | rules}
    return build(farm_spec(data, "test"), {"Field-0": entities})


def run(env: FarmModel, actions: list[int], seed: int = 0) -> list[Any]:
    step = jax.jit(type(env).step, static_argnums=0)
    state, timestep = env.reset(jax.random.key(seed), env.params)
    out = [(state, timestep)]
    for t, a in enumerate(actions):
        state, timestep = step(env, jax.random.fold_in(jax.random.key(seed), t), state, jnp.int32(a), env.params)
        out.append((state, timestep))
    return out


def by_name(env: FarmModel, state: Any) -> dict[str, np.ndarray]:
    return {v.name: np.asarray(env.value(v, state, env.params)) for v in env.variables}


def test_the_order_of_entities_in_a_file_cannot_matter() -> None:
    one, two = farm(SPRING, REED, WEED, GAUGE), farm(GAUGE, WEED, REED, SPRING)
    cut, pour = one.actions.index(("BasicFarmer-0", "Field-0", "Reed-0", "cut", {})), 30
    swap = {0: 0, cut: two.actions.index(("BasicFarmer-0", "Field-0", "Reed-0", "cut", {}))}
    swap[pour] = two.actions.index(one.actions.write(one.actions.order(pour)))  # pyright: ignore[reportArgumentType]
    actions = [0, pour, 0, 0, cut, 0]
    a, b = run(one, actions), run(two, [swap[i] for i in actions])
    for (s, _), (r, _) in zip(a, b, strict=True):
        for name, value in by_name(one, s).items():
            np.testing.assert_allclose(value, by_name(two, r)[name], rtol=1e-6, err_msg=name)


def test_adding_an_entity_leaves_the_draws_of_the_others_alone() -> None:
    a, b = run(farm(SPRING, REED), [0] * 3), run(farm(GAUGE, SPRING, REED), [0] * 3)
    np.testing.assert_array_equal(a[-1][1].obs, b[-1][1].obs)


def test_nobody_reads_a_half_updated_neighbour() -> None:
    env = farm(SPRING, REED, GAUGE)
    states = [by_name(env, s) for s, _ in run(env, [0, 0, 0])]
    for morning, evening in zip(states, states[1:], strict=False):
        np.testing.assert_array_equal(evening["Field-0/Gauge-0/level#L"], morning["Field-0/Spring-0/available_Water#L"])


def test_flows_over_the_boundary_are_the_change_of_what_is_held() -> None:
    env = farm(SPRING, REED, WEED)
    held = lambda s: [e.holds(m) for e, m in zip(env.params.fields[0].entities, s.fields[0], strict=True)]  # noqa: E731
    state, _ = env.reset(jax.random.key(1), env.params)
    for t, index in enumerate([30, 0, 41, 0]):
        after, report = env.day(jax.random.key(t), state, env.actions.orders(jnp.int32(index)), env.params)
        for substance in ("water", "nutrients"):
            change = sum(h[substance] for h in held(after)) - sum(h[substance] for h in held(state))
            flows = [f for n, f in report.flows[0].items() if n.startswith(f"{substance}:")]
            np.testing.assert_allclose(change, sum(flows), atol=2e-5)
        state = after


def test_higher_priority_drinks_first_and_equals_share_in_proportion() -> None:
    spring = kinds.Spring(flow=np.float32(0.0))  # pyright: ignore[reportArgumentType]
    drunk = lambda *hosts: [np.asarray(s.store)[0, 0] for s in run(farm(spring, *hosts), [0] * 4)[-1][0].fields[0][1:]]  # noqa: E731
    thirsty = kinds.Weed(thirst=np.float32(9.0))  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(drunk(REED, thirsty), [1.0, 9.0], atol=5e-6)
    np.testing.assert_allclose(drunk(REED, REED), [5.0, 5.0], atol=5e-6)


@pytest.mark.parametrize(
    ("entities", "message"),
    [((REED,), "the allocator: expected one Ground on its field, got 0"),
     ((SPRING, SPRING, REED), r"expected one Ground on its field, got 2 \(Spring-0, Spring-1\)")],
)  # fmt: skip
def test_who_needs_one_of_a_message_says_so_when_the_farm_is_built(entities: tuple[Entity, ...], message: str) -> None:
    rules: dict[str, Any] = {"free_observations": [], "terminal_conditions": []}
    with pytest.raises(ConfigError, match=message):
        farm(*entities, **rules)


def test_a_schedule_is_executed_in_order_up_to_the_farmers_limit() -> None:
    data = FILE | {
        "rules": FILE["rules"] | {"max_action_schedule_size": 3},
        "farmers": [{"max_daily_interventions": 2}],
    }
    env = build(farm_spec(data, "test"), {"Field-0": (SPRING, REED)})
    pour = ("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (1, 2), "amount#L": 4.0})
    orders = env.actions.encode([pour, pour, pour], 3)
    state, _ = env.reset(jax.random.key(0), env.params)
    after, report = env.day(jax.random.key(0), state, orders, env.params)
    assert np.asarray(after.accepted).tolist() == [True, True, False]
    assert float(report.tally["water#L"]) == 8.0
    assert float(after.cost) == 1.0


def test_rewards_costs_and_ends() -> None:
    env = farm(SPRING, REED)
    cut = env.actions.index(("BasicFarmer-0", "Field-0", "Reed-0", "cut", {}))
    steps = [t for _, t in run(env, [cut, 0, 0, cut, 0, 0, 0, 0])]
    assert not bool(steps[1].info["effective"][0]) and float(steps[1].info["net"]) == -0.5
    assert float(steps[3].info["reward/stage"]) == 6.0, "six plots grow old when they have drunk 6 L"
    assert bool(steps[4].info["effective"][0])
    assert [bool(t.truncated) for t in steps] == [False] * 8 + [True]
    totals = steps[-1].info["total/harvest#kg"]
    assert float(totals) == pytest.approx(36.0)
    assert float(steps[-1].reward) == pytest.approx(36.0, rel=1e-5)


def test_the_observation_is_named_and_in_its_space() -> None:
    env = farm(SPRING, REED)
    assert env.plan.labels[0] == "Field-0/Spring-0/available_Water#L/(0, 0)"
    assert env.plan.labels[-1] == "Field-0/Reed-0/stage/(1, 2)"
    for _, timestep in run(env, [5, 9, 0]):
        assert env.observation_space.contains(np.asarray(timestep.obs))


def test_tuples_integers_and_arrays_are_one_table() -> None:
    env = farm(SPRING, REED)
    for index, order in enumerate(env.actions.list_orders()[1:], start=1):
        written = env.actions.write(order)
        assert env.actions.index(written) == index
        coded = env.actions.encode([written], 1)
        for a, b in zip(coded, env.actions.orders(jnp.int32(index)), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("action", "message"),
    [(("BasicFarmer-1", "Field-0", "Reed-0", "cut", {}), "farmer: expected a known name, got 'BasicFarmer-1'"),
     (("BasicFarmer-0", "Field-3", "Reed-0", "cut", {}), "field: expected a known name, got 'Field-3'; try 'Field-0'"),
     (("BasicFarmer-0", "field-0", "Read-0", "cut", {}), "expected a known entity, got 'Read-0'; try 'Reed-0'"),
     (("BasicFarmer-0", "field-0", "reed-0", "cutt", {}), "expected a known action, got 'cutt'; try 'cut'"),
     (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (2, 0), "amount#L": 1.0}), "0 <= x < 2"),
     (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amount#L": 9.0}), "from 0 to 5, got 9.0"),
     (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amount#L": float("nan")}), "got nan"),
     (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0)}), "expected amount#L, got nothing"),
     (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amout#L": 1.0}), "try 'amount#L'")],
)  # fmt: skip
def test_a_wrong_action_is_refused_in_words(action: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        farm(SPRING, REED).actions.parse(action)


@pytest.mark.parametrize(
    ("rules", "message"),
    [({"init": {"Field-0": {"Reed-0": {"stge": ["old"]}}}}, "expected a known variable, got 'stge'; try 'stage'"),
     ({"init": {"Field-0": {"Reed-0": {"stage": "ancient"}}}}, "expected a known value, got 'ancient'"),
     ({"init": {"Field-0": {"Spring-0": {"available_Water#L": -1}}}}, "from 0 to 100000, got -1"),
     ({"init": {"Field-0": {"Spring-0": {"available_Water#L": "(9, 2)"}}}}, "low <= high"),
     ({"free_observations": ["Reed-0.stage[0]"]}, r"expected a plot \(x, y\) with 0 <= x < 2 and 0 <= y < 3, got 0"),
     ({"free_observations": ["Reed-0.stage == old"]}, "expected a known variable, got 'stage == old'"),
     ({"terminal_conditions": "Reed-0.stage => 1"}, "expected a formula, got '=>'; try '>='"),
     ({"terminal_conditions": "avg(Reed-0.stage) > 1"}, "a known function, got 'avg'"),
     ({"terminal_conditions": "Reed-0.stage in old"}, "expected a list"),
     ({"interventions": {"Field-0": {"Spring-0": {"pour": {"amount#L": [1, 7]}}}}}, "got 7"),
     ({"interventions": {"Field-0": {"Spring-0": {"pour": {"plot": ["(0, 9)"]}}}}}, "0 <= y < 3"),
     ({"horizn#day": 3}, "try 'horizon#day'")],
)  # fmt: skip
def test_a_wrong_rule_is_refused_in_words(rules: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        farm(SPRING, REED, **rules)


def test_initial_values_are_drawn_for_each_episode() -> None:
    env = farm(
        SPRING, REED, init={"Field-0": {"Spring-0": {"available_Water#L": "(20, 30)"}, "Reed-0": {"stage": ["old"]}}}
    )
    states = [env.initial(jax.random.key(s), env.params) for s in range(50)]
    water = np.asarray([s.fields[0][0].water for s in states])
    assert (water == water[:, :1, :1]).all() and 20 <= water.min() < 21 < 29 < water.max() <= 30
    assert (np.asarray(states[0].fields[0][1].stage) == 1).all()


def test_farms_of_one_structure_share_one_compiled_program() -> None:
    other = kinds.Reed(thirst=np.float32(0.5))  # pyright: ignore[reportArgumentType]
    one, two = farm(SPRING, REED), farm(SPRING, other)
    assert one == two and hash(one) == hash(two)
    traces = []

    def counted(env: FarmModel, key: jax.Array, state: Any, params: Any) -> Any:
        traces.append(1)
        return env.step(key, state, jnp.int32(0), params)

    step = jax.jit(counted, static_argnums=0)
    for env in (one, two):
        state, _ = env.reset(jax.random.key(0), env.params)
        step(env, jax.random.key(0), state, env.params)
    assert len(traces) == 1


def test_the_end_is_paid_once_and_days_after_it_earn_and_cost_nothing() -> None:
    env = farm(SPRING, REED, terminal_conditions=[])
    pour = env.actions.index(("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amount#L": 2.0}))
    steps = [t for _, t in run(env, [pour] * 11)]
    assert bool(steps[8].truncated) and float(steps[8].info["reward/resource"]) < 0
    for after in steps[9:]:
        assert float(after.reward) == 0.0 and float(after.info["intervention cost"]) == 0.0


def test_a_word_keeps_its_meaning_where_the_rules_narrow_the_choice() -> None:
    rules = {"interventions": {"Field-0": {"Reed-0": {"dye": {"colour": ["blue"]}}}}}
    env = farm(SPRING, REED, **rules)
    blue = ("BasicFarmer-0", "Field-0", "Reed-0", "dye", {"colour": "blue"})
    assert env.actions.size == 2 and env.actions.write(env.actions.order(1)) == blue
    state, _ = run(env, [1])[-1]
    assert (np.asarray(state.fields[0][1].colour) == 2).all()
    with pytest.raises(ConfigError, match="expected one of blue, got 'red'"):
        env.actions.parse((*blue[:4], {"colour": "red"}))


def test_a_number_that_is_no_action_does_nothing() -> None:
    env = farm(SPRING, REED)
    for index in (-1, 10_000):
        assert int(env.actions.orders(jnp.int32(index)).kind[0]) == 0


def test_an_interval_of_whole_numbers_has_both_its_ends() -> None:
    env = farm(SPRING, REED, init={"Field-0": {"Reed-0": {"colour": "(0, 2)"}}})
    drawn = {int(env.initial(jax.random.key(s), env.params).fields[0][1].colour[0, 0]) for s in range(60)}
    assert drawn == {0, 1, 2}
    with pytest.raises(ConfigError, match="expected a whole number, got 0.5"):
        farm(SPRING, REED, init={"Field-0": {"Reed-0": {"colour": [0.5]}}})


def test_a_message_of_one_number_holds_for_every_plot() -> None:
    """Also a bool or a whole number, sent alone or with another."""
    place = field((2, 3))
    visits = message(Visits, place)
    said = [("a", replace(visits, occurrence=jnp.asarray(True))), ("b", replace(visits, occurrence=jnp.int32(1)))]
    for n in (0, 1, 2):
        heard = board(place, "Plant-0", *said[:n]).read_sum(Visits).occurrence
        assert heard.dtype == jnp.float32
        np.testing.assert_array_equal(heard, np.full((2, 3), n))


def test_a_start_and_a_step_trace_the_day_of_a_field_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []
    update, settle = kinds.Reed.update, kinds.Reed.settle
    monkeypatch.setattr(kinds.Reed, "update", lambda *given: (traced.append("day"), update(*given))[1])
    monkeypatch.setattr(kinds.Reed, "settle", lambda *given: (traced.append("start"), settle(*given))[1])
    jax.clear_caches()
    env = GymEnv(farm(SPRING, REED))
    env.reset(seed=0)
    env.step(np.int64(0))
    assert sorted(traced) == ["day", "start"]
    jax.clear_caches()  # the traces made here call what is patched
