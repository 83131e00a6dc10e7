"""The timeline of a recorded fishery: stocks, surveys, catches and rewards, year by year."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from harvestgym.core.view.events import Event
from harvestgym.core.view.timeline import Record, Timeline, Track, name_parts
from harvestgym.core.yaml_io import read_file
from harvestgym.fishing.conservation import DriverModel, RecoveryModel
from harvestgym.fishing.model import FishingModel

from .events import find_events
from .levels import find_levels, find_requests, join_numbers
from .stock_maps import name_stocks

UNITS = {"stock": "", "biomass": "", "catch": "/year"}
"""The ends of units, after that of biomass: the file's, or K if it is 1; otherwise there is no unit."""

TRACK_DOCS: dict[str, str] = read_file(Path(__file__).with_name("tracks.yaml"))
"""The meaning of each variable that is shown, by its name in the record."""


def timeline(env: FishingModel, record: Record) -> Timeline:
    """Return the timeline of a record made by `record_episode`, by year."""
    kept = [name for name in TRACK_DOCS if name in record and (name not in ("catch", "rate") or record[name].any())]
    spent = None  # the cost of effort in each year; None if the reward is not the value of a catch
    if not isinstance(env, RecoveryModel):
        spent = (float(env.params.cost) * np.asarray(env.effort(jnp.asarray(record["rate"])))).sum(1)
    watched = "stock" if record["seen"].shape == record["stock"].shape else "biomass"
    return Timeline(
        when=[f"year {year}" for year in range(len(record["reward"]))],
        watcher="the manager",
        record=record,
        tracks=tuple(_track(env, record, name, watched) for name in kept),
        first=tuple(name for name in (watched, "catch") if name in kept),
        actions=tuple(_actions(env, record)),
        gains={"net worth": record["reward"]} if spent is None else {"catch": record["reward"] + spent},
        costs={"effort": spent} if spent is not None and spent.any() else {},
        events=tuple(find_events(env, record, 0, len(record["reward"]) - 1)),
    )


def _track(env: FishingModel, record: Record, name: str, watched: str) -> Track:
    values = record[name]
    parts = name_stocks(env)[: values.shape[1]] if values.ndim > 1 else ()
    parts = parts if len(parts) == values[0].size else name_parts(values.shape[1:])
    surveyed = record["seen"][:, : values[0].size].reshape(values.shape) if name == watched else None
    shown = {"catch", "rate", *(["driver"] if isinstance(env, DriverModel) and env.shows_driver else [])}
    known = surveyed is not None or name in shown
    unit = env.units.unit or "K" * (abs(find_levels(env).stock.get("K", np.nan) - 1) < 1e-6)
    unit = f"{unit}{UNITS[name]}" if unit and name in UNITS else ""
    return Track(name, "fishery", name, unit, TRACK_DOCS[name], parts, {}, np.full(values.shape, known), surveyed)


def _actions(env: FishingModel, record: Record) -> Iterator[Event]:
    wanted, fished = find_requests(env, record), not isinstance(env, RecoveryModel)
    asked = env.units.control if fished else "action"
    for year in range(1, len(wanted)):
        note = f"caught {join_numbers(record['catch'][year], '{:.3g}')}" if fished else ""
        yield Event(year, "ordered", f"{asked} {join_numbers(wanted[year], '{:.3g}')}", note)
