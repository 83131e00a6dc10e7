"""Batches of cases that run together on one worker, and engine options. If a case fails, each case runs alone."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import group_pairs, load_object
from harvestgym.core.xla.process_checks import free_programs_if_full

from .cases import CallCase, SweepCase

BATCH_ROWS = 1024
"""Maximum number of rows in a batch: they take a few seconds to compute, much longer than sending them takes."""


ENGINES = ("local", "ray")


class EngineOptions(NamedTuple):
    """Options of an engine: where cases run, and how often they are retried.

    Attributes:
        engine: `"local"`, this process, or `"ray"` (extra `ray`).
        address: address of a Ray cluster, `"auto"` or `"HOST:PORT"`; by default Ray starts on this machine.
        max_retries: retries of a case that fails and of a batch whose worker dies; a `ConfigError` is not retried.
        num_cpus, num_gpus: resources of a batch on Ray.
        allow: modules that each process imports, so that files may name their classes.
    """

    engine: str = "local"
    address: str | None = None
    max_retries: int = 3
    num_cpus: float = 1
    num_gpus: float = 0
    allow: tuple[str, ...] = ()


LOCAL = EngineOptions()
"""The default options: run in this process."""


class Outcome(NamedTuple):
    """The result of a case: its columns, or its error message."""

    columns: dict[str, np.ndarray] | None
    error: str = ""


def make_batches(cases: Iterable[SweepCase], rows: int = BATCH_ROWS) -> list[list[SweepCase]]:
    """Group cases by batch key, in the order of the keys, and split the groups into batches of at most `rows` rows."""
    groups = group_pairs(((type(case), case.batch_key), case) for case in cases)
    batches: list[list[SweepCase]] = []
    for members in groups.values():
        filled = rows
        for case in members:
            if filled >= rows:
                batches.append([])
                filled = 0
            batches[-1].append(case)
            filled += case.size
    return batches


def run_batch(texts: Sequence[str], max_retries: int) -> list[Outcome]:
    """Run the cases of a batch, given as JSON text; if one fails, run each alone."""
    free_programs_if_full()
    try:
        return [Outcome(columns) for columns in _run_together(texts)]
    except Exception as error:
        if len(texts) > 1:
            return [run_batch([text], max_retries)[0] for text in texts]
        if max_retries > 0 and not isinstance(error, ConfigError):
            return run_batch(texts, max_retries - 1)
        return [Outcome(None, format_failure(error))]


def _run_together(texts: Sequence[str]) -> list[Any]:
    cases = [SweepCase.from_text(text) for text in texts]
    found = load_object(type(cases[0]).runner)(cases)
    if len(found) != len(cases):
        raise RuntimeError(f"{type(cases[0]).runner}: expected columns of {len(cases)} cases, got {len(found)}")
    return found


def run_calls(cases: Sequence[CallCase]) -> list[dict[str, np.ndarray]]:
    """Call the function of each case."""
    return [load_object(case.function)(**case.arguments) for case in cases]


def format_failure(error: BaseException) -> str:
    """Format an exception on one line; unless it is a user error, include the place where it was raised."""
    text = f"{error}" if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if frames and not isinstance(error, ConfigError):
        text += f" ({frames[-1].filename}:{frames[-1].lineno})"
    return " ".join(text.split())
