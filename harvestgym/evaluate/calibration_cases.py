"""Calibration from several starts, as cases of a sweep: each start is a search with another seed, on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from harvestgym.core.view.timeline import Progress, ignore_progress
from harvestgym.registry import MAX_SEED, make
from harvestgym.sweep import LOCAL, EngineOptions, SweepCase, collect
from harvestgym.sweep.user_files import list_user_files

from .calibrate import Fit, Series, fit, fitted
from .run import policy_named

LOSS = "loss"
_MAPPINGS = ("values", "before", "rmse", "rmse_before")
"""Attributes of a `Fit` that are mappings from name to number."""


class CalibrationCase(SweepCase):
    """A search of parameters from one start, see `calibrate.fit`.

    Attributes:
        id: an id, or the path of your own farm file.
        overrides: keyword arguments of `harvestgym.make`, as JSON values.
        free: ranges of the parameters to fit, by path.
        series: days and values of the observations, by the path of the variable.
        policy: name of the policy that acts; None for no action.
        seed: seed of the search, the start; candidates run in the seasons of `fit(seed=0)`.
    """

    runner: ClassVar[str] = "harvestgym.evaluate.calibration_cases:run_calibration_cases"

    id: str
    overrides: dict[str, Any] = {}
    free: dict[str, tuple[float, float]] = Field(min_length=1)
    series: dict[str, tuple[list[int], list[float]]] = Field(min_length=1)
    policy: str | None = None
    seasons: int = Field(default=8, ge=1)
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    members: int = Field(default=8, ge=1)
    generations: int = Field(default=40, ge=1)

    @property
    def labels(self) -> dict[str, Any]:
        return {"id": self.id, "seed": self.seed}

    @property
    def files(self) -> list[Path]:
        return list_user_files(self.id)


def run_calibration_cases(cases: Sequence[CalibrationCase]) -> list[dict[str, np.ndarray]]:
    """Fit the parameters of each case; return a column for each number of a `Fit`, named by attribute."""
    return [_run_case(case) for case in cases]


def _run_case(case: CalibrationCase) -> dict[str, np.ndarray]:
    env: Any = make(case.id, **case.overrides)
    series = [
        Series(name, np.asarray(day), np.asarray(value, np.float32)) for name, (day, value) in case.series.items()
    ]
    policy = None if case.policy is None else policy_named(case.id, env, case.policy)
    found = fit(env, case.free, series, policy, case.seasons, 0, case.members, case.generations, case.seed)
    columns = {LOSS: np.asarray([found.loss])}
    for part in _MAPPINGS:
        columns |= {f"{part} {name}": np.asarray([value]) for name, value in getattr(found, part).items()}
    return columns


def fit_from_starts(
    case: CalibrationCase,
    starts: int,
    work: str | Path | None = None,
    options: EngineOptions = LOCAL,
    progress: Progress = ignore_progress,
) -> list[Fit]:
    """Fit the parameters of a case from several starts; return all fits, by increasing loss.

    Args:
        case: the search; its seed is the seed of the first start.
        starts: number of searches, with consecutive seeds.
        work: folder from which an interrupted calibration continues.
        options: the engine.
        progress: receives 1 for each start.

    Raises:
        ConfigError: for a wrong path or an unknown engine, and like `sweep.collect`.
    """
    cases = [case.model_copy(update={"seed": case.seed + start}) for start in range(starts)]
    env: Any = make(case.id, **case.overrides)
    found = [_read_fit(env, columns) for columns in collect(cases, work, options, progress)]
    return sorted(found, key=lambda one: one.loss)


def _read_fit(env: Any, columns: Mapping[str, np.ndarray]) -> Fit:
    parts: dict[str, dict[str, float]] = {part: {} for part in _MAPPINGS}
    for name, column in columns.items():
        part, _, path = name.partition(" ")
        if part in parts:
            parts[part][path] = float(column[0])
    return Fit(**parts, params=fitted(env, parts["values"]), loss=float(columns[LOSS][0]))
