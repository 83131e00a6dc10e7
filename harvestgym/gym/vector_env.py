"""`VecEnv`, a batch of environments on the device for Gymnasium, and when each of them begins anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from harvestgym.core.errors import ConfigError, check_name

from .base import GymBase, Info, Options, scenes
from .conversion import action_reader, observation_writer
from .episode_log import BatchEpisodeLog


class VecEnv(GymBase, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """A batch of environments on the device, for Gymnasium, with any of its three autoreset modes.

    Observations, flags, infos and restarts are those of a `SyncVectorEnv` of `GymEnv`s, except that numbers
    in infos stay float32 and int32.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        num_envs: int,
        params: Any = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        self.num_envs = _number(num_envs)
        self.autoreset_mode = _mode(autoreset_mode)
        self._wrap(env, params, (num_envs,), render_mode)
        self.metadata["autoreset_mode"] = self.autoreset_mode
        self._lives = BatchEpisodeLog(env, num_envs) if self.render_mode in scenes(env) else None
        self.single_observation_space, self.single_action_space = env.observation_space, env.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._read = action_reader(self.single_action_space, (num_envs,))
        self._write = observation_writer(self.single_observation_space, (num_envs,))
        self._over = np.zeros(num_envs, bool)
        self._obs: Any = None

    def reset(  # type: ignore[override]
        self, *, seed: int | Sequence[int | None] | None = None, options: Options = None
    ) -> tuple[Any, Info]:
        """Begin episodes: all, or those in `options["reset_mask"]`. An int seeds lane i with seed + i."""
        seed = int(seed) if isinstance(seed, np.integer) else seed
        which, seeds = self._which(options), self._seeds(seed)
        self._set_params(options, ("params", "reset_mask"))
        super().reset(seed=seed if isinstance(seed, int) else None)
        words = np.array([(s or 0) % 2**32 for s in seeds], np.uint32)
        first = self._driver.start(words, np.array([s is not None for s in seeds]), which)
        self._obs = _merged(which, self._write(first.obs), self._obs)
        self._over = self._over & ~which
        self._begun(which, first)
        self._notify_reset()
        return _copied(self._obs), _vector_info(first.info, which)

    def _which(self, options: Options) -> np.ndarray:
        which = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        fits = isinstance(which, np.ndarray) and which.dtype == bool and which.shape == (self.num_envs,)
        if not fits or not which.any():
            wanted = f"a bool array of shape ({self.num_envs},), not all False"
            raise ConfigError(f"reset_mask: wanted {wanted}, found {which!r}")
        if self._obs is None and not which.all():
            raise ResetNeeded("reset_mask: no episode has begun; call reset() for all environments first")
        return which

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        """One seed per environment; None for those that go on with the key they have."""
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, Iterable) and not isinstance(seed, str):
            seeds = [None if s is None else _seed(s) for s in seed]
        else:
            seeds = [_seed(seed) + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigError(f"seed: wanted one for each of {self.num_envs} environments, found {len(seeds)}")
        if self._driver.begun:
            return seeds
        drawn = self.np_random.integers(2**32, size=self.num_envs).tolist()
        return [new if s is None else s for s, new in zip(seeds, drawn, strict=True)]

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:  # type: ignore[override]
        """Do `actions`, one per environment; nothing is done if one of them is outside the action space."""
        if not self._driver.begun:
            raise ResetNeeded("step: no episode has begun; call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._over.any():
            found = np.flatnonzero(self._over).tolist()
            raise ResetNeeded(f"step: environments {found} have ended; reset them with options={{'reset_mask': mask}}")
        waiting, read = self._over, self._read(actions)
        if self._lives is not None:
            self._lives.start(self._driver.lane, self._driver.params)
        seen = self._driver.step(read)
        self._over = seen.terminated | seen.truncated
        if self._lives is not None:
            moved = ~waiting | (self.autoreset_mode is not AutoresetMode.NEXT_STEP)
            self._lives.add(moved, self._driver.lane.state, read, seen, self._driver.params)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and waiting.any():
            self._over = self._over & ~waiting
            seen = self._restarted(waiting, seen)
            seen = seen._replace(
                reward=np.where(waiting, 0.0, seen.reward),
                terminated=seen.terminated & ~waiting,
                truncated=seen.truncated & ~waiting,
            )
        last = seen
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._over.any():
            seen = self._restarted(self._over, seen)
        self._notify_step(bool(self._over.all()))
        return self._told(seen, last)

    def _restarted(self, which: np.ndarray, seen: Any) -> Any:
        """What is seen when new episodes have begun for `which`."""
        none = np.zeros(self.num_envs, np.uint32)
        first = self._driver.start(none, none.astype(bool), which)
        self._begun(which, first)
        obs, info = _merged(which, (first.obs, first.info), (seen.obs, seen.info))
        return seen._replace(obs=obs, info=info)

    def _told(self, seen: Any, last: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, Info]:
        """A step in Gymnasium's form; `last` is what was seen before a restart in the same step."""
        self._obs = self._write(seen.obs)
        info = _vector_info(seen.info, np.ones(self.num_envs, bool))
        if last is not seen:
            info |= self._final(self._write(last.obs), last.info)
        reward = seen.reward.astype(np.float64)
        return _copied(self._obs), reward, seen.terminated, seen.truncated, info

    def _final(self, obs: Any, info: Info) -> Info:
        """The last obs and info of the episodes that have just ended."""
        which = self._over
        rows = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(which):
            rows[i] = jax.tree.map(lambda leaf: leaf[i].copy(), obs)  # noqa: B023
        return {
            "final_obs": rows,
            "_final_obs": which.copy(),
            "final_info": _vector_info(info, which),
            "_final_info": which.copy(),
        }

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`."""
        names = ("num_envs", "autoreset_mode", "render_mode")
        return {"env": self.core} | {name: getattr(self, name) for name in names}

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        return {"driver": self._driver.kept(), "over": self._over, "obs": self._obs}

    def restore(self, kept: dict[str, Any]) -> VecEnv:
        """This batch, where the one that was kept stood."""
        self._driver.restore(kept["driver"])
        self._over, self._obs = kept["over"], kept["obs"]
        self._forget()
        return self

    def _begun(self, which: np.ndarray, first: Any) -> None:
        if self._lives is not None:
            self._lives.begin(which, self._driver.lane.state, first, self._driver.params)

    def _placed(self, lane: RunState) -> None:
        self._over, self._obs = np.array(lane.over), None
        self._forget()

    def _forget(self) -> None:
        if self._lives is not None:
            self._lives.clear(np.ones(self.num_envs, bool))

    def render(self) -> tuple[Any, ...] | None:
        """What each environment draws in the `render_mode` chosen; None without one."""
        if self.render_mode is None:
            return None
        if not self._driver.begun:
            raise ResetNeeded("render: there is nothing to see yet; call reset() first")
        if self._lives is not None:
            self._lives.start(self._driver.lane, self._driver.params)
            return self._lives.pictures(self.render_mode)
        states = self._driver.lane.state
        rows = (jax.tree.map(lambda leaf: leaf[i], states) for i in range(self.num_envs))  # noqa: B023
        return tuple(self._draw(row) for row in rows)


def make_vec(
    harvest_id: str,
    num_envs: int = 1,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    **overrides: Any,
) -> VecEnv:
    """Make the batch that `gymnasium.make_vec` returns for an id."""
    return VecEnv(registry.make(harvest_id, **overrides), num_envs, None, autoreset_mode, render_mode)


def _number(num_envs: Any) -> int:
    if isinstance(num_envs, bool) or not isinstance(num_envs, (int, np.integer)) or num_envs < 1:
        raise ConfigError(f"num_envs: wanted a whole number, 1 or more, found {num_envs!r}")
    return int(num_envs)


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ConfigError(f"seed: wanted a whole number, 0 or more, found {seed!r}")
    return int(seed)


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    if mode not in list(AutoresetMode):
        check_name("autoreset_mode", mode, [known.value for known in AutoresetMode])
    return AutoresetMode(mode)


def _vector_info(info: Info, which: np.ndarray) -> Info:
    """Gymnasium's format: each array with a mask `_name` of the environments it is about, zero elsewhere."""
    out: Info = {}
    for name, value in info.items():
        out[name] = _vector_info(value, which) if isinstance(value, dict) else _only(which, value)
        out[f"_{name}"] = which.copy()
    return out


def _only(which: np.ndarray, value: np.ndarray) -> np.ndarray:
    return value if which.all() else np.where(_over_rows(which, value), value, np.zeros_like(value))


def _over_rows(which: np.ndarray, value: np.ndarray) -> np.ndarray:
    return which.reshape(which.shape + (1,) * (value.ndim - 1))


def _merged(which: np.ndarray, new: Any, old: Any) -> Any:
    if which.all():
        return new
    return jax.tree.map(lambda n, o: np.where(_over_rows(which, n), n, o), new, old)


def _copied(obs: Any) -> Any:
    return jax.tree.map(np.copy, obs)
