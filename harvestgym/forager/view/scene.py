"""The picture of an episode: the view, the world or the remembered part of it, the visited cells, and the rewards.

The drawing time does not grow with the size of the world, because only the seen part of a large world is shown.
"""

from __future__ import annotations

import math

import numpy as np

from harvestgym.core.view.events import say_event
from harvestgym.core.view.scene import Chart, Line, Panel, Scene, Words
from harvestgym.core.view.timeline import Record
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES

from .events import average_recent, find_events, say_move
from .maps import aperture, surroundings, visited

NO_ACTION = -1
"""The action in a record row without an action: at the start, or where a saved episode continues."""

RECORDED_INFO = ("reward_rate", "collided", "collected", "biome", "biome_regret")
"""The entries of the info that are recorded."""

RUNNING, MEAN, TOTAL, REGRET = "#0072b2", "#222222", "#009e73", "#d55e00"


def scene(env: Forager, record: Record, step: int) -> Scene:
    """Return the picture of an episode at `step` of a record."""
    past = {name: np.asarray(values)[: step + 1] for name, values in record.items()}
    maps = [aperture(env, past), surroundings(env, past)]
    if "world" not in past:
        maps.append(visited(env, past))
    clock = int(past["clock#step"][-1])
    panels: tuple[Panel, ...] = (*maps, _words(env, past), *chart_rewards(env, past))
    return Scene(f"Step {clock:,} in a world of {env.world.width:,} x {env.world.height:,} cells", panels)


def chart_rewards(env: Forager, past: Record) -> list[Chart]:
    """Draw the rewards of the steps so far, and the regret if there are several regions."""
    reward, first = past["reward"], int(past["clock#step"][0])
    # An endless episode has no known length, so the axis is doubled when it is full.
    steps = 100 * 2 ** max(0, math.ceil(math.log2(max(len(reward) - 1, 1) / 100)))
    total = np.cumsum(reward)
    over = "" if not first else f", from step {first:,}"
    mean = total / np.arange(1, len(total) + 1)
    lines = (Line("running mean", average_recent(past), RUNNING), Line("since the start", mean, MEAN))
    sums = Chart(f"Reward so far{over}", "", steps, (Line("", total, TOTAL),), {})
    charts = [Chart(f"Reward per step{over}", "", steps, lines, {}), sums]
    if len(env.world.regions) > 1:
        regret = Line("", past["biome_regret"], REGRET)
        charts.append(Chart("Regret of being in this biome", "", steps, (regret,), {}))
    return charts


def _words(env: Forager, past: Record) -> Words:
    x, y = int(past["x#cell"][-1]), int(past["y#cell"][-1])
    biome = f", in the biome {env.world.regions[int(past['biome'][-1])].name}" if len(env.world.regions) > 1 else ""
    lines = [f"at {x:,} east, {y:,} north{biome}", *_met(env, past)]
    lines.append(f"{int(past['collected'][-1]):,} objects collected")
    lines.append(f"recent reward per step: {average_recent(past)[-1]:+.3f}")
    if not MODES[env.mode].is_picture:
        lines.append(f"the agent does not see this picture: it observes {env.mode!r}")
    return Words("Now", tuple(lines))


def _met(env: Forager, past: Record) -> list[str]:
    if not int(past["clock#step"][-1]):
        return ["the episode begins"]
    if int(past["action"][-1]) == NO_ACTION:
        return ["the episode continues from here"]
    last = len(past["reward"]) - 1
    said = [say_event(event) for event in find_events(env, past, last - 1, last)] or [say_move(past, last)]
    return [f"{said[0]}, reward {float(past['reward'][-1]):+.3g}"]
