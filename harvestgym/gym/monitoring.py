"""Monitoring of Gymnasium environments: variables of the state, written to sinks while the environment runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harvestgym.core.env import Env
from harvestgym.core.wrappers import unwrapped, unwrapped_state
from harvestgym.render.monitor import Monitor, make_sink, watch_state
from harvestgym.render.readings import Watch

from .driver import CompiledEnv
from .episode_log import family_of


class Monitored:
    """A Gymnasium environment, or a batch, whose variables can be monitored."""

    core: Env[Any, Any]
    _compiled: CompiledEnv
    monitors: tuple[Monitor, ...] = ()

    def add_monitoring(self, variables: Sequence[Any], *sinks: Any) -> Monitor:
        """Monitor variables from now on, with a reading for each reset and each day (or year, or step).

        In a batch, numbers are reported as mean and quantiles 0.1 and 0.9.

        Args:
            variables: for farms `(field, entity, variable, function, title, range)`; for others `(variable, function,
                title, range)`, with the key of a state variable. `function` returns a number, a matrix or an image
                from the variable (of each farm of a batch); `range` is `(low, high)` or 'range_auto'.
            sinks: sinks of `harvestgym.render.sinks`, or paths `*.png`, `*.csv` or `*.parquet`; by default a window.

        Returns:
            The monitor; close it, or use it in a `with` block, to finish the sinks.

        Raises:
            ConfigError: for an invalid variable, function or range, with the nearest name; nothing is changed.
        """
        core, inside = self.core, unwrapped(self.core)
        watches = _make_watches(inside, variables)

        def read(state: Any, params: Any) -> list[Any]:
            inner = unwrapped_state(core, state)
            return [watch.read(inner, params) for watch in watches]

        monitor = Monitor(
            watches,
            self._compiled.make_reader(read),
            [make_sink(sink) for sink in sinks or (None,)],
            batch=hasattr(self, "num_envs"),
            every=getattr(inside, "steps_per_day", 1),
            name=self._title(),
            axis=getattr(inside, "step_unit", "steps"),
        )
        self.monitors = (*self.monitors, monitor)
        return monitor

    def _title(self) -> str:
        spec = getattr(self, "spec", None)
        return getattr(self, "name", None) or ("" if spec is None else spec.id)

    def _notify_reset(self) -> None:
        for monitor in self.monitors:
            monitor.begin()

    def _notify_step(self, over: bool) -> None:
        for monitor in self.monitors:
            monitor.step(over)


def _make_watches(env: Any, variables: Sequence[Any]) -> list[Watch]:
    """Make watches from the variable names of the family of `env`, or from the keys of its state."""
    return getattr(family_of(type(env)), "watch_variables", watch_state)(env, variables)
