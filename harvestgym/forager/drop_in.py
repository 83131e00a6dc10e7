"""Stand-ins for the Forager package (github.com/andnp/forager): its names, arguments and defaults, on this engine.

Change `from forager.Env import ForagerEnv` to `from harvestgym.forager.drop_in import ForagerEnv`, and so on.
docs/forager.md lists the remaining differences.
"""

from __future__ import annotations

import colorsys
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from harvestgym.core.checks import check_arguments
from harvestgym.core.errors import ConfigError, check_each_name, check_name, look_up, mismatch, require, warn_user
from harvestgym.core.loading import load_class_of_file
from harvestgym.forager.host_engine import env as host

from . import config as ours
from .config import TranslatedConfig, build_world
from .object_kinds import Constant, Flower, ForagerObject, Kind, TableObject, Wall, check_color
from .observations import MODES
from .world import World

__all__ = ["Flower", "ForagerConfig", "ForagerEnv", "ForagerObject", "Palette", "Thorns", "Wall"]


class Thorns(TableObject):
    """Objects that cost 1 and are collected, as in the Forager package; the thorns of `harvestgym.forager` stay."""

    name = "thorns"
    row = Kind("thorns", collectable=True, reward=Constant(-1.0))


class Palette:
    """Colours by label: registered colours, and hues spread over the colour circle for all other labels.

    Colours are uint8 RGB; `register` also takes fractions from 0 to 1.
    """

    @check_arguments
    def __init__(self, classes: Annotated[int, Field(ge=1)], seed: Annotated[int, Field(ge=0)] = 0) -> None:
        self.classes = classes
        self._hue = float(np.random.default_rng(seed).random())
        self._colors: dict[str, tuple[int, int, int]] = {}

    def register(self, label: str, color: Any) -> np.ndarray:
        """Set the colour of a label: whole numbers from 0 to 255, or fractions from 0.0 to 1.0."""
        given = np.asarray(color)
        shares = given.dtype.kind == "f" and given.size == 3 and bool(np.all((given >= 0) & (given <= 1)))
        self._colors[label] = check_color(np.round(255 * given) if shares else given, label)
        return self.generate(label)

    def generate(self, label: str) -> np.ndarray:
        """Return the colour of a label; a new label gets the next hue."""
        if label not in self._colors:
            self.register(label, colorsys.hsv_to_rgb(self._hue, 0.8, 0.8))
            self._hue = (self._hue + 1 / self.classes) % 1
        return np.array(self._colors[label], np.uint8)

    def brighten(self, label: str, amount: float, ma: float = 1.0) -> None:
        """Increase the brightness of a label's colour by the fraction `amount`, to at most `ma`."""
        self._set_value(label, lambda value: min(value * (1 + amount), ma))

    def darken(self, label: str, amount: float, mi: float = 0.2) -> None:
        """Reduce the brightness of a label's colour by the fraction `amount`, to at least `mi`."""
        self._set_value(label, lambda value: max(value * (1 - amount), mi))

    def _set_value(self, label: str, change: Any) -> None:
        check_name("color", label, self._colors, "Palette")
        hue, saturation, value = colorsys.rgb_to_hsv(*(level / 255 for level in self._colors[label]))
        self.register(label, colorsys.hsv_to_rgb(hue, saturation, min(max(change(value), 0.0), 1.0)))


