"""The Ray engine: each batch is a task on a Ray cluster; Ray retries a batch if its worker dies.

Tasks receive JSON and return arrays; files are written by the process that started the sweep, so the machines need no
shared folder. Needs the extra `ray`.
"""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from harvestgym.core.errors import check_extras, mismatch
from harvestgym.core.loading import allow_modules

from .batches import EngineOptions, Outcome, format_failure, run_batch
from .cases import SweepCase

CONNECT_SECONDS = 10

Batch = Sequence[SweepCase]


def run_on_ray(batches: Sequence[Batch], options: EngineOptions) -> Iterator[tuple[Batch, list[Outcome]]]:
    """Run batches as tasks; yield each with its outcomes, in the order in which they finish."""
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
