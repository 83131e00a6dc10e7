"""Options of the sweep engines: where cases run, and how often they are retried."""

from __future__ import annotations

from typing import NamedTuple

ENGINES = ("local", "ray")


class EngineOptions(NamedTuple):
    """Options of an engine.

    Attributes:
        engine: `"local"`, this process, or `"ray"` (extra `ray`).
        address: of a Ray cluster, `"auto"` or `"HOST:PORT"`; by default Ray starts on this machine.
        max_retries: retries of a case that fails and of a batch whose worker dies; a `ConfigError` is not retried.
        num_cpus, num_gpus: resources of a batch on Ray.
    """

    engine: str = "local"
    address: str | None = None
    max_retries: int = 3
    num_cpus: float = 1
    num_gpus: float = 0


LOCAL = EngineOptions()
"""The default options: run in this process."""
