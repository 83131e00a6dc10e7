"""Base class of `GymEnv` and `VecEnv`: the compiled environment, its parameters, run state, monitors and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from gymnasium.error import ResetNeeded

from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env, check_core, make_env_table
from harvestgym.core.errors import ConfigError, check_keywords, unknown
from harvestgym.core.saving.state import Savable
from harvestgym.core.wrappers import find_layer, unwrapped, unwrapped_state
from harvestgym.render.sinks import make_sink

from .conversion import make_action_reader, make_observation_writer
from .driver import CompiledEnv
from .episode_log import EpisodeLog, scene_modes
from .monitoring import Monitor, make_watches

Info = dict[str, Any]
Options = dict[str, Any] | None

_NOT_KEPT = ("_read", "_write", "_checker", "monitors")


class GymBase(Savable):
    """An environment, or a batch of environments on the device, behind a Gymnasium class.

    Attributes:
        core: the functional environment.
        episode_log: the frames of the episode; None unless the `render_mode` draws episodes.
    """

    core: Env[Any, Any]
    episode_log: Any
    metadata: Info
    monitors: tuple[Monitor, ...] = ()
    render_mode: str | None

    def __repr__(self) -> str:
        """Return the id, if there is one, and the wrapped environment."""
        spec, number = getattr(self, "spec", None), getattr(self, "num_envs", None)
        parts = [spec and spec.id, number and f"num_envs={number}", repr(self.core)]
        return f"<{type(self).__name__}: {', '.join(str(part) for part in parts if part)}>"

    def _repr_html_(self) -> str:
        """Return a small table for notebooks: the id, the structure and the spaces."""
        spec, number = getattr(self, "spec", None), getattr(self, "num_envs", None)
        more = {"id": spec and spec.id, "environments": number, "render_mode": self.render_mode}
        return make_env_table(type(self).__name__, self.core, **more)._repr_html_()

    def _wrap(self, env: Env[Any, Any], params: Any, batch: tuple[int, ...], render_mode: str | None) -> None:
        """Set the wrapped environment."""
        name = type(self).__name__
        check_core(env, name)
        if params is not None:
            _check_params(params, env.params, f"{name} > params")
        own: tuple[str, ...] = getattr(unwrapped(env), "render_modes", ())
        offered = list(dict.fromkeys((*own, *scene_modes(env))))
        if render_mode is not None and not offered:
            check_keywords(name, ["render_mode"], [])
        if render_mode is not None and (not isinstance(render_mode, str) or render_mode not in offered):
            raise unknown("render_mode", render_mode, [*offered, "None"])
        self.core, self.render_mode = env, render_mode
        self.metadata = {"render_modes": offered, "render_fps": getattr(unwrapped(env), "render_fps", 4)}
        self.episode_log = None
        if render_mode is not None and render_mode not in own:
            self.episode_log = EpisodeLog(env, *batch)
        self._compiled = CompiledEnv(env, params, batch)
        self._prepare()

    def _prepare(self) -> None:
        """Set derived attributes."""
        batch = self._compiled.batch
        self._read = make_action_reader(self.core.action_space, batch)
        self._write = make_observation_writer(self.core.observation_space, batch)
        self._checker: Any = find_layer(self.core, "check_choice")

    @property
    def action_masks(self) -> Callable[[], np.ndarray]:
        """Return the function that masks impossible actions; AttributeError if the environment has none."""
        if not self._compiled.offers_mask:
            raise AttributeError(f"{type(self).__name__}: expected an environment with action_mask, got none")
        return self._compiled.mask

    def _check_choices(self, action: Any, waiting: Any = False) -> None:
        """Raise ConfigError for a masked action, if the environment has `check_choice(mask, action, waiting)`.

        Environments waiting for their next episode ignore their action.
        """
        if self._checker is not None:
            self._checker.check_choice(self._compiled.mask(), action, waiting)

    def clone(self) -> Self:
        """Return an independent copy in mid-episode, within microseconds, for tree search.

        The copy shares everything that steps do not change: programs, parameters, spaces and `np_random`.
        `copy.deepcopy` and `pickle` also copy the spaces and `np_random`, so that they draw the same samples. Copies
        have no monitors.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._compiled, twin.monitors = copy(self._compiled), ()
        if self.episode_log is not None:
            twin.episode_log = deepcopy(self.episode_log)
        return twin

    __copy__ = clone

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for deep copies and pickles: everything except monitors and the results of `_prepare`."""
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_KEPT}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept)
        self._prepare()

    def recipe(self) -> Info:
        return {"env": self.core} | super().recipe()

    def restore(self, kept: Mapping[str, Any]) -> Self:
        super().restore(kept)
        self._clear_log()
        return self

    @property
    def params(self) -> Any:
        """The current parameters, shared by a whole batch; assign parameters of the same shapes to change them."""
        return self._compiled.params

    @params.setter
    def params(self, params: Any) -> None:
        _check_params(params, self._compiled.params, "params")
        self._compiled.params = params

    @property
    def run_state(self) -> RunState:
        """State and key as a pytree, with a leading axis for a batch; assign a run state to continue from it."""
        return self._compiled.run_state

    @run_state.setter
    def run_state(self, run: RunState) -> None:
        self._compiled.run_state = run
        self._accept_run_state(run)

    def _accept_run_state(self, run: RunState) -> None:
        """Update attributes that depend on an assigned run state."""
        self._clear_log()

    def _log(self, action: Any, shown: Any, which: np.ndarray | None = None) -> None:
        """Record a step of an environment, or of the environments in `which` for a batch."""
        if self.episode_log is not None:
            self.episode_log.add(self._compiled.run_state.state, action, shown, self._compiled.params, which)

    def _clear_log(self, which: np.ndarray | None = None) -> None:
        if self.episode_log is not None:
            self.episode_log.clear(which)

    def _ensure_logged_start(self) -> None:
        if self.episode_log is not None:
            self.episode_log.ensure_start(self._compiled.run_state, self._compiled.params)

    def _set_params(self, options: Options, valid: tuple[str, ...]) -> None:
        """Set the parameters from reset options; ConfigError for an invalid option."""
        for name in options or {}:
            if name not in valid:
                raise unknown("reset option", name, valid)
        if options and "params" in options:
            self.params = options["params"]

    def add_monitoring(self, variables: Sequence[Any], *sinks: Any) -> Monitor:
        """Monitor variables from now on, with a reading at each reset and each day (or year, or step).

        For a batch, numbers are reported as the mean and the 0.1 and 0.9 quantiles.

        Args:
            variables: for farms `(field, entity, variable, function, title, range)`; for others `(variable, function,
                title, range)`, with the key of a state variable. `function` returns a number, a matrix or an image
                from the variable (of each farm in a batch); `range` is `(low, high)` or 'range_auto'.
            sinks: sinks from `harvestgym.render.sinks`, or paths `*.png`, `*.csv` or `*.parquet`; a window by default.

        Returns:
            The monitor; close it or use it in a `with` block to finish the sinks.

        Raises:
            ConfigError: for an invalid variable, function or range, with the nearest valid name; nothing is changed.
        """
        core, inside = self.core, unwrapped(self.core)
        spec = getattr(self, "spec", None)
        watches = make_watches(inside, variables)

        def read(state: Any, params: Any) -> list[Any]:
            inner = unwrapped_state(core, state)
            return [watch.read(inner, params) for watch in watches]

        monitor = Monitor(
            watches,
            self._compiled.make_reader(read),
            [make_sink(sink) for sink in sinks or (None,)],
            batch=hasattr(self, "num_envs"),
            every=getattr(inside, "steps_per_day", 1),
            name=getattr(self, "name", None) or ("" if spec is None else spec.id),
            axis=getattr(inside, "step_unit", "steps"),
        )
        self.monitors = (*self.monitors, monitor)
        return monitor

    def _notify_reset(self) -> None:
        for monitor in self.monitors:
            monitor.begin()

    def _notify_step(self) -> None:
        for monitor in self.monitors:
            monitor.step()

    def render(self) -> Any:
        """Render the environment, or each environment in a batch, in its `render_mode`; None if there is none."""
        if self.render_mode is None:
            return None
        if not self._compiled.begun:
            raise ResetNeeded("render: expected an episode, got none; try reset() first")
        if self.episode_log is None:
            return self._draw(self._compiled.run_state.state)
        self._ensure_logged_start()
        return self.episode_log.render(self.render_mode)

    def _draw(self, state: Any) -> Any:
        """Draw a state with the wrapped environment."""
        inside: Any = unwrapped(self.core)
        return inside.render(unwrapped_state(self.core, state), self.params, self.render_mode)


def _check_params(params: Any, own: Any, where: str) -> None:
    """Raise ConfigError unless the parameters have the same class as the environment's own."""
    if not isinstance(params, type(own)):
        expected = f"an object of the class {type(own).__name__}"
        raise ConfigError(f"{where}: expected {expected}, got {params!r}; try replace(env.params, ...)")
