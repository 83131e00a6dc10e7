"""Events of a season and the words for them, orders included, and the last event of a season."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import harvestgym
from harvestgym.core.view.events import LOSS, NEWS, WARNING, Event, say_event
from harvestgym.evaluate.record import record_episode
from harvestgym.evaluate.run import policy_named
from harvestgym.farm.entities.plant.stages import Stage
from harvestgym.farm.entities.plant.state import CAUSES, GROWTH_FACTORS
from harvestgym.farm.view.action_log import find_outcomes
from harvestgym.farm.view.events import find_events, find_last_event
from harvestgym.farm.view.recorder import known
from harvestgym.farm.view.words import say_order
from tests.long_form import long, some
from tests.render.seasons import blank, farm, full, order

ID = "farm/full-3x4-v0"
STAGE, CAUSE, LIMIT = (f"Field-0/Plant-0/{name}" for name in ("stage", "cause_of_death", "limiting_factor"))


@pytest.fixture(scope="module")
def season() -> tuple[Any, dict[str, np.ndarray]]:
    """Return a farm with all kinds on twelve plots and a season of its expert."""
    env: Any = harvestgym.make(ID)
    return env, dict(record_episode(ID, env, policy_named(ID, env, "expert"), 0))


@long
def test_every_death_and_harvest_is_an_event(season: tuple[Any, dict[str, np.ndarray]]) -> None:
    env, record = season
    steps = len(record["reward"]) - 1
    events = list(find_events(env, record, 0, steps))
    stage = record[STAGE]
    died = int(np.sum((stage[1:] == Stage.DEAD) & (stage[:-1] != Stage.DEAD)))
    deaths = [event for event in events if event.kind == "dead"]
    assert died > 0 and sum(len(event.plots) for event in deaths) == died
    assert all(event.severity == LOSS and event.reason in CAUSES and event.why for event in deaths)
    assert {"harvested", "arrived"} <= {event.kind for event in events}
    assert list(find_events(env, record, 5, 5)) == []
    assert [*find_events(env, record, 0, 20), *find_events(env, record, 20, steps)] == events


@long
def test_what_was_not_observed_is_no_event() -> None:
    id = "farm/paid-looks-1x1-v0"
    env: Any = harvestgym.make(id)
    record = record_episode(id, env, policy_named(id, env, "none"), 0)
    assert list(find_events(env, record, 0, 120))
    assert not any("Plant" in event.who for event in find_events(env, known(env, record), 0, 120))


def hungry(plots: tuple[int, int]) -> tuple[Any, dict[str, np.ndarray]]:
    """Return a season in which plants fill fruit from step 2 on, lack water for four days, and die in step 9."""
    env = farm("full-1x1-v0" if plots == (1, 1) else "full-3x4-v0")
    record = blank(env, 10)
    record[STAGE][:] = Stage.GROW
    record[STAGE][2:], record[LIMIT][2:8] = Stage.FRUIT, GROWTH_FACTORS.index("water")
    record[LIMIT][:4] = GROWTH_FACTORS.index("light")
    record[STAGE][9:], record[CAUSE][9:] = Stage.DEAD, CAUSES.index("fruit: no-weight days")
    return env, record


def test_a_death_has_the_limit_of_growth_in_the_last_stage() -> None:
    env, record = hungry((1, 1))
    (death,) = find_events(env, record, 2, 9)
    why = "too little water on 4 days while filling fruit"
    assert death == Event(9, "dead", "Bean", "died", LOSS, "fruit: no-weight days", why)
    assert say_event(death) == f"Bean: died: {why}"
    record[CAUSE][9:] = CAUSES.index("fruit: pests")
    (death,) = find_events(env, record, 2, 9)
    assert death.why == "pests while filling fruit; growth slowed by too little water on 4 days"


def test_deaths_of_one_cause_are_one_event() -> None:
    env, record = hungry((3, 4))
    record[LIMIT][4:8, 0, 0], record[STAGE][9:, 2] = 0, Stage.FRUIT
    (death,) = find_events(env, record, 2, 9)
    assert len(death.plots) == 8 and death.of == 12
    assert say_event(death) == "Bean on 8 of 12 plots: died: too little water on 0 to 4 days while filling fruit"


def test_a_farmer_who_did_not_look_knows_no_limit() -> None:
    env, record = hungry((1, 1))
    for name in (STAGE, LIMIT):
        record[f"seen/{name}"] = np.ones(record[name].shape, bool)
    record[f"seen/{LIMIT}"][5:] = False
    (death,) = find_events(env, known(env, record), 2, 9)
    assert (death.reason, death.why) == ("", "growth slowed by too little light on 2 days"), (
        "water is seen in one step only"
    )


def test_pests_that_walk_arrive_once_and_weeds_come_up_once_a_week() -> None:
    env, record = hungry((3, 4))
    pests, weeds = record["Field-0/Pests-0/plot_population#nb"], record["Field-0/Weeds-0/grow#nb"]
    for step in range(1, 10):
        pests[step, step % 3, 0] = weeds[step, 1, 1] = step % 2
    found = [event for event in find_events(env, record, 0, 8) if event.kind == "arrived"]
    assert [(event.step, event.words) for event in found] == [(1, "came up"), (1, "arrived")]


def test_weeds_bloom_once_a_season() -> None:
    """Flowers open and fall on one plot after another; weeks without any do not make them news again."""
    env: Any = farm("full-3x4-v0")
    record = blank(env, 120)
    flowers = record["Field-0/Weeds-0/flowers#nb"]
    flowers[2, 0, 0] = flowers[5, 1, 1] = flowers[40, 2, 2] = flowers[100, 0, 1] = 3
    found = [event for event in find_events(env, record, 0, 119) if event.words == "in bloom"]
    assert [(event.step, event.plots) for event in found] == [(2, [(0, 0)])]


def test_a_harvest_has_its_own_word() -> None:
    env, record = hungry((1, 1))
    record[STAGE][9:], record[CAUSE][9:] = Stage.NONE, 0
    me = ("BasicFarmer-0", "Field-0", "Plant-0", "micro_harvest", {"plot": (0, 0)})
    order(env, record, 9, [me])
    assert [event.words for event in find_events(env, record, 8, 9)] == ["harvested"]


def test_orders_have_costs_reasons_and_plots() -> None:
    env, record = full((3, 4))
    me = ("BasicFarmer-0", "Field-0")
    harvests = [(*me, "Plant-0", "micro_harvest", {"plot": plot}) for plot in ((0, 0), (1, 1))]
    order(env, record, 1, harvests, effective=False)
    (futile,) = find_outcomes(env, record, 1)
    assert (futile.kind, futile.severity) == ("no effect", WARNING)
    assert say_event(futile) == "pick bean at (0, 0), (1, 1): cost 0.02, nothing was ripe, no effect"
    order(env, record, 1, harvests)
    assert [event.severity for event in find_outcomes(env, record, 1)] == [NEWS]
    record["info/refusal"][1, 1], record["info/accepted"][1, 1] = 1, False
    done, refused = find_outcomes(env, record, 1)
    assert (refused.kind, refused.reason, refused.why) == ("refused", *env.reasons[0]) and done.plots == [(0, 0)]


@pytest.mark.parametrize("id", some(harvestgym.ids("farm"), "full-1x1-v0", "two-climates-v0"))
def test_every_order_has_words_of_its_own(id: str) -> None:
    env: Any = harvestgym.make(id)
    orders = [order for order in env.actions.list_orders() if order is not None]
    said = {(order.farmer, say_order(env, order)) for order in orders}
    assert len(said) == len(orders) and not any("_" in text for _, text in said)


@long
def test_last_event_is_followed_by_nothing_but_the_final_reward() -> None:
    """A crop that nobody sows again lives for a third of the season."""
    id = "farm/full-1x1-v0"
    env: Any = harvestgym.make(id)
    record = record_episode(id, env, policy_named(id, env, "none"), 0)
    last = find_last_event(record)
    assert 0 < last < len(record["reward"]) - 10
    assert not record["reward"][last + 1 : -1].any() and not record["info/effective"][last + 1 : -1].any()
    stage = record["Field-0/Plant-0/stage"]
    lives = ~np.isin(stage, (0, 6))
    assert not lives[last + 1 :].any()
    assert lives[last].any() or record["info/effective"][last].any() or record["reward"][last] != 0
