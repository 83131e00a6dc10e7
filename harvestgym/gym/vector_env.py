"""`VecEnv`, the Gymnasium vector environment for functional environments, with all autoreset modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from harvestgym import registry
from harvestgym.core.autoreset import RunState
from harvestgym.core.env import Env
from harvestgym.core.errors import check_count, check_name, check_seed, mismatch, require
from harvestgym.core.wrappers import TimeLimit
from harvestgym.render import DEFAULT_WIDTH

from .base import GymBase, Info, Options, check_options
from .monitoring import Monitor


class VecEnv(GymBase, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A batch of environments on the device as a Gymnasium vector environment, with any of the three autoreset modes.

    Observations, flags, infos and restarts are the same as in a `SyncVectorEnv` of `GymEnv`, except that numbers in
    infos remain float32 and int32.
    """

    made_of = ("num_envs", "autoreset_mode", "render_mode")
    changes = ("_over", "_obs")

    def __init__(
        self,
        env: Env[Any, Any],
        num_envs: int,
        params: Any = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = check_count("num_envs", num_envs)
        check_name("autoreset_mode", getattr(autoreset_mode, "value", autoreset_mode), [m.value for m in AutoresetMode])
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._wrap(env, params, (num_envs,), render_mode)
        self.metadata["autoreset_mode"] = self.autoreset_mode
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, bool)
        self._obs: Any = None

    def reset(  # type: ignore[override]
        self, *, seed: int | Sequence[int | None] | None = None, options: Options = None
    ) -> tuple[Any, Info]:
        """Start all episodes, or only those in `options["reset_mask"]`. An int seeds environment i with seed + i."""
        seed = int(seed) if isinstance(seed, np.integer) else seed
        check_options(options)
        which, seeds = self._which(options), self._seeds(seed)
        own = self._set_params(options, ("params", "reset_mask"))
        super().reset(seed=seed if isinstance(seed, int) else None)
        words = np.array([s or 0 for s in seeds], np.uint32)
        first = self._start(words, np.array([s is not None for s in seeds]), which, own)
        self._obs = _merged(which, self._write(first.obs), self._obs)
        self._over = self._over & ~which
        self._log(None, first, which)
        self._notify(Monitor.begin)
        return jax.tree.map(np.copy, self._obs), _vector_info(first.info, which)

    def _which(self, options: Options) -> np.ndarray:
        which = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        fits = isinstance(which, np.ndarray) and which.dtype == bool and which.shape == (self.num_envs,)
        if not fits or not which.any():
            raise mismatch("reset_mask", f"a bool array of shape ({self.num_envs},), not all False", repr(which))
        if self._obs is None and not which.all():
            raise ResetNeeded("reset_mask: expected started episodes, got none; try reset() for all environments first")
        return which

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """Return one seed per environment; None for environments that continue with their key."""
        several = isinstance(seed, Iterable) and not isinstance(seed, str)
        given: Any = seed if several else (None if seed is None else check_seed(seed) + i for i in range(self.num_envs))
        seeds = [None if s is None else check_seed(s) for s in given]
        require(len(seeds) == self.num_envs, "seed", f"a seed for each of {self.num_envs} environments", len(seeds))
        if self._begun:
            return seeds
        drawn = self.np_random.integers(2**32, size=self.num_envs).tolist()
        return [new if s is None else s for s, new in zip(seeds, drawn, strict=True)]

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:  # type: ignore[override]
        """Take `actions`, one per environment; ConfigError, without a step, if any is outside the action space."""
        self._check_can_step()
        waiting, read, mode = self._over, self._read(actions), self.autoreset_mode
        self._check_choices(read, waiting & (mode is AutoresetMode.NEXT_STEP))
        shown = last = self._step(read)
        self._over = shown.terminated | shown.truncated
        self._log(read, shown, ~waiting | (mode is not AutoresetMode.NEXT_STEP))
        if mode is AutoresetMode.NEXT_STEP and waiting.any():
            shown = last = self._restart_waiting(waiting, shown)
        if mode is AutoresetMode.SAME_STEP and self._over.any():
            shown = self._restart(self._over, shown)
        self._notify(Monitor.step)
        return self._to_gymnasium(shown, last)

    def _check_can_step(self) -> None:
        if not self._begun:
            raise ResetNeeded("step: expected a running episode, got none; try reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            ended, hint = np.flatnonzero(self._over).tolist(), "options={'reset_mask': mask}"
            raise ResetNeeded(f"step: expected running environments, got ended {ended}; try {hint}")

    def _restart(self, which: np.ndarray, shown: Any) -> Any:
        """Start episodes for `which`, and write their first observations."""
        none = np.zeros(self.num_envs, np.uint32)
        first = self._start(none, none.astype(bool), which)
        self._log(None, first, which)
        obs, info = _merged(which, (first.obs, first.info), (shown.obs, shown.info))
        return shown._replace(obs=obs, info=info)

    def _restart_waiting(self, waiting: np.ndarray, shown: Any) -> Any:
        """Start episodes where one ended in the previous step; the reward of this step is 0, and it ends no episode."""
        self._over = self._over & ~waiting
        shown = self._restart(waiting, shown)
        return shown._replace(
            reward=np.where(waiting, 0.0, shown.reward),
            terminated=shown.terminated & ~waiting,
            truncated=shown.truncated & ~waiting,
        )

    def _to_gymnasium(self, shown: Any, last: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Convert a step to Gymnasium's format; `last` is the Timestep before a restart in the same step."""
        self._obs = self._write(shown.obs)
        info = _vector_info(shown.info, np.ones(self.num_envs, bool))
        if last is not shown:
            info |= self._final(self._write(last.obs), last.info)
        reward = shown.reward.astype(np.float64)
        return jax.tree.map(np.copy, self._obs), reward, shown.terminated, shown.truncated, info

    def _final(self, obs: Any, info: Info) -> Info:
        """Return the last obs and info of the episodes that have just ended."""
        which = self._over
        rows = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(which):
            rows[i] = jax.tree.map(lambda leaf: leaf[i].copy(), obs)  # noqa: B023
        return {"final_obs": rows, "_final_obs": which.copy()} | _vector_info({"final_info": info}, which)

    def _accept_run_state(self, run: RunState) -> None:
        super()._accept_run_state(run)
        self._over, self._obs = np.array(run.over), None


def make_vec(
    harvest_id: str,
    num_envs: int = 1,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    render_width: int = DEFAULT_WIDTH,
    max_episode_steps: int | None = None,
    wrappers: Sequence[Callable[[Env[Any, Any]], Env[Any, Any]]] = (),
    **overrides: Any,
) -> VecEnv:
    """Make a batch on the device, in one of Gymnasium's autoreset modes, as `gymnasium.make_vec` returns it for an id.

    Other arguments are those of `harvestgym.make`. The first `reset` and `step` are compiled, separately for each
    `num_envs`; one line from the logger `harvestgym` reports a compilation that takes longer than two seconds.

    Args:
        render_width: the width of "rgb_array", px; below 320, pictures are squares without text.
        max_episode_steps: steps after which an episode is truncated, in addition to the environment's limit.
        wrappers: functional wrappers, such as those in `core.wrappers`, from the inside out.
    """
    env = registry.make(harvest_id, **overrides)
    if max_episode_steps is not None:
        env = TimeLimit(env, max_episode_steps)
    for wrapper in wrappers:
        env = wrapper(env)
    made = VecEnv(env, num_envs, None, autoreset_mode, render_mode)
    made.render_width = check_count("render_width", render_width)
    return made


def _vector_info(info: Info, which: np.ndarray) -> Info:
    """Convert to Gymnasium's format: the array `name` is valid where the mask `_name` is true, and zero elsewhere."""
    out: Info = {}
    for name, value in info.items():
        nested = isinstance(value, dict)
        out[name] = _vector_info(value, which) if nested else _merged(which, value, np.zeros_like(value))
        out[f"_{name}"] = which.copy()
    return out


def _merged(which: np.ndarray, new: Any, old: Any) -> Any:
    if which.all():
        return new
    return jax.tree.map(lambda n, o: np.where(which.reshape(which.shape + (1,) * (n.ndim - 1)), n, o), new, old)
