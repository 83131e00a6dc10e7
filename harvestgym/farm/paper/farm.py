"""The Farm-Gym paper's `Farm` class, a `gymnasium.Env` with the actions and observations in section 3.1."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core.autoreset import RunState
from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import mismatch, name_file, require, warn_user
from harvestgym.core.xla.setup import set_up_jax
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.farm_writer import write_farm
from harvestgym.farm.engine.actions import Order
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.learn.action_wrappers import ScheduleActions
from harvestgym.farm.paper.action_tuples import FarmerAction, Language, Request
from harvestgym.farm.paper.builders import BasicRule, BasicScore, Field, build_farm_model
from harvestgym.farm.paper.farm_gym.folder import read_any_farm
from harvestgym.farm.paper.observation_items import Item
from harvestgym.farm.paper.spaces import state_member, state_space
from harvestgym.farm.schema import FarmSpec
from harvestgym.farm.view.describe import describe
from harvestgym.farm.view.events import find_last_event
from harvestgym.farm.view.scene import scene
from harvestgym.gym.base import Info, Options
from harvestgym.gym.env import GymEnv
from harvestgym.gym.episode_log import EpisodeLog
from harvestgym.render import video

PAGE = {"entities", "rules", "actions", "state"}
"""The sections of `harvestgym show` that `print(farm)` includes."""

INDENTS: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "      "}


class FilesWritten(UserWarning):
    """Warning that configuration files were generated."""


class Farm(GymEnv):
    """A farm: fields, farmers, rules and a score, played with gym actions (`step`) or tuples (`farmgym_step`).

    In mode `"ao"`, a day has two steps, for observations and then for interventions; in `"po"` and `"fo"`, it has one
    step. The reward is the paper's gross gain. `info` contains it as `gain`, the gain minus all costs as `net`, and the
    costs.

    Args:
        fields, farmers, scoring, rules: the parts described in section 3.1.
        mode: "ao", "po" or "fo".
        seed: the seed for the first episode, used if `reset` is called without a seed.
        context: the parameters to draw at random, and when, as in a farm file (section 2).
        name: the name that `print` shows.
        render_mode: as in Gymnasium.

    Raises:
        ConfigError: gives the path of the mistake and the nearest valid name; no file is written in this case.
    """

    changes = (*GymEnv.changes, "_acting", "_asked", "_obs")
    _functions: tuple[Any, ...] = ()

    @check_arguments
    def __init__(
        self,
        fields: Sequence[Field],
        farmers: Sequence[Any] = (),
        scoring: BasicScore | None = None,
        rules: BasicRule | None = None,
        mode: str = "ao",
        seed: int | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        name: str = "farm",
        render_mode: str | None = None,
    ) -> None:
        rules = BasicRule() if rules is None else rules
        scoring = BasicScore() if scoring is None else scoring
        model = build_farm_model(fields, farmers, rules, scoring, mode, context)
        self._functions = tuple(rules.functions.values())
        self._set_up(model, seed, name, render_mode)
        written = rules.missing(model.names) | scoring.missing(model.names)
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
        if written:
            warn_user(f"generated {', '.join(map(str, written))} with every entry at its default", FilesWritten)

    @classmethod
    def from_yaml(
        cls, path: str | Path, *, mode: str | None = None, seed: int | None = None, render_mode: str | None = None
    ) -> Farm:
        """Build the farm from a declarative file or from Farm-Gym's files; ConfigError lists every mistake.

        No files are generated. A warning is issued for each entry of Farm-Gym's files that has no counterpart here.
        """
        spec = read_any_farm(Path(path), {} if mode is None else {"mode": mode})
        with name_file(Path(path)):
            return cls.from_recipe(build(spec), Path(path).stem, seed, render_mode)

    def _set_up(self, model: FarmModel, seed: int | None, name: str, render_mode: str | None) -> None:
        set_up_jax()
        self.language = Language(model)  # read by `_prepare`
        super().__init__(ScheduleActions(model), render_mode=render_mode)
        self.name, self._seed, self._model = name, seed, model
        self.action_space, self.state_space = self.language.space, state_space(self.language.names)
        self._acting, self._obs = False, None
        self._asked: list[Request] = []

    def _prepare(self) -> None:
        super()._prepare()
        self._read = self.language.to_array

    @property
    def model(self) -> FarmModel:
        """The wrapped functional environment; raises ConfigError if a stopping condition has to be called in Python."""
        if not all(function.is_traced for function in self._functions):
            hint = "jax.numpy without branches on values, or a condition as text"
            raise mismatch("farm.model", "terminal conditions that compile", "a mapping", hint)
        return self._model

    @property
    def written(self) -> FarmSpec:
        """The description that `to_yaml` writes, with canonical names."""
        return self._model.spec

    @property
    def acting(self) -> bool:
        """Return whether the next step takes interventions, which is always true except in mode "ao"."""
        return self._acting or not self._model.asks

    def _accept_run_state(self, run: RunState) -> None:
        super()._accept_run_state(run)
        self._acting = bool(run.state.acting)
        obs = self._model.observation(run.key, run.state, None, self.params)
        self._asked, self._obs = [], jax.tree.map(np.asarray, obs)

    def reset(self, *, seed: int | None = None, options: Options = None) -> tuple[Any, Info]:
        """Start an episode; return the observation in `observation_space`, and info."""
        if seed is None and not self._begun:
            seed = self._seed
        obs, info = super().reset(seed=seed, options=options)
        self._acting, self._asked, self._obs = False, [], obs
        return obs, info

    def farmgym_reset(self, *, seed: int | None = None, options: Options = None) -> tuple[list[Item], Info]:
        """Start an episode; return the free observations as items, and info."""
        _, info = self.reset(seed=seed, options=options)
        return self.observations(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Carry out a member of `action_space`, a set of pairs; any other action raises ConfigError without effect."""
        return self._do(self._from_gym(action))

    gym_step = step
    """The paper's name of `step`."""

    def farmgym_step(self, schedule: Sequence[Any]) -> tuple[list[Item], float, bool, bool, Info]:
        """Carry out a list of `(farmer, field, entity, name, parameters)`; return the observations as items.

        In mode "ao", each half-step carries out only its own kind of action. `info["refused"]` lists the actions that
        were not carried out, and `info["reasons"]` the reasons.
        """
        _, gain, terminated, truncated, info = self._do(self.language.from_tuples(schedule))
        return self.observations(), gain, terminated, truncated, info

    def _do(self, actions: list[FarmerAction]) -> tuple[Any, float, bool, bool, Info]:
        requests = [action for action in actions if isinstance(action, Request)]
        orders = [action for action in actions if isinstance(action, Order)]
        obs, _, terminated, truncated, info = super().step(orders if self.acting else requests)
        self._obs, self._asked = obs, [] if self.acting else requests
        refused = list(self._refused(actions, info))
        info["refused"] = [self.language.to_tuple(action) for action, _ in refused]
        info["reasons"] = [reason for _, reason in refused]
        self._acting = not self.acting
        return obs, info["gain"], terminated, truncated, info

    def _refused(self, actions: list[FarmerAction], info: Info) -> Iterator[tuple[FarmerAction, str]]:
        """Yield the actions that belong to the other half-step or that a farmer or a rule refused, and the reasons."""
        refusals = iter(info["refusal"])
        for action in actions:
            if isinstance(action, Request) and self.language.is_free(action.path):
                continue
            if isinstance(action, Order) != self.acting:
                yield action, "it belongs to the other half-step of the day"
            elif isinstance(action, Request) and _has_none(self.language.item(action.path, self._obs)[4]):
                yield action, "the farmer did not carry it out"
            elif isinstance(action, Order) and (refusal := next(refusals)):
                yield action, self._model.reasons[refusal - 1][1]

    def observations(self) -> list[Item]:
        """Return the last observations as items: free observations, then requested ones (None if refused)."""
        items = [self.language.item(request.path, self._obs) for request in self._asked]
        return self.language.free_items(self._obs) + items

    def state(self) -> tuple[Any, ...]:
        """Return the complete state, a member of `state_space`."""
        state, params = self.run_state.state, self.params
        read = {v.name: self._model.value(v, state, params) for v in self._model.variables}
        return state_member(self.language.names, jax.device_get(read))

    def gymaction_to_farmgymaction(self, action: Any) -> Any:
        """Convert a gym action to farm-gym tuples, or a single pair to one tuple."""
        if isinstance(action, (tuple, list)) and len(action) == 2 and isinstance(action[0], (int, np.integer)):
            return self.gymaction_to_farmgymaction((action,))[0]
        return [self.language.to_tuple(each) for each in self._from_gym(action)]

    def farmgymaction_to_gymaction(self, schedule: Sequence[Any]) -> tuple[Any, ...]:
        """Convert a list of farm-gym tuples to a gym action."""
        return tuple(self.language.to_pair(action) for action in self.language.from_tuples(schedule))

    def _from_gym(self, action: Any) -> list[FarmerAction]:
        if not self.action_space.contains(action):
            pairs = f"at most {self._model.schedule} pairs (space number below {len(self.language.space)}, member)"
            raise mismatch("action", f"a member of action_space, {pairs}", repr(action))
        return [self.language.from_pair(pair) for pair in action]

    def to_yaml(self, path: str | Path) -> None:
        """Write the whole farm as one declarative file in canonical form.

        Raises:
            ConfigError: if a part of it is a Python object that no file can represent.
        """
        Path(path).write_text(write_farm(self.written), encoding="utf-8")

    def render(self) -> Any:
        """Draw the farm; in a farm without a `render_mode`, the first call also starts to record the season."""
        if self.render_mode is None and self._begun:
            self.render_mode, self.episode_log = "rgb_array", EpisodeLog(self.core)
            self._log_start_at(self.run_state)
        return super().render()

    def generate_gif(self, path: str | Path = "farm.gif", fps: float = 10, width: int = 960) -> Path:
        """Write the season as an animated GIF with one frame per step, from the reset or, without a `render_mode`, from
        the first `render`.
        """
        return self._write_film(video.check_video_path(path, ".gif"), fps, width)

    def generate_video(self, path: str | Path = "farm.mp4", fps: float = 10, width: int = 960) -> Path:
        """Write the season so far as an MP4, like `generate_gif`; raise ConfigError without the extra `video`."""
        return self._write_film(video.check_video_path(path, ".mp4"), fps, width)

    def _write_film(self, target: Path, fps: float, width: int) -> Path:
        record = {} if self.episode_log is None else self.episode_log.record
        require(record, "film", "a recorded season", "none", "render() after reset(), or render_mode='rgb_array'")
        drawn, last = partial(scene, self._model, record), find_last_event(record)
        film = video.EpisodeFrames(drawn, video.choose_steps(len(record["reward"]), last_event=last), width)
        return video.write_video(film, target, fps)

    def recipe(self) -> dict[str, Any]:
        return {"model": self._model, "name": self.name, "seed": self._seed, "render_mode": self.render_mode}

    @classmethod
    def from_recipe(cls, model: FarmModel, name: str, seed: int | None, render_mode: str | None) -> Farm:
        """Make a farm from a model."""
        farm = cls.__new__(cls)
        farm._set_up(model, seed, name, render_mode)
        return farm

    def __str__(self) -> str:
        """Return a page with the tables of several sections of `harvestgym show`."""
        page = [f"Farm {self.name!r}: {self._model.summary}"]
        for table in describe(self._model):
            if not PAGE.isdisjoint(table.sections):
                page += [table.title, *(textwrap.fill(" | ".join(row), 110, **INDENTS) for row in table.rows)]
        return "\n".join(page)


def _has_none(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and any(map(_has_none, value.values())))
