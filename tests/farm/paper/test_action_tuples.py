"""The spellings of an action: tuples, gym actions, arrays; items of observations, refusals and costs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harvestgym.core.errors import ConfigError
from harvestgym.core.pytree import pytree
from harvestgym.farm import BasicFarmer, Facility, Farm, Fertilizer
from harvestgym.farm.build.action_compiler import compile_actions
from harvestgym.farm.engine.actions import ActionTable
from harvestgym.farm.engine.farmers import Farmer
from harvestgym.farm.engine.variables import EntitySlot, FieldSlots, number_repeats
from harvestgym.farm.learn.action_wrappers import BoxActions, ScheduleActions
from harvestgym.farm.learn.map_orders import build_map_table
from harvestgym.farm.paper.observation_items import ObservationPath, is_free, make_item_reader
from harvestgym.farm.policies.expert_rules import compile_rule
from harvestgym.farm.schema import OrderRule
from harvestgym.farm.spelling import resolve_spelling
from harvestgym.gym.env import GymEnv
from tests.farm import kinds
from tests.farm.ponds import CUT, STAGE, WATER, assert_same, farm, look, pour
from tests.long_form import long

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@few
@given(seed=st.integers(0, 2**31 - 1))
def test_gym_actions_round_trip_through_tuples(asking: Farm, seed: int) -> None:
    asking.action_space.seed(seed)
    action = asking.action_space.sample()
    schedule = asking.gymaction_to_farmgymaction(action)
    back = asking.farmgymaction_to_gymaction(schedule)
    assert repr(back) == repr(action) and back in asking.action_space
    assert asking.gymaction_to_farmgymaction(back) == schedule


def test_members_of_the_union_are_different_actions(asking: Farm) -> None:
    space: Any = asking.action_space
    tuples = [repr(asking.gymaction_to_farmgymaction((i, space[i].sample()))) for i in range(len(space))]
    assert len(set(tuples)) == len(tuples) == len(asking.language.paths) + 3


@st.composite
def tables(draw: st.DrawFn) -> ActionTable:
    """List the actions of one or two fields of kinds in any number, some left out by the rules, for some farmers."""
    fields: list[FieldSlots] = []
    allowed: dict[str, Any] = {}
    farmers = [f"BasicFarmer-{i}" for i in range(draw(st.integers(1, 3)))]
    for f in range(draw(st.integers(1, 2))):
        shape = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        of = draw(st.lists(st.sampled_from([kinds.Spring, kinds.Reed, Fertilizer, Facility]), min_size=1, max_size=4))
        names = number_repeats([kind.__name__ for kind in of])
        slots = [EntitySlot(name, kind, (), ()) for name, kind in zip(names, of, strict=True)]
        fields.append(FieldSlots(f"Field-{f}", shape, tuple(slots)))
        plots = st.lists(st.sampled_from([*np.ndindex(shape)]), min_size=1, unique=True)
        mine = [
            (slot, action, {"plot": draw(plots)} if action.plot else {})
            for slot in slots
            for action in slot.kind.actions
        ]
        for slot, action, limits in draw(st.lists(st.sampled_from(mine), min_size=1, unique_by=lambda one: one[:2])):
            some = {p.key: draw(st.lists(st.sampled_from(p.choices), min_size=1, unique=True))
                    for p in action.parameters if p.choices}  # fmt: skip
            if draw(st.booleans()):
                some["farmer"] = draw(st.lists(st.sampled_from(farmers), min_size=1, unique=True))
            allowed.setdefault(f"Field-{f}", {}).setdefault(slot.name, {})[action.name] = limits | some
    return compile_actions(farmers, fields, draw(st.sampled_from([None, allowed])))


@long
@settings(few, max_examples=12)
@given(table=tables())
def test_numbers_and_tuples_are_one_to_one(table: ActionTable) -> None:
    """Number, tuple and number again; and as compiled code reads the numbers, so the tuples are encoded."""
    written: list[Any] = [table.write(order) for order in table.list_orders()[1:]]
    assert [table.index(each) for each in written] == list(range(1, table.size))
    assert len(set(map(repr, written))) == len(written)
    assert_same(jax.jit(table.orders)(jnp.arange(1, table.size)), table.encode(written, len(written)))


@few
@given(number=st.integers(0, 2**20), seed=st.integers(0, 99))
def test_all_interfaces_reach_the_same_state(plain: Farm, number: int, seed: int) -> None:
    """Tuples, gym actions and integers, from one state under one key: the same state, bit by bit."""
    model = plain.model
    number %= model.actions.size
    order = model.actions.order(number)
    plain.reset(seed=seed)
    start = plain.run_state
    schedule = [] if order is None else [model.actions.write(order)]
    after = [plain.farmgym_step(schedule), plain.run_state.state][1]
    plain.run_state = start
    plain.gym_step(plain.farmgymaction_to_gymaction(schedule))
    assert_same(after, plain.run_state.state)
    integers = GymEnv(model)
    integers.reset(seed=0)
    integers.run_state = start
    integers.step(number)
    assert_same(after, integers.run_state.state)


def test_model_step_takes_encoded_tuples(plain: Farm) -> None:
    plain.reset(seed=4)
    state = plain.run_state.state
    orders = plain.model.actions.encode([pour(1, 2, 1.25)], 1)
    key = jax.random.key(7)
    given_orders, _ = jax.jit(plain.model.step)(key, state, orders, plain.params)
    water = np.asarray(plain.model.value(plain.model.variables[0], given_orders, plain.params))
    none, _ = jax.jit(plain.model.step)(key, state, plain.model.actions.encode([], 1), plain.params)
    dry = np.asarray(plain.model.value(plain.model.variables[0], none, plain.params))
    np.testing.assert_allclose((water - dry)[1, 2], 1.25, atol=2e-6)
    assert np.count_nonzero(water != dry) == 1


def test_restricted_actions_have_unchanged_effects() -> None:
    limits = {"Field-0": {"Reed-0": {"cut": None}, "Spring-0": {"pour": {"plot": [(1, 2)], "amount#L": "(1, 3)"}}}}
    wide, narrow = farm("po"), farm("po", interventions=limits)
    assert len(narrow.action_space) == 2 < len(wide.action_space)  # type: ignore[arg-type]
    for game in (wide, narrow):
        game.reset(seed=3)
        game.farmgym_step([pour(1, 2), CUT, pour(1, 2, 3.0)])
        game.farmgym_step([CUT])
    assert_same(wide.run_state.state, narrow.run_state.state)
    with pytest.raises(ConfigError, match=r"expected an allowed plot, got \(0, 0\)"):
        narrow.farmgym_step([pour(0, 0)])


def test_a_day_is_a_half_step_of_observations_and_one_of_actions(asking: Farm) -> None:
    asking.reset(seed=1)
    asked = [look(STAGE, (1, 2)), look(("Field-0", "Reed-0", "N#g"))]
    items, gain, _, _, info = asking.farmgym_step([*asked, pour(0, 0)])
    assert [item[:4] for item in items] == [(*WATER, []), (*STAGE, [(1, 2)]), ("Field-0", "Reed-0", "N#g", [])]
    assert items[1][4] == "young" and items[2][4].shape == (2, 3) and info["day"] == 0
    assert info["observation cost"] == 0.25 * (1 + 6) and info["intervention cost"] == 0 == gain
    assert info["refused"] == [pour(0, 0)] and info["reasons"] == ["it belongs to the other half-step of the day"]
    items, _, _, _, info = asking.farmgym_step([pour(0, 0), asked[0], CUT])
    assert info["day"] == 1 and info["intervention cost"] == 1.0 and info["refused"] == [asked[0]]
    assert [item[2] for item in items] == ["available_Water#L"], "what was asked for yesterday is not seen today"


def test_unrequested_observations_are_masked(asking: Farm) -> None:
    obs, _ = asking.reset(seed=1)
    first = obs["mask"].sum()
    obs = asking.step(asking.farmgymaction_to_gymaction([look(STAGE, (1, 2)), look(STAGE)]))[0]
    assert obs in asking.observation_space and obs["mask"].sum() == first + 6
    unseen = asking.language.item(asking.language.from_tuple(look(("Field-0", "Reed-0", "colour"))).path, obs)  # type: ignore[union-attr]
    assert unseen[4] is None


def test_observation_limit_follows_the_order_of_the_list() -> None:
    game = farm(farmers=[BasicFarmer(max_daily_observations=1)])  # pyright: ignore[reportArgumentType]
    for first, second in ((look(STAGE), look(("Field-0", "Reed-0", "colour"))),) * 2:
        for asked in ([first, second], [second, first]):
            game.reset(seed=0)
            items, _, _, _, info = game.farmgym_step(asked)
            assert info["refused"] == [asked[1]] and items[2][4] is None and items[1][4] is not None
            assert info["observation cost"] == 0.25 * 6


def test_limits_hold_for_each_farmer() -> None:
    one = BasicFarmer(max_daily_interventions=1, max_daily_observations=1)  # pyright: ignore[reportArgumentType]
    game = farm(farmers=[one, one])
    two = "basicfarmer-1"
    game.reset(seed=0)
    items, _, _, _, info = game.farmgym_step([look(STAGE), look(STAGE, (0, 0), farmer=two), look(STAGE, (1, 1))])
    assert [item[4] is None for item in items[1:]] == [False, False, False], "what one sees, the farm knows"
    assert info["observation cost"] == 0.25 * 7
    info = game.farmgym_step([pour(0, 0), pour(0, 1), pour(1, 1, farmer=two)])[-1]
    assert info["refused"] == [pour(0, 1)] and info["accepted"].tolist() == [True, False, True]
    assert info["reasons"] == ["the farmer's daily limit is 1"]


def test_an_action_may_belong_to_one_of_several_farmers() -> None:
    """It is no member of the spaces for the others, and an expert gives it to the one who may do it."""
    allowed = {"Field-0": {"Reed-0": {"cut": {"farmer": "farmer-1"}}, "Spring-0": {"pour": {"plot": ["(0, 0)"]}}}}
    game = farm("po", farmers=[BasicFarmer(), BasicFarmer()], interventions=allowed, max_action_schedule_size=2)
    model, cut = game.model, ("BasicFarmer-1", *CUT[1:])
    assert model.actions.size == 1 + 2 * 11 + 1 and len(game.language.space) == 3
    names = [order.row.action.name for order in model.actions.list_orders()[1:] if order]
    assert names == ["pour"] * 11 + ["cut"] + ["pour"] * 11
    with pytest.raises(ConfigError, match="cut: expected one of the farmers BasicFarmer-1, got 'BasicFarmer-0'"):
        game.farmgymaction_to_gymaction([CUT])
    assert game.gymaction_to_farmgymaction(game.farmgymaction_to_gymaction([cut])) == [cut]
    assert model.spec.rules.interventions["Field-0"]["Reed-0"] == {"cut": {"farmer": ["BasicFarmer-1"]}}  # type: ignore[index]
    rule = OrderRule.model_validate({"do": "Reed-0.cut"})
    (number,) = compile_rule(model, rule, "expert")[2]
    assert model.actions.write(model.actions.order(int(number)))[0] == "BasicFarmer-1"  # type: ignore[arg-type]
    box = BoxActions(model)
    each = [box.read(jnp.full(box.action_space.shape, x)) for x in (-0.4, 0.2, 0.9)]  # pyright: ignore[reportArgumentType]
    assert [(int(orders.farmer[0]), int(orders.kind[0])) for orders in each] == [(0, 2), (1, 1), (1, 2)]
    assert build_map_table(model).names == (
        "stop", "BasicFarmer-0/Field-0/Spring-0/pour", "BasicFarmer-1/Field-0/Reed-0/cut",
        "BasicFarmer-1/Field-0/Spring-0/pour",
    )  # fmt: skip
    for who, words in (("farmer-2", "expected a known farmer, got 'farmer-2'"), ([], "expected at least one farmer")):
        with pytest.raises(ConfigError, match=words):
            farm("po", interventions={"Field-0": {"Reed-0": {"cut": {"farmer": who}}}})


def test_a_whole_variable_is_read_from_plots_in_any_order() -> None:
    plots = [(x, y) for y in (2, 0, 1) for x in (1, 0)]
    model = farm("po", free_observations=[(*WATER, [plot]) for plot in plots]).model
    path = ObservationPath((WATER[0], WATER[1]), WATER[2], None)
    ((*_, value),) = make_item_reader([path], model.names, model.plan)(np.arange(6.0))
    assert [value[plot] for plot in plots] == list(range(6))
    assert is_free(path, model) and not is_free(ObservationPath(STAGE[:2], "stage", None), model)


def test_items_are_copies_of_plain_values() -> None:
    """Items are plain tuples of plain values; changing them changes nothing else."""
    everything = farm("fo")
    items, _ = everything.farmgym_reset(seed=2)
    assert type(items) is list and all(type(item) is tuple and type(item[3]) is list for item in items)
    reported = {item[2]: item[4] for item in items}
    assert reported["available_Water#L"].dtype == np.float32 and reported["stage"].dtype.kind == "U"
    kinds = {type(value) for value in reported.values() if not isinstance(value, (np.ndarray, dict))}
    assert kinds <= {int, float, bool, str}
    reported["available_Water#L"][:] = -1
    items[0][3].append("x")
    again = {item[2]: item for item in everything.observations()}
    assert (again["available_Water#L"][4] >= 0).all() and again["available_Water#L"][3] == []
    state = {
        v.key: everything.model.value(v, everything.run_state.state, everything.params)
        for v in everything.model.variables
    }
    np.testing.assert_array_equal(again["available_Water#L"][4], state["available_Water#L"])
    assert again["stage"][4].tolist() == np.asarray(("young", "old"))[np.asarray(state["stage"])].tolist()


def test_schedule_arrays_equal_encoded_orders(plain: Farm) -> None:
    """As `encode` writes them for `model.step`, and the farm for its own, in any spelling."""
    odd = ("farmer-0", "field-0", "spring-0", "pour", {"plot": (1, 2), "amount": 2.0})
    for schedule in ([], [pour(1, 2)], [odd], [CUT]):
        orders = plain.model.actions.encode(schedule, 1)
        assert_same(
            orders, ScheduleActions(plain.model).read(plain.language.to_array(plain.language.from_tuples(schedule)))
        )
        number = plain.model.actions.index(schedule[0]) if schedule and schedule != [CUT] else None
        if number is not None:
            assert_same(orders.plot, plain.model.actions.orders(jnp.int32(number)).plot)
    with pytest.raises(ConfigError, match="expected at most 1 actions.*got 2"):
        plain.model.actions.encode([CUT, CUT], 1)
    with pytest.raises(ConfigError, match="expected a number"):
        plain.model.actions.encode([pour(1, 2, 9.0)], 1)


def test_a_free_observation_may_be_requested_for_nothing(asking: Farm) -> None:
    """A loop of the paper asks for everything; what is free has no gym action."""
    assert not any(ask.key == "available_Water#L" for ask in asking.language.paths)
    free, _ = asking.farmgym_reset(seed=0)
    items, reward, _, _, info = asking.farmgym_step([look(WATER)])
    assert info["refused"] == [] and info["observation cost"] == 0 and reward == 0
    assert [item[:4] for item in items[: len(free)]] == [item[:4] for item in free]
    assert items[-1][2] == "available_Water#L" and items[-1][4] is not None
    with pytest.raises(ConfigError, match="expected a paid observation, got a free one"):
        asking.farmgymaction_to_gymaction([look(WATER)])


def test_the_state_is_in_its_space(asking: Farm) -> None:
    asking.reset(seed=0)
    for _ in range(4):
        asking.step(asking.action_space.sample())
        assert asking.state() in asking.state_space
    assert len(asking.state_space) == 5 + 7


def test_other_spellings_give_the_same_action(asking: Farm) -> None:
    action = asking.language.from_tuple(pour(1, 2))
    for farmer, field, entity, amount in (
        ("farmer-0", "field-0", "spring-0", "amount"), ("basicfarmer-0", "FIELD-0", "Spring-0", "AMOUNT#l"),
    ):  # fmt: skip
        assert asking.language.from_tuple((farmer, field, entity, "pour", {"plot": (1, 2), amount: 2.0})) == action
    assert asking.language.from_tuple(("Farmer-0", *STAGE, "*")) == asking.language.from_tuple(look(STAGE, "*"))
    assert resolve_spelling("action", "water_discrete", ["watering_discrete", "sow"], "") == "watering_discrete"
    assert resolve_spelling("action", "micro-harvest", ["harvest", "micro_harvest"], "") == "micro_harvest"
    assert (
        resolve_spelling("variable", "microlife_health_index%", ["microlife_health_index#%"], "")
        == "microlife_health_index#%"
    )
    with pytest.raises(ConfigError, match="parameter: expected a known name, got 'amount#kg'; try 'amount#L'"):
        resolve_spelling("parameter", "amount#kg", ["plot", "amount#L"], "")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (("BasicFarmer-3", *STAGE, []), "farmer: expected a known name, got 'BasicFarmer-3'; try 'BasicFarmer-0'"),
        (
            ("BasicFarmer-0", "Field-1", "Reed-0", "stage", []),
            "field: expected a known name, got 'Field-1'; try 'Field-0'",
        ),
        (("BasicFarmer-0", "Field-0", "Read-0", "stage", []), "expected a known entity, got 'Read-0'; try 'Reed-0'"),
        (("BasicFarmer-0", "Field-0", "Reed-0", "stge", []), "expected a known variable, got 'stge'; try 'stage'"),
        (("BasicFarmer-0", "Field-0", "Reed-0", "cutt", {}), "expected a known action, got 'cutt'; try 'cut'"),
        (("BasicFarmer-0", "Field-0", "Reed-0", "cut", []), "it is an intervention, so try a dict of its parameters"),
        (("BasicFarmer-0", *STAGE, {}), "it is an observation, so try its path as a list, [] for all of it"),
        (look(STAGE, (0, 0), (0, 1)), "schedule > 1: expected a key, '*' or a plot (x, y) in the path, got (0, 1)"),
        (look(STAGE, "max"), "Field-0 > Reed-0 > stage: expected no further key, got 'max'"),
        (look(STAGE, (2, 0)), "expected a plot (x, y) with 0 <= x < 2 and 0 <= y < 3, got (2, 0)"),
        (look(STAGE, 3), "expected a key, '*' or a plot (x, y) in the path, got 3"),
        (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (2, 0), "amount#L": 1}), "0 <= x < 2"),
        (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amout#L": 1}), "try 'amount#L'"),
        (("BasicFarmer-0", "Field-0", "Spring-0", "pour", {"plot": (0, 0), "amount#L": 9}), "from 0 to 5, got 9"),
        (("BasicFarmer-0", "Field-0", "Spring-0", "pour", 3), "expected a dict of parameters or a path (a list)"),
        (("BasicFarmer-0", *STAGE), "schedule > 1: expected (farmer, field, entity, name, parameters)"),
        (None, "expected (farmer, field, entity, name, parameters), got None"),
    ],
)
def test_a_wrong_action_raises_and_nothing_is_done(asking: Farm, action: Any, words: str) -> None:
    asking.reset(seed=0)
    before = asking.run_state.state
    with pytest.raises(ConfigError) as error:
        asking.farmgym_step([look(STAGE), action])
    assert words in str(error.value), str(error.value)
    assert_same(before, asking.run_state.state)
    assert not asking.acting


def test_a_schedule_has_a_maximal_length(asking: Farm) -> None:
    asking.reset(seed=0)
    with pytest.raises(ConfigError, match="expected at most 3 actions, got 4"):
        asking.farmgym_step([CUT] * 4)
    with pytest.raises(ConfigError, match="expected a list of actions"):
        asking.farmgym_step(CUT)
    with pytest.raises(ConfigError, match=r"action: expected a member of action_space, at most 3 pairs"):
        asking.step(((0, 1),))


def test_observations_are_no_actions_in_modes_po_and_fo(plain: Farm) -> None:
    with pytest.raises(ConfigError, match="expected mode 'ao' for a request, got 'po'"):
        plain.farmgym_step([look(STAGE)])
    everything = farm("fo")
    items, _ = everything.farmgym_reset(seed=0)
    assert len(items) == 5 + 7 and not any(item[4] is None for item in items)


@pytree
class Sleeper(Farmer):
    """Rests on the first day."""

    def work(self, memory: Any, work: Any) -> Any:
        return super().work(memory, work._replace(wanted=work.wanted & (work.day > 0)))


def test_a_custom_farmer_is_used() -> None:
    game = farm("po", farmers=[Sleeper()])
    game.reset(seed=0)
    cut = ("Sleeper-0", *CUT[1:])
    days = [game.farmgym_step([cut])[-1] for _ in range(2)]
    assert [(info["intervention cost"], info["refused"]) for info in days] == [(0.0, [cut]), (0.5, [])]
