"""The tables that describe a foraging world."""

from __future__ import annotations

from harvestgym.core.view.tables import Table, make_fields_table
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.jax_engine.state import ForagerParams, ForagerState
from harvestgym.forager.kinds import Delay, DelayLaw, Kind


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
    season = f"; stands {kind.lasts} steps, then is gone for {kind.rests}" if kind.lasts else ""
    if not kind.collectable:
        return "stays" + season
    where = "to " + str(kind.target) if kind.place.name == "FIXED" else kind.place.name.lower()
    return ("never" if kind.delay.law is DelayLaw.NEVER else f"{_steps(kind.delay)}, {where}") + season


def _steps(delay: Delay) -> str:
    if delay.law is DelayLaw.UNIFORM:
        return f"after {delay.a} to {delay.b} steps"
    return f"after {delay.a} ± {delay.b} steps"


def _regions(env: Forager) -> Table:
    rows = []
    for g in env.world.regions:
        holds = ", ".join(f"{env.world.names[kind]} {count}" for kind, count in g.layers)
        eaten = [f"after {g.renew_eaten} collected"] * bool(g.renew_eaten)
        renewed = " or ".join(eaten + [f"every {g.renew_every} steps"] * bool(g.renew_every))
        rows.append((g.name, f"{g.width} x {g.height} at ({g.x}, {g.y})", holds or "nothing", renewed or "never"))
    return Table(f"Regions, a {env.world.edge}", ("region", "cells", "objects", "renewed"), rows, ("entities",))


def _spaces(env: Forager) -> Table:
    carried = f"; carried off every {env.world.teleport_every} steps" if env.world.teleport_every else ""
    rows = [
        ("action", str(env.action_space), f"north, east, south, west{carried}"),
        ("observation", str(env.observation_space), f"{env.mode}, the agent in the centre of rows north to south"),
    ]
    return Table("Action and observation", ("name", "space", "meaning"), rows, ("actions", "observations"))