@dataclass
class ForagerConfig:
    """The configuration of the Forager package: `aperture` is a side or (columns, rows); even sides are rounded up.

    It may be changed until a `ForagerEnv` is made from it.

    Attributes:
        size: the side of the world, or (width, height).
        object_types: classes or functions that make an object, by the name of the object.
        seed: the seed of all random numbers.
        colors: a `Palette` for objects without a colour.
        observation_mode: "objects", "colors" or "world".
        aperture: the size of the agent's view, which may exceed the world; None in "world" mode.
    """

    size: Any
    object_types: Mapping[str, Any]
    seed: int = 0
    colors: Palette | None = None
    observation_mode: str = "objects"
    aperture: Any = 3

    def __post_init__(self) -> None:
        self.translate()

    def translate(self) -> TranslatedConfig:
        """Convert this to a configuration of `harvestgym.forager`, which checks the values."""
        require(isinstance(self.colors, Palette | None), "ForagerConfig > colors", "a Palette", repr(self.colors))
        given = 1 if self.aperture is None and self.observation_mode == "world" else self.aperture
        sides = tuple(reversed(given)) if isinstance(given, list | tuple) else (given, given)
        for side in {side for side in sides if isinstance(side, int) and side % 2 == 0}:
            warn_of_difference(f"aperture: {side} is even and becomes {side + 1}, so that the agent is in the centre")
        odd: Any = tuple(side + (side % 2 == 0) if isinstance(side, int) else side for side in sides)
        return TranslatedConfig(self.size, self.object_types, self.observation_mode, odd, self.seed)

    @classmethod
    def from_file(cls, path: str | Path) -> ForagerConfig:
        """Read a JSON file; its `object_types` name "wall", "flower", "thorns" or `module:Class`."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, TypeError, ValueError) as error:
            raise ConfigError(f"{path}: expected a JSON file: {error}") from None
        known = [one.name for one in dataclasses.fields(cls)]
        check_each_name("key", data if isinstance(data, dict) else [data], known, str(path))
        types = data.get("object_types")
        if "size" not in data or not isinstance(types, dict):
            raise mismatch(path, "a size and a mapping of object_types", sorted(data))
        found = {name: _find_class(value, name, path) for name, value in types.items()}
        arguments: dict[str, Any] = {**data, "object_types": found}
        return cls(**arguments)


_CLASSES: dict[str, type[ForagerObject]] = {"wall": Wall, "flower": Flower, "thorns": Thorns}


def _find_class(target: Any, name: str, path: str | Path) -> Any:
    if isinstance(target, str) and ":" in target:
        return load_class_of_file(target, ForagerObject, f"{path} > object_types > {name}")
    return look_up("object", target, _CLASSES, f"{path} > object_types > {name}")


@cache
def warn_of_difference(words: str) -> None:
    """Warn once per process about a difference from the Forager package."""
    warn_user(f"forager: {words}; see docs/forager.md, Differences from the Forager package")


class ForagerEnv(host.ForagerEnv):
    """The environment of the Forager package: `start`, `step`, `add_object`, `remove_object`, `generate_objects`."""

    def __init__(
        self,
        config: ForagerConfig | ours.ForagerConfig | None = None,
        world: World | None = None,
        *,
        config_path: str | Path | None = None,
    ) -> None:
        if (config is None) == (config_path is None):
            raise mismatch("ForagerEnv", "either config or config_path", "both or neither")
        if config_path is not None:
            config = ForagerConfig.from_file(config_path)
        if isinstance(config, ForagerConfig):
            config, palette = config.translate(), config.colors
            world = world if world is not None else _color_world(build_world(config), palette)
        super().__init__(config, world)  # pyright: ignore[reportArgumentType]
        if MODES[self.config.observation_mode].whole:
            warn_of_difference("observation_mode 'world' has the northernmost row first and the agent as last channel")

    @property
    def rng(self) -> np.random.Generator:
        """The random generator for rewards; the map, the delays and the places of return use separate generators."""
        return self.reward_rng

    def get_observation_shape(self) -> tuple[int, ...]:
        """Return the shape of an observation."""
        return tuple(self.observation_space.shape or ())


def _color_world(world: World, palette: Palette | None) -> World:
    """Give each kind without a colour a colour from the palette."""
    if palette is None:
        return world
    colors = {kind.name: tuple(palette.generate(kind.name).tolist()) for kind in world.kinds if not kind.colors}
    kinds = tuple(dataclasses.replace(k, colors=k.colors or (colors[k.name],)) for k in world.kinds)
    return dataclasses.replace(world, kinds=kinds)
