"""Several foragers in one world; `gym.pettingzoo_env.ParallelEnv` makes each an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import gymnasium
import jax
import numpy as np
from gymnasium.vector.utils import batch_space
from pydantic import Field

from harvestgym.core.checks import check_fields
from harvestgym.core.errors import mismatch
from harvestgym.core.view.scene import Scene, join_scenes
from harvestgym.forager.gym_env import ForagerGym
from harvestgym.forager.hashing import seed_words
from harvestgym.forager.host_engine.env import twin_config
from harvestgym.forager.host_engine.several_agents import Foragers
from harvestgym.forager.jax_engine.model import Forager
from harvestgym.forager.observations import MODES, color_table, make_space
from harvestgym.forager.view.scene import scene
from harvestgym.gym.base import Info

MAX_FORAGERS = 1024


@dataclass(frozen=True)
class SharedWorld:
    """The world of a functional `Forager` with `number` agents."""

    model: Forager
    number: Annotated[int, Field(ge=1, le=MAX_FORAGERS)] = 2

    def __post_init__(self) -> None:
        check_fields(self)
        world, mode = self.model.world, self.model.mode
        if MODES[mode].whole:
            views = ", ".join(repr(name) for name, each in MODES.items() if not each.whole)
            raise mismatch("observation_mode of SharedWorld", f"one of {views}", repr(mode), "harvestgym.make_vec")
        if world.renews or world.teleport_every or any(kind.python for kind in world.kinds):
            raise mismatch("SharedWorld", "no renewal, teleports or Python objects", "a world with some")

    def __repr__(self) -> str:
        return f"{self.number} foragers, {self.model!r}"

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the foragers."""
        return tuple(f"forager_{i}" for i in range(self.number))

    @property
    def own_spaces(self) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
        """The observation and action spaces of one forager."""
        model = self.model
        more = MODES[model.mode].table is not color_table
        return make_space(model.world, model.mode, model.aperture, model.hint, more), model.action_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """North, east, south or west for each forager."""
        return batch_space(self.model.action_space, self.number)

    def part(self, obs: Any, forager: int) -> Any:
        """Return the observation of a forager."""
        return jax.tree.map(lambda leaf: leaf[forager], obs)

    def make_gymnasium(self, render_mode: str | None = None) -> SharedWorldGym:
        """Return one environment for all foragers."""
        return SharedWorldGym(self, render_mode)


class SharedWorldGym(ForagerGym):
    """All foragers as one environment: actions, observations, rewards and infos are arrays over all foragers."""

    changes = (*ForagerGym.changes, "np_random")

    def __init__(self, core: SharedWorld, render_mode: str | None = None) -> None:
        model = core.model
        super().__init__(Foragers(twin_config(model), model.world, core.number), model.horizon, render_mode)
        self.core, self.action_space = core, core.action_space
        self.observation_space = batch_space(core.own_spaces[0], core.number)

    def _draw_seed(self, seed: int | None) -> tuple[int, int]:
        return seed_words(int(self.np_random.integers(0, 2**63)))

    def _report(self, action: Any, reward: Any) -> Info:
        row = (np.broadcast_to(given, self.core.number) for given in (action, reward))
        return {"own": {"reward": reward, **super()._report(*row)}}

    def _info(self) -> Info:
        return {name: np.broadcast_to(value, self.core.number).copy() for name, value in super()._info().items()}

    def _draw(self, record: dict[str, np.ndarray]) -> Scene:
        """Draw the view of the first forager."""
        model, step = self._make_model(), len(record["reward"]) - 1
        common = {name: record[name] for name in ("clock#step", "world") if name in record}
        own = {name: rows for name, rows in record.items() if name not in common}
        records = [{name: rows[:, i] for name, rows in own.items()} | common for i in range(min(self.core.number, 8))]
        each = {agent: scene(model, of, step) for agent, of in zip(self.core.agents, records, strict=False)}
        return join_scenes(next(iter(each.values())).title, each, record["reward"])
