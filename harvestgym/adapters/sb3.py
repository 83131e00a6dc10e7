"""A Stable-Baselines3 vector environment for a batch on the device."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from harvestgym.core.env import Env
from harvestgym.core.errors import check_extras, check_name
from harvestgym.core.wrappers import unwrapped
from harvestgym.gym.vector_env import VecEnv

check_extras("harvestgym.adapters.sb3", sb3="stable_baselines3")

from stable_baselines3.common.vec_env import VecEnv as BaseVecEnv  # noqa: E402

_ROW_METHODS = ("action_masks", "render")


class SB3VecEnv(BaseVecEnv):
    """A batch of environments for Stable-Baselines3 algorithms.

    An environment restarts in the step that ends its episode, as in `DummyVecEnv`; the info of this step contains
    `terminal_observation`. All rows of the batch have the same attributes.
    """

    def __init__(self, env: Env[Any, Any], num_envs: int, params: Any = None, render_mode: str | None = None) -> None:
        self.batch = VecEnv(env, num_envs, params, AutoresetMode.SAME_STEP, render_mode)
        super().__init__(num_envs, self.batch.single_observation_space, self.batch.single_action_space)
        self._actions: Any = None

    def __copy__(self) -> SB3VecEnv:
        """Return an independent copy in the same state."""
        return deepcopy(self)

    def reset(self) -> Any:
        """Start all episodes with the seeds and options set since the last reset."""
        if any(options != self._options[0] for options in self._options):
            raise ValueError("set_options: expected the same options for the whole batch, got different ones")
        obs, infos = self.batch.reset(seed=self._seeds, options=self._options[0])
        self.reset_infos = info_rows(infos, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return obs

    def step_async(self, actions: Any) -> None:
        """Store `actions` for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Take the step; return observations, float32 rewards, done flags, and one info per environment."""
        obs, reward, terminated, truncated, infos = self.batch.step(self._actions)
        over, rows = terminated | truncated, info_rows(infos, self.num_envs)
        if over.any():
            last = info_rows(infos["final_info"], self.num_envs)
            for i in np.flatnonzero(over):
                self.reset_infos[i] = rows[i]
                rows[i] = last[i] | {"terminal_observation": infos["final_obs"][i]}
        for row, late in zip(rows, (truncated & ~terminated).tolist(), strict=True):
            row["TimeLimit.truncated"] = late
        return obs, reward.astype(np.float32), over, rows

    def close(self) -> None:
        """Do nothing, because there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch or its environment, repeated for each index."""
        for owner in (self.batch, self.batch.core, unwrapped(self.batch.core)):
            if hasattr(owner, attr_name):
                return [getattr(owner, attr_name) for _ in self._get_indices(indices)]
        raise AttributeError(f"neither the batch nor its environment has an attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set `params` for the whole batch; environments are immutable, so nothing else can be set."""
        if attr_name != "params" or indices is not None:
            raise AttributeError(f"expected set_attr('params', ...) for all rows, got {attr_name!r} for {indices}")
        self.batch.params = value

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call `action_masks()` or `render()` for the batch, and return the selected rows."""
        check_name("method", method_name, [name for name in _ROW_METHODS if hasattr(self.batch, name)])
        rows = getattr(self.batch, method_name)(*method_args, **method_kwargs)
        return [None if rows is None else rows[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False: the rows of a batch are not Gymnasium environments, so they have no wrappers."""
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> list[np.ndarray | None]:
        """Return a list with one image per environment, or with None for each if there is no `render_mode`."""
        return self.env_method("render") if self.batch.render_mode else [None] * self.num_envs


def info_rows(infos: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Convert a Gymnasium vector info to one dict per environment, with Python numbers and NumPy arrays."""
    names = [name for name in infos if f"_{name}" in infos and name not in ("final_obs", "final_info")]
    columns = [infos[name].tolist() if infos[name].ndim == 1 else list(infos[name]) for name in names]
    return [{name: column[i] for name, column in zip(names, columns, strict=True)} for i in range(number)]
