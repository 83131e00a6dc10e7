"""Base class of `GymEnv` and `VecEnv`: the compiled environment, its parameters, run state, monitors and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Self

import jax
import numpy as np
from gymnasium.error import ResetNeeded

from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env, check_core, make_env_table
from harvestgym.core.errors import check_keywords, check_name, mismatch, unknown, warn_user
from harvestgym.core.saving.checkpoint import Savable, from_arrays, to_arrays
from harvestgym.core.spaces import make_action_reader, make_observation_writer
from harvestgym.core.wrappers import find_layer, rewrap, unwrapped, unwrapped_state
from harvestgym.core.xla.process_checks import check_process, note_use
from harvestgym.core.xla.setup import set_up_jax
from harvestgym.render import DEFAULT_WIDTH, RENDER_MODES
from harvestgym.render.monitor_sinks import make_sink

from .compiled_env import CompiledFunction, compile_functions
from .episode_log import EpisodeLog, family_of
from .monitoring import Monitor, make_watches
from .packed_tree import PackedTree, layout_of

Info = dict[str, Any]
Options = dict[str, Any] | None
EpisodeStart = tuple[CompiledFunction, PackedTree]
"""The program that starts an episode, and its parameters."""

_NOT_KEPT = ("_layout", "_programs", "_packed_params", "_shown_mask", "_read", "_write", "_checker", "monitors")
_SHARED = (*_NOT_KEPT, "_kept", "_params")
"""Attributes that are not pickled, and attributes that copies share, because steps replace but never modify them."""


class GymBase(Savable):
    """The common base of Gymnasium classes for an environment, or for a batch of environments on the device.

    Attributes:
        core: the functional environment.
        episode_log: the frames of the episode; None unless the `render_mode` draws episodes.
        render_width: the width of "rgb_array", px; below 320, a square picture without text.
    """

    core: Env[Any, Any]
    episode_log: Any
    metadata: Info
    monitors: tuple[Monitor, ...] = ()
    render_mode: str | None
    render_width: int = DEFAULT_WIDTH

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
        offered = list(RENDER_MODES) if family_of(type(unwrapped(env))) else []
        if render_mode is not None and not offered:
            check_keywords(name, ["render_mode"], [])
        if render_mode is not None and (not isinstance(render_mode, str) or render_mode not in offered):
            raise unknown("render_mode", render_mode, [*offered, "None"])
        self.core, self.render_mode = env, render_mode
        self.metadata = {"render_modes": offered, "render_fps": getattr(unwrapped(env), "render_fps", 4)}
        self.episode_log = None if render_mode is None else EpisodeLog(env, *batch)
        self._batch, self._params = batch, env.params if params is None else params
        self._begun = False
        self._prepare()
        self._kept: Any = self._programs.zeros

    def _prepare(self) -> None:
        """Set derived attributes: programs, packed parameters, and conversions between NumPy and the device."""
        note_use()
        self._layout = layout_of(self._params)
        self._programs = compile_functions(self.core, self._layout, self._batch)
        self._packed_params, self._shown_mask = self._layout.put(self._params), None
        self._read = make_action_reader(self.core.action_space, self._batch)
        self._write = make_observation_writer(self.core.observation_space, self._batch)
        self._checker: Any = find_layer(self.core, "check_choice")

    def _start(
        self, seeds: np.ndarray, seeded: np.ndarray, which: np.ndarray, other: EpisodeStart | None = None
    ) -> Any:
        """Start episodes for `which`, from `seeds` (uint32) where `seeded`, elsewhere from the environments' own keys.

        `other` may replace the program and its parameters until the first observation.

        Returns a Timestep with Python numbers (arrays for a batch), like `_step`.
        """
        check_process()
        start, params = other or (self._programs.start, self._packed_params)
        self._kept = start(self._kept, params, seeds, seeded, which)
        self._begun = True
        return self._read_timestep()

    def _step(self, action: Any) -> Any:
        """Step every environment whose episode is not over; `action` comes from `core.spaces.make_action_reader`."""
        self._kept = self._programs.step(self._kept, self._packed_params, action)
        return self._read_timestep()

    def _read_timestep(self) -> Any:
        """Read the Timestep, and store the action mask if a single environment's observation contains it."""
        shown = self._programs.read(self._kept)
        if not self._batch and getattr(self.core, "shows_mask", False):
            self._shown_mask = jax.tree.map(np.array, shown.obs["mask"])
        return shown

    def _mask(self) -> Any:
        """Return a bool mask of the currently possible actions; a dict of arrays if an action has parts."""
        mask, shown = self._programs.mask, self._shown_mask
        assert mask is not None, "the environment has no action_mask"
        shown = jax.device_get(mask(self._kept, self._packed_params)) if shown is None else shown
        return jax.tree.map(np.array, shown)

    @property
    def action_masks(self) -> Callable[[], np.ndarray]:
        """Return the function that masks impossible actions; raise AttributeError if the environment has none."""
        if self._programs.mask is None:
            raise AttributeError(f"{type(self).__name__}: expected an environment with action_mask, got one without it")
        return self._mask

    def _check_choices(self, action: Any, waiting: Any = False) -> None:
        """Raise ConfigError for a masked action, if the environment has `check_choice(mask, action, waiting)`.

        Environments waiting for their next episode ignore their action.
        """
        if self._checker is not None:
            self._checker.check_choice(self._mask(), action, waiting)

    def clone(self) -> Self:
        """Return an independent copy in the middle of an episode, for tree search; this takes microseconds.

        The copy shares everything that steps do not change: programs, parameters, spaces and `np_random`.
        `copy.deepcopy` and `pickle` also copy the spaces and `np_random`, so that the copy draws the same samples.
        Copies have no monitors.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.monitors = ()
        if self.episode_log is not None:
            twin.episode_log = deepcopy(self.episode_log)
        return twin

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = memo[id(self)] = self.clone()
        own = {name: value for name, value in self.__dict__.items() if name not in _SHARED}
        twin.__dict__.update(deepcopy(own, memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles: everything except monitors and the results of `_prepare`."""
        kept = {name: value for name, value in self.__dict__.items() if name not in _NOT_KEPT}
        return kept | jax.device_get({"_kept": self._kept, "_params": self._params})

    def __setstate__(self, kept: dict[str, Any]) -> None:
        set_up_jax()
        self.__dict__.update(kept)
        self._prepare()

    def recipe(self) -> Info:
        return {"env": self.core} | super().recipe()

    def kept(self) -> Info:
        now = {"run_state": to_arrays(self.run_state), "params": to_arrays(self._params), "_begun": self._begun}
        return now | super().kept()

    def restore(self, kept: Mapping[str, Any]) -> Self:
        run = from_arrays(kept["run_state"], jax.eval_shape(self._programs.unpack, self._kept), "state")
        self.params = from_arrays(kept["params"], self._params, "params")
        self._kept, self._begun = self._programs.put(run), kept["_begun"]
        super().restore(kept)
        self._log_start_at(run)
        return self

    @property
    def params(self) -> Any:
        """The current parameters, shared by a whole batch; assign parameters of the same shapes to change them."""
        return self._params

    @params.setter
    def params(self, params: Any) -> None:
        _check_params(params, self._params, "params")
        self._packed_params = self._layout.put(params)
        self._params, self._shown_mask = params, None

    @property
    def run_state(self) -> RunState:
        """State and key as a pytree, with a leading axis for a batch; assign a run state to continue from it."""
        return self._programs.unpack(self._kept)

    @run_state.setter
    def run_state(self, run: RunState) -> None:
        self._kept, self._shown_mask, self._begun = self._programs.put(run), None, True
        self._accept_run_state(run)

    def _accept_run_state(self, run: RunState) -> None:
        """Update attributes that depend on an assigned run state."""
        self._log_start_at(run)

    def _log(self, action: Any, shown: Any, which: np.ndarray | None = None) -> None:
        """Record a step or, without an action, the start of an episode; `which` selects environments of a batch."""
        if self.episode_log is not None:
            self.episode_log.add(self.run_state.state, action, shown, self.params, which)

    def _log_start_at(self, run: RunState) -> None:
        if self.episode_log is not None:
            self.episode_log.start_at(run, self.params)

    def _set_params(self, options: Options, valid: tuple[str, ...]) -> EpisodeStart | None:
        """Set the parameters from reset options; raise ConfigError for an invalid option, and nothing is changed.

        Returns the program and the parameters that start one episode, if the options include any of the environment's
        `reset_options`. The environment's `set_options(params, options)` returns an environment with the same states,
        and the parameters that it starts with; if this is the environment itself, nothing is recompiled.
        """
        check_options(options)
        if not options:
            return None
        inside: Any = unwrapped(self.core)
        own = getattr(inside, "reset_options", ())
        for name in options:
            check_name("reset option", name, (*valid, *own))
        given = {name: value for name, value in options.items() if name in own}
        params = options.get("params", self._params)
        _check_params(params, self._params, "params")
        start = self._make_start(*inside.set_options(params, given)) if given else None
        if "params" in options:
            self.params = params
        return start

    def _make_start(self, inside: Env[Any, Any], params: Any) -> EpisodeStart:
        env, layout = rewrap(self.core, inside), layout_of(params)
        same = (env, layout) == (self.core, self._layout)
        programs = self._programs if same else compile_functions(env, layout, self._batch)
        return programs.start, layout.put(params)

    def add_monitoring(self, variables: Sequence[Any], *sinks: Any) -> Monitor:
        """Monitor variables from now on, with a reading at each reset and after each day (or year, or step).

        For a batch, numbers are reported as the mean and the 0.1 and 0.9 quantiles.

        Args:
            variables: for farms `(field, entity, variable, function, title, range)`; for other families `(variable,
                function, title, range)`, where `variable` is the key of a state variable. `function` maps the variable
                (of each environment in a batch) to a number, a matrix or an image; `range` is `(low, high)` or
                'range_auto'.
            sinks: sinks from `harvestgym.render.monitor_sinks`, or paths `*.png` or `*.csv`; by default a window.

        Returns:
            The monitor; close it or use it in a `with` block to finish the sinks.

        Raises:
            ConfigError: for an invalid variable, function or range, with the nearest valid name; nothing is changed.
        """
        core, inside = self.core, unwrapped(self.core)
        spec = getattr(self, "spec", None)
        watches = make_watches(inside, variables)

        unpack, unpack_params = self._programs.unpack, self._layout.unpack

        @jax.jit
        def read(kept: PackedTree, params: PackedTree) -> Any:
            def one(state: Any) -> list[Any]:
                inner = unwrapped_state(core, state)
                return [watch.read(inner, unpack_params(params)) for watch in watches]

            return (jax.vmap(one) if self._batch else one)(unpack(kept).state)

        monitor = Monitor(
            watches,
            lambda: jax.device_get(read(self._kept, self._packed_params)),
            [make_sink(sink) for sink in sinks or (None,)],
            batch=hasattr(self, "num_envs"),
            every=getattr(inside, "steps_per_day", 1),
            name=getattr(self, "name", None) or ("" if spec is None else spec.id),
            axis=getattr(inside, "step_unit", "steps"),
        )
        self.monitors = (*self.monitors, monitor)
        return monitor

    def _notify(self, event: Callable[[Monitor], None]) -> None:
        for monitor in self.monitors:
            event(monitor)

    def render(self) -> Any:
        """Render the environment, or each one in a batch, in its `render_mode`; without one, warn and return None."""
        if self.render_mode is None:
            hint = "try render_mode='rgb_array' when it is made"
            warn_user(f"render: expected a render_mode, got none, so nothing is drawn; {hint}")
            return None
        if not self._begun:
            raise ResetNeeded("render: expected a running episode, got none; try reset() first")
        return self.episode_log.render(self.render_mode, self.render_width)


def check_options(options: Any) -> None:
    """Raise ConfigError unless reset options are a mapping or None."""
    if options is not None and not isinstance(options, Mapping):
        raise mismatch("options", "a mapping such as {'params': params}, or None", repr(options))


def _check_params(params: Any, own: Any, where: str) -> None:
    """Raise ConfigError unless the parameters have the same class as the environment's own."""
    if not isinstance(params, type(own)):
        raise mismatch(where, f"an object of the class {type(own).__name__}", repr(params), "replace(env.params, ...)")
