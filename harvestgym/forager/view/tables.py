"""Tables that describe a world, and the timeline of a recorded episode: its path, collisions and rewards."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from harvestgym.core.view.tables import Table, make_fields_table, make_spaces_table
from harvestgym.core.view.timeline import Record, Timeline, Track
from harvestgym.core.yaml_io import read_file
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.state import ForagerParams, ForagerState
from harvestgym.forager.object_kinds import DelayLaw, Kind
from harvestgym.forager.world import ACTION_NAMES

from .events import average_recent, find_events

DOCS: dict[str, str] = read_file(Path(__file__).with_name("tracks.yaml"))
"""The meaning of each variable that is shown, by its name in the record."""


def timeline(env: Forager, record: Record) -> Timeline:
    """Return the steps of a record made by `record_episode`; the view is only in the picture."""
    return Timeline(
        when=[f"step {step}" for step in range(len(record["reward"]))],
        watcher="",
        record={**record, "reward_rate": average_recent(record)},
        tracks=tuple(_track(env, name) for name in DOCS if name in record),
        first=("reward_rate", "biome"),
        actions=tuple(find_events(env, record, 0, len(record["reward"]) - 1)),
        gains=_gains(env, record),
        costs={},
    )


def _track(env: Forager, name: str) -> Track:
    codes = {
        "action": dict(enumerate(ACTION_NAMES)),
        "collided": {-1: "nothing", **dict(enumerate(env.world.names))},
        "biome": {i: region.name for i, region in enumerate(env.world.regions)},
    }
    label, _, unit = name.partition("#")
    return Track(name, "life", label, unit, DOCS[name], codes=codes.get(name, {}))


def _gains(env: Forager, record: Record) -> dict[str, np.ndarray]:
    """Return the rewards by the kind that gave them, or as one series if any kind pays with a delay."""
    if any(kind.pays_after for kind in env.world.kinds):
        return {"reward": record["reward"]}
    pays = {name: np.where(record["collided"] == i, record["reward"], 0) for i, name in enumerate(env.world.names)}
    return {name: values for name, values in pays.items() if values.any()} or {"reward": record["reward"]}


# -- the world ---------------------------------------------------------------------------------------------


def describe(env: Forager) -> list[Table]:
    """Return the tables of `harvestgym show`: kinds, regions, spaces, state and parameters."""
    state = make_fields_table("State", ForagerState, "state")
    params = make_fields_table("Parameters", ForagerParams, "parameters")
    return [_kinds(env), _regions(env), _spaces(env), state, params]


def _kinds(env: Forager) -> Table:
    rows = [(k.name, _collision(k), _worth(k), _return(k)) for k in env.world.kinds]
    return Table("Objects of the world", ("kind", "at a collision", "reward", "comes back"), rows, ("entities",))


def _collision(kind: Kind) -> str:
    words = ["blocks"] * kind.blocking + ["is collected"] * kind.collectable
    return " and ".join(words) or "pays and stays"


def _worth(kind: Kind) -> str:
    noise = f", noise of deviation {kind.noise:g}" if kind.noise else ""
    return f"{kind.reward}{noise}" + (f", paid {kind.pays_after} steps later" if kind.pays_after else "")


def _return(kind: Kind) -> str:
    season = f"; present for {kind.lasts} steps, then absent for {kind.rests}" if kind.lasts else ""
    if not kind.collectable:
        return "stays" + season
    if kind.delay.law is DelayLaw.NEVER:
        return "never" + season
    where = f"to {kind.target}" if kind.place.name == "FIXED" else kind.place.name.lower()
    sign = "to" if kind.delay.law is DelayLaw.UNIFORM else "±"
    return f"after {kind.delay.a} {sign} {kind.delay.b} steps, {where}{season}"


def _regions(env: Forager) -> Table:
    rows = []
    for g in env.world.regions:
        holds = ", ".join(f"{env.world.names[kind]} {count}" for kind, count in g.layers)
        eaten = [f"after {g.renew_eaten} collected"] * bool(g.renew_eaten)
        renewed = " or ".join(eaten + [f"every {g.renew_every} steps"] * bool(g.renew_every))
        rows.append((g.name, f"{g.width} x {g.height} at ({g.x}, {g.y})", holds or "nothing", renewed or "never"))
    return Table(f"Regions, a {env.world.edge}", ("region", "cells", "objects", "renewed"), rows, ("entities",))


def _spaces(env: Forager) -> Table:
    carried = f"; teleported every {env.world.teleport_every} steps" if env.world.teleport_every else ""
    seen = f"{env.mode}, around the agent, rows from north to south"
    return make_spaces_table(env, f"north, east, south, west{carried}", seen)
