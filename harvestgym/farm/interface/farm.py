"""Farm: the object of the paper, a `gymnasium.Env` that speaks the language of section 3.1."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from harvestgym.core import yaml_io
from harvestgym.core.autoreset import RunState
from harvestgym.core.errors import ConfigError
from harvestgym.core.xla.compilation import enable_cache
from harvestgym.farm.config import whole
from harvestgym.farm.config.builders import BasicRule, BasicScore, Field, is_compiled
from harvestgym.farm.config.compile import build
from harvestgym.farm.config.names import Names
from harvestgym.farm.config.whole import Parts
from harvestgym.farm.engine.active import ActiveFarm
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.schema import FarmSpec, farm_spec, read_farm
from harvestgym.gym.env import GymEnv

from . import summary
from .action_wrappers import Listed
from .language import Language, Move, state_of, state_space
from .observation_items import Ask, Item, Telling, every_ask

Info = dict[str, Any]


class FilesWritten(UserWarning):
    """Says that configuration files were generated."""


class Farm(GymEnv):
    """A farm: fields, farmers, rules and a score, played with gym actions (`step`) or in words (`farmgym_step`).

    In mode `"ao"` a day is two steps, observations and then interventions; in `"po"` and `"fo"` it is one. The
    reward is the gross gain of the paper; `info` has it as `gain`, less all costs as `net`, and the costs.

    Args:
        fields, farmers, scoring, rules: as in section 3.1.
        mode: "ao", "po" or "fo".
        seed: of the first episode, if `reset` is not given one.
        context: what is drawn anew, and when, in the words of a farm file (section 2).
        name: what `print` calls it.
        render_mode: as Gymnasium has it.

    Raises:
        ConfigError: with the path of the mistake and the nearest valid name; no file was written then.
    """

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
        parts = Parts(farmers, rules, BasicScore() if scoring is None else scoring)
        names, spec = parts.spec(fields, mode, context)
        entities = {f"Field-{i}": field.entities for i, field in enumerate(fields)}
        with parts.told():
            model = build(spec, entities, parts.made)
        self._set_up(model, seed, name, render_mode)
        written = parts.rules.missing(names) | parts.scoring.missing(names)
        for path, text in written.items():
            path.write_text(text, encoding="utf-8")
        if written:
            told = ", ".join(map(str, written))
            warnings.warn(f"generated {told}: every entry at its default", FilesWritten, stacklevel=2)

    @classmethod
    def from_yaml(
        cls, path: str | Path, *, mode: str | None = None, seed: int | None = None, render_mode: str | None = None
    ) -> Farm:
        """The farm of a declarative file (nothing is generated); ConfigError with every mistake."""
        spec = read_farm(Path(path), {} if mode is None else {"mode": mode})
        return cls._of(spec, Path(path).stem, seed, render_mode)

    @classmethod
    def _of(cls, spec: FarmSpec, name: str, seed: int | None, render_mode: str | None) -> Farm:
        farm = cls.__new__(cls)
        farm._set_up(build(spec), seed, name, render_mode)
        return farm

    def _set_up(self, model: FarmModel, seed: int | None, name: str, render_mode: str | None) -> None:
        enable_cache()
        super().__init__(Listed(model), render_mode=render_mode)
        self.name, self._seed, self._model = name, seed, model
        names = Names(model.actions.farmers, model.fields, model.variables)
        self.language = Language(model, _asks(names, model))
        self.action_space, self.state_space = self.language.space, state_space(names)
        self._acting, self._moves, self._obs = False, [], None
        self._read = self.language.sheet

    @property
    def model(self) -> FarmModel:
        """The functional environment inside; ConfigError if a stopping condition has to be called in Python."""
        if not is_compiled(self.written.rules):
            raise ConfigError(
                "farm.model: a mapping of the terminal conditions cannot be compiled and works in this Farm only; "
                "write it in jax.numpy without branches on values, or name one (value, sum, mean, min, max)"
            )
        return self._model

    @property
    def written(self) -> FarmSpec:
        """What `to_yaml` writes: the farm in the one spelling of every name, however it was written."""
        return self._model.spec

    @property
    def acting(self) -> bool:
        """Whether the next step is an intervention: always, unless observations are asked for."""
        return self._acting or not isinstance(self._model, ActiveFarm)

    def _placed(self, lane: RunState) -> None:
        super()._placed(lane)
        self._acting = bool(getattr(lane.state, "acting", False))
        seen = self._model.observation(lane.key, lane.state, None, self.params)
        self._moves, self._obs = [], jax.tree.map(np.asarray, seen)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Begin an episode: the observation in `observation_space`, and info."""
        if seed is None and not self._driver.begun:
            seed = self._seed
        obs, info = super().reset(seed=seed, options=options)
        self._acting, self._moves, self._obs = False, [], obs
        return obs, info

    def farmgym_reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Item], Info]:
        """Begin an episode: the free observations as items, and info."""
        _, info = self.reset(seed=seed, options=options)
        return self.observations(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """`gym_step`."""
        return self.gym_step(action)

    def gym_step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Do an action of `action_space`, a set of pairs; ConfigError, and nothing done, if it is none."""
        if not self.action_space.contains(action):
            raise ConfigError(f"action: wanted a member of action_space, {self._wanted()}, found {action!r}")
        return self._do([self.language.from_pair(pair) for pair in action])

    def farmgym_step(self, schedule: Sequence[Any]) -> tuple[list[Item], float, bool, bool, Info]:
        """Do a list of `(farmer, field, entity, name, parameters)`; observations as items.

        In mode "ao" the step that is due does its own part; the rest is told in `info["refused"]`.
        """
        _, gain, terminated, truncated, info = self._do(self.language.schedule(schedule))
        return self.observations(), gain, terminated, truncated, info

    def _do(self, moves: list[Move]) -> tuple[Any, float, bool, bool, Info]:
        due = [move for move in moves if isinstance(move.what, Ask) != self.acting]
        obs, _, terminated, truncated, info = super().step(due)
        self._obs, self._moves = obs, [] if self.acting else due
        info["refused"] = [self.language.to_tuple(move) for move in self._undone(moves, info)]
        self._acting = not self.acting if isinstance(self._model, ActiveFarm) else False
        return obs, info["gain"], terminated, truncated, info

    def _undone(self, moves: list[Move], info: Info) -> Iterator[Move]:
        """What was not due in this step, or not let pass by a farmer or a rule."""
        accepted = iter(info["accepted"])
        for move in moves:
            if isinstance(move.what, Ask):
                done = not self.acting and not _is_none(self.language.item(move.what, self._obs)[4])
            else:
                done = self.acting and bool(next(accepted))
            if not done:
                yield move

    def observations(self) -> list[Item]:
        """What was seen last, as items: the free observations, then those asked for (None if refused)."""
        asked = [move.what for move in self._moves if isinstance(move.what, Ask)]
        return [*self._free(self._obs), *(self.language.item(ask, self._obs) for ask in asked)]

    @cached_property
    def _free(self) -> Telling:
        """What tells the free observations; everything, in mode "fo"."""
        names = self.language.names
        if self.written.mode == "fo":
            return self.language.telling([Ask(where, key, ()) for where, tree in names.tree.items() for key in tree])
        return self.language.telling([Ask.of(names.ref(ref)) for ref in self.written.rules.free_observations])

    def state(self) -> tuple[Any, ...]:
        """The state of everything, a member of `state_space`."""
        state, params = self.lane.state, self.params
        read = {v.name: self._model.value(v, state, params) for v in self._model.variables}
        return state_of(self.language.names, jax.device_get(read))

    def gymaction_to_farmgymaction(self, action: Any) -> Any:
        """The farm-gym tuples of a gym action; of a single pair, one tuple."""
        if isinstance(action, (tuple, list)) and len(action) == 2 and isinstance(action[0], (int, np.integer)):
            return self.gymaction_to_farmgymaction((action,))[0]
        if not self.action_space.contains(action):
            raise ConfigError(f"action: wanted a member of action_space, {self._wanted()}, found {action!r}")
        return [self.language.to_tuple(self.language.from_pair(pair)) for pair in action]

    def farmgymaction_to_gymaction(self, schedule: Sequence[Any]) -> tuple[Any, ...]:
        """The gym action of a list of farm-gym tuples."""
        return tuple(self.language.to_pair(move) for move in self.language.schedule(schedule))

    def _wanted(self) -> str:
        return f"at most {self._model.schedule} pairs (number below {len(self.action_space)}, member of that space)"  # type: ignore[arg-type]

    def to_yaml(self, path: str | Path) -> None:
        """Write the whole farm as one declarative file, in the canonical form whatever file it was read from.

        Raises:
            ConfigError: if a part of it lives in Python only.
        """
        text = whole.text_of(self.written)
        Path(path).write_text(text, encoding="utf-8")

    def generate_gif(self, path: str | Path = "farm.gif", fps: float = 10, width: int = 960) -> Path:
        """Write the season so far as an animated GIF, a picture of each step; the farm must have a `render_mode`."""
        return self._film(path, ".gif", fps, width)

    def generate_video(self, path: str | Path = "farm.mp4", fps: float = 10, width: int = 960) -> Path:
        """Write the season so far as an MP4, as `generate_gif` does; ConfigError without the extra `video`."""
        return self._film(path, ".mp4", fps, width)

    def _film(self, path: str | Path, suffix: str, fps: float, width: int) -> Path:
        from harvestgym.farm.view.scene import scene
        from harvestgym.render import video

        target = video.check_target(path, suffix)
        record = {} if self._live is None else self._live.record
        if not record:
            raise ConfigError("a film wants a season that is kept: make the farm with render_mode='rgb_array', reset() "
                              "it and play")  # fmt: skip
        film = video.Film.of(partial(scene, self._model, record), len(record["reward"]), width)
        return video.write(film, target, fps)

    def recipe(self) -> dict[str, Any]:
        """How it is made, for `core.checkpoint`: what `to_yaml` writes, and its name."""
        told = {"name": self.name, "seed": self._seed, "render_mode": self.render_mode}
        return {"text": whole.text_of(self.written)} | told

    @classmethod
    def from_recipe(cls, text: str, name: str, seed: int | None, render_mode: str | None) -> Farm:
        """The farm of what `recipe` told."""
        return cls._of(farm_spec(yaml_io.parse(text, name), name), name, seed, render_mode)

    def kept(self) -> dict[str, Any]:
        """What changes, for `core.checkpoint`."""
        return super().kept() | {"acting": self._acting, "moves": self._moves, "obs": self._obs}

    def restore(self, kept: dict[str, Any]) -> Farm:
        """This farm, where the one that was kept stood."""
        super().restore(kept)
        self._acting, self._moves, self._obs = kept["acting"], kept["moves"], kept["obs"]
        return self

    def __str__(self) -> str:
        return summary.text(self.name, self.written, self.language)


def _asks(names: Names, model: FarmModel) -> list[Ask]:
    """What may be asked for: what the rules list, or everything; what is free is left out."""
    if not isinstance(model, ActiveFarm):
        return []
    listed = model.spec.rules.observations
    asks = every_ask(names) if listed is None else [Ask.of(names.ref(ref)) for ref in listed]
    free = {(look.variable.name, look.plot) for look in model.plan.looks}
    return [ask for ask in dict.fromkeys(asks) if not _is_free(ask, model, free)]


def _is_free(ask: Ask, model: ActiveFarm, free: set[Any]) -> bool:
    names = [model.variables[i].name for i in model.asking.groups[ask.group]]
    return all((name, None) in free or (name, ask.plot) in free for name in names)


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and any(map(_is_none, value.values())))
