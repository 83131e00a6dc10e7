"""The engines of a sweep: batches of cases run in this process, or as tasks on a Ray cluster.

Both give the same rows: batches affect neither the random numbers of a case nor the compiled shapes. On Ray (extra
`ray`), tasks receive JSON and return arrays; files are written by the process that started the sweep, so the machines
need no shared folder.
"""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from harvestgym.core.errors import ConfigError, check_extras, check_name, mismatch, require
from harvestgym.core.loading import allow_modules
from harvestgym.core.view.timeline import Progress, ignore_progress

from . import result_folder
from .batches import ENGINES, LOCAL, EngineOptions, Outcome, format_failure, make_batches, run_batch
from .cases import SweepCase


class SweepReport(NamedTuple):
    """The outcome of a sweep: the numbers of cases in total, already done and run, and the messages of failures."""

    total: int
    found: int
    ran: int
    failures: dict[SweepCase, str]


def sweep(
    cases: Sequence[SweepCase], out: str | Path, options: EngineOptions = LOCAL, progress: Progress = ignore_progress
) -> SweepReport:
    """Run the cases that have no file in the folder `out` yet, and write one Parquet file for each.

    If the same sweep runs again after an interruption, only the missing cases run.

    Args:
        cases: the cases; equal ones run once.
        out: the folder.
        options: where the cases run.
        progress: receives the number of cases that were found, run or failed since the last call.

    Raises:
        ConfigError: for no cases, an unknown engine, an address without a cluster, or a missing extra.
    """
    errors: dict[SweepCase, str | None] = {}  # None for a case that was found
    for case, outcome in _run_into_folder(_check_input(cases, options), Path(out), options):
        errors[case] = None if outcome is None else outcome.error
        progress(1)
    failures = {case: error for case, error in errors.items() if error}
    found = sum(error is None for error in errors.values())
    return SweepReport(len(errors), found, len(errors) - found - len(failures), failures)


def run_cases(
    cases: Sequence[SweepCase], out: str | Path | None = None, options: EngineOptions = LOCAL
) -> Iterator[tuple[SweepCase, Outcome]]:
    """Run cases and yield each with its outcome as it finishes.

    Args:
        cases: the cases; equal ones run once.
        out: folder of a resumable sweep, whose finished cases come first; None to store nothing, which needs no extra.
        options: where the cases run.

    Raises:
        ConfigError: as for `sweep`. A case that fails raises no error, and its outcome has no columns.
    """
    chosen = _check_input(cases, options)
    if out is None:
        yield from _run_batches(chosen, options)
        return
    for case, outcome in _run_into_folder(chosen, Path(out), options):
        yield case, outcome or Outcome(result_folder.read_result(Path(out), case))


def collect(
    cases: Sequence[SweepCase],
    out: str | Path | None = None,
    options: EngineOptions = LOCAL,
    progress: Progress = ignore_progress,
) -> list[dict[str, np.ndarray]]:
    """Run cases like `run_cases`, and return the columns of each, in order.

    Raises:
        ConfigError: as for `sweep`, and if cases fail, with the message of each.
    """
    done: dict[SweepCase, dict[str, np.ndarray]] = {}
    failures: list[str] = []
    for case, outcome in run_cases(cases, out, options):
        done[case] = outcome.columns or {}
        failures += [f"{case}: {outcome.error}"] if outcome.columns is None else []
        progress(1)
    if failures:
        raise ConfigError("\n  ".join([f"cases: expected all to succeed, got {len(failures)} that failed", *failures]))
    return [done[case] for case in cases]


def _check_input(cases: Sequence[SweepCase], options: EngineOptions) -> list[SweepCase]:
    """Check the options, allow their modules, and return the cases without duplicates."""
    check_name("engine", options.engine, ENGINES)
    allow_modules(options.allow)
    require(cases, "cases", "at least one", "none")
    return list(dict.fromkeys(cases))


