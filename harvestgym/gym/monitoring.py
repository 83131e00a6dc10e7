"""What lets the shells be monitored: variables of what is inside, followed into sinks while one plays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harvestgym.core.env import Env
from harvestgym.core.wrappers import unwrapped, unwrapped_state
from harvestgym.render.monitor import Monitor, Watch, of_state, sink_of

from .driver import Driver


class Monitored:
    """A shell around an environment, or a batch of one."""

    core: Env[Any, Any]
    _driver: Driver
    _monitors: tuple[Monitor, ...] = ()

    def add_monitoring(self, variables: Sequence[Any], *sinks: Any) -> Monitor:
        """Follow variables from now on, a reading for each reset and each day (or year, or step).

        Of a batch, numbers are told as mean and band (the quantiles 0.1 and 0.9).

        Args:
            variables: of a farm `(field, entity, variable, function, title, range)` each; of others `(variable,
                function, title, range)` with the key of a variable of the state. `function` makes a number, a matrix
                or an image of the variable (of each farm of a batch); `range` is `(low, high)` or 'range_auto'.
            sinks: of `harvestgym.render.sinks`, or the path of a file `*.png`, `*.csv` or `*.parquet`; a window if
                there is none.

        Returns:
            The monitor; close it, or use it in a `with`, for the sinks to be finished.

        Raises:
            ConfigError: for what is no variable, function or range, with the nearest name; nothing was changed.
        """
        watches = _watches(self.core, variables)
        read = self._driver.reader(lambda state, params: _arrays(self.core, watches, state, params))
        inside: Any = unwrapped(self.core)
        monitor = Monitor(
            watches,
            read,
            [sink_of(sink) for sink in sinks or (None,)],
            batch=hasattr(self, "num_envs"),
            every=getattr(inside, "steps_per_day", 1),
            name=self._title(),
            axis=getattr(inside, "step_unit", "steps"),
        )
        self._monitors = (*self._monitors, monitor)
        return monitor

    def _title(self) -> str:
        spec = getattr(self, "spec", None)
        return getattr(self, "name", None) or ("" if spec is None else spec.id)

    def _tell_begun(self) -> None:
        for monitor in self._monitors:
            monitor.begin()

    def _tell_stepped(self, over: bool) -> None:
        for monitor in self._monitors:
            monitor.step(over)


def _watches(env: Env[Any, Any], variables: Sequence[Any]) -> list[Watch]:
    inside: Any = unwrapped(env)
    return inside.watches(variables) if hasattr(inside, "watches") else of_state(inside, variables)


def _arrays(env: Env[Any, Any], watches: Sequence[Watch], state: Any, params: Any) -> list[Any]:
    inner = unwrapped_state(env, state)
    return [watch.look(inner, params) for watch in watches]