def _run_into_folder(
    cases: list[SweepCase], out: Path, options: EngineOptions
) -> Iterator[tuple[SweepCase, Outcome | None]]:
    """Run the cases that are missing in a folder and write each; a case that cannot be written counts as failed.

    The cases that are in the folder come first, without an outcome.
    """
    result_folder.open_folder(out)
    result_folder.write_manifest(out, cases, {})
    done = {case: result_folder.is_complete(result_folder.find_result_path(out, case)) for case in cases}
    yield from ((case, None) for case in cases if done[case])
    missing, failures = [case for case in cases if not done[case]], dict[SweepCase, str]()
    try:
        for case, outcome in _run_batches(missing, options):
            if message := _store(out, case, outcome, options.max_retries):
                failures[case] = message
                outcome = Outcome(None, message)
            yield case, outcome
    finally:
        result_folder.write_manifest(out, cases, failures)


def _run_batches(cases: list[SweepCase], options: EngineOptions) -> Iterator[tuple[SweepCase, Outcome]]:
    """Run cases in batches; yield each with its outcome, in the order in which the batches finish."""
    batches = make_batches(cases)
    if options.engine == "ray":
        done = run_on_ray(batches, options)
    else:
        done = ((batch, run_batch([case.text for case in batch], options.max_retries)) for batch in batches)
    for batch, outcomes in done:
        yield from zip(batch, outcomes, strict=True)


def _store(out: Path, case: SweepCase, outcome: Outcome, retries: int) -> str:
    """Write the columns of a case; return the error message from running or writing it."""
    if outcome.columns is None:
        return outcome.error
    try:
        result_folder.write_result(out, case, outcome.columns)
    except Exception as error:
        return _store(out, case, outcome, retries - 1) if retries > 0 else format_failure(error)
    return ""


# -- Ray -----------------------------------------------------------------------------------------------------

CONNECT_SECONDS = 10

Batch = Sequence[SweepCase]


def run_on_ray(batches: Sequence[Batch], options: EngineOptions) -> Iterator[tuple[Batch, list[Outcome]]]:
    """Run batches as tasks; yield each with its outcomes, in the order in which they finish.

    Ray retries a batch if its worker dies.
    """
    ray, started = _connect(options.address)
    try:
        task = ray.remote(_run_task).options(
            num_cpus=options.num_cpus, num_gpus=options.num_gpus, max_retries=options.max_retries
        )
        running = {task.remote([case.text for case in batch], options): batch for batch in batches}
        while running:
            for done in ray.wait(list(running), num_returns=1)[0]:
                batch = running.pop(done)
                yield batch, _get_outcomes(ray, done, batch)
    finally:
        if started:
            ray.shutdown()


def _connect(address: str | None) -> tuple[Any, bool]:
    """Return the Ray module, and whether this call connected it; raise ConfigError without Ray or a cluster."""
    check_extras("engine 'ray'", ray="ray")
    ray = import_module("ray")
    if ray.is_initialized():
        return ray, False
    try:
        _check_reachable(address)
        with warnings.catch_warnings():
            # a fork is safe with JAX if an exec follows
            warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
            dashboard = False if address is None else None
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=dashboard)
    except (OSError, ValueError, RuntimeError) as error:
        got = f"{address!r} ({' '.join(str(error).split())})"
        hint = "`ray start --head` there, or no address to run on this machine"
        raise mismatch("address", "a running Ray cluster", got, hint) from None
    return ray, True


def _check_reachable(address: str | None) -> None:
    """Raise OSError if nothing listens at HOST:PORT, because Ray itself would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit() and "//" not in host:
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()


def _get_outcomes(ray: Any, done: Any, batch: Batch) -> list[Outcome]:
    try:
        return ray.get(done)
    except ray.exceptions.RayError as error:
        return [Outcome(None, format_failure(error))] * len(batch)


def _run_task(texts: Sequence[str], options: EngineOptions) -> list[Outcome]:
    """Run a batch on a worker; XLA uses only the CPUs of the task."""
    os.environ.setdefault("NPROC", str(max(1, int(options.num_cpus))))
    allow_modules(options.allow)
    return run_batch(texts, options.max_retries)
