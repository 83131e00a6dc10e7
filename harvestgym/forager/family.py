"""The forager family: environments from catalogue files, and the functions that the command line calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import gymnasium
import numpy as np
from pydantic import BeforeValidator, Field

from harvestgym.core.checks import check_data, make_plain
from harvestgym.core.config import Exact, Hard, History, read_extended, validate
from harvestgym.core.errors import check_each_name, check_keywords, check_name, mismatch
from harvestgym.core.policy import Policy
from harvestgym.core.tuning.rule_family import NumberRange, RuleFamily, TunedRule, build_rule, read_tuned
from harvestgym.core.view.scene import Chart, Line
from harvestgym.forager.jax_engine.model import Forager, ForagerParams, ForagerState
from harvestgym.forager.policies.navigator import DISCOUNT, navigator, planner
from harvestgym.forager.view.events import explain as explain
from harvestgym.forager.view.events import find_events as find_events
from harvestgym.forager.view.events import say_goal as say_goal
from harvestgym.forager.view.maps import SMALL_WORLD
from harvestgym.forager.view.scene import RECORDED_INFO, chart_rewards
from harvestgym.forager.view.scene import scene as scene
from harvestgym.forager.view.tables import describe as describe
from harvestgym.forager.view.tables import timeline as timeline
from harvestgym.render.figure import draw_figure

from .object_kinds import NEVER, Color, Delay, DelayLaw, Kind, ReturnPlace
from .observations import MODES, Hint
from .reward_laws import LAWS, Fourier
from .world import Capacity, Coordinate, Edge, Region, Side, StepCount, World, count_objects

Density = Annotated[float, Field(ge=0, le=1)]

CATALOGUE = Path(__file__).with_name("catalogue")


class KindFile(Exact):
    """A kind in a catalogue file."""

    blocking: bool = False
    collectable: bool = False
    reward: dict[str, dict[str, Any]] = Field(
        default={"constant": {}}, description="one law and its numbers", min_length=1, max_length=1
    )
    noise: float = 0.0
    delay: Literal["never"] | Annotated[dict[str, tuple[int, int]], Field(min_length=1, max_length=1)] = Field(
        default={"uniform": (10, 99)}, description="never, uniform: [low, high] or normal: [mean, deviation], in steps"
    )
    place: Literal["same", "anywhere", "region", "fixed"] = "same"
    target: tuple[int, int] = (0, 0)
    pays_after: int = 0
    lasts: int = Field(default=0, description="steps for which it is present before it expires; 0 if it never does")
    rests: int = Field(default=0, description="steps for which it is absent before it reappears")
    colors: tuple[Color, ...] = ()


class RegionFile(Exact):
    """A biome in a catalogue file."""

    x: Coordinate
    y: Coordinate
    width: Side
    height: Side
    density: dict[str, Density] = {}
    renew_eaten: StepCount = 0
    renew_every: StepCount = 0


Sides = Annotated[tuple[Side, Side], BeforeValidator(lambda given: (given, given) if isinstance(given, int) else given)]
"""Two side lengths; a single integer sets both sides."""


class WorldFile(Exact):
    """A catalogue file."""

    doc: str
    hard: Hard = ""
    history: History = {}
    size: Sides
    aperture: Sides
    kinds: dict[str, KindFile]
    density: dict[str, Density] = {}
    regions: dict[str, RegionFile] = {}
    edge: Edge = "torus"
    observation_mode: str = "objects"
    hint: Hint = (0, 0)
    teleport_every: StepCount = 0
    teleport_to: tuple[str, ...] = ()
    capacity: Capacity = 1024
    horizon: StepCount = Field(default=0, description="steps until truncation; 0 for never")
    expert: TunedRule | None = Field(default=None, description="the rule of the expert and its numbers")


def make(name: str, **overrides: Any) -> Forager:
    """Return the functional environment of a catalogue file, with some entries changed.

    Args:
        name: the file's name, such as `two-biome-v0`.
        overrides: entries that replace entries of the file as a whole (`size=(30, 30)`, `aperture=(5, 5)`,
            `density={"morel": 0.1}`, `observation_mode="world"`, `horizon=1000`).

    Raises:
        ConfigError: with the path of every mistake and the nearest valid name.
    """
    check_name("forager", name, (path.stem for path in CATALOGUE.glob("*.yaml")))
    check_keywords("make", overrides, WorldFile.model_fields, length="horizon")
    return build_forager(_read_world(CATALOGUE / f"{name}.yaml") | overrides, f"forager/{name}")


def from_yaml(path: str | Path, **overrides: Any) -> Forager:
    """Return the functional environment of your own file, with some entries changed; raise ConfigError for mistakes."""
    return build_forager(_read_world(Path(path)) | overrides, Path(path).stem)


def _read_world(path: Path) -> dict[str, Any]:
    """Return the data of a file, merged with the file that it extends, and with the expert's tuned rule."""
    data = read_extended(path, "forager")
    tuned = read_tuned(path)
    return data if tuned is None else data | {"expert": tuned.model_dump()}


def build_forager(data: Mapping[str, Any], where: str = "forager") -> Forager:
    """Return a forager from the data of a catalogue file; raise ConfigError with every mistake."""
    file = validate(WorldFile, make_plain(dict(data)), where)
    kinds = tuple(_kind(name, kind, f"{where} > kinds > {name}") for name, kind in sorted(file.kinds.items()))
    width, height = file.size
    names = tuple(kind.name for kind in kinds)
    boxes = {"world": RegionFile(x=0, y=0, width=width, height=height, density=file.density), **file.regions}
    regions = tuple(_region(name, box, names, file, f"{where} > regions > {name}") for name, box in boxes.items())
    check_each_name("region", file.teleport_to, boxes, f"{where} > teleport_to")
    if file.teleport_to and "teleport_every" not in file.model_fields_set:  # an explicit 0 switches teleports off
        expected = "a number of steps, because teleport_to is given"
        raise mismatch(f"{where} > teleport_every", expected, "none", "teleport_every: 1000")
    stops = tuple(list(boxes).index(name) for name in file.teleport_to)
    world = World(width, height, kinds, regions, file.edge, file.teleport_every, stops, file.capacity)
    return Forager(world, file.aperture, file.observation_mode, file.horizon, file.hint, expert=file.expert)


def _kind(name: str, file: KindFile, where: str) -> Kind:
    law, numbers = next(iter(file.reward.items()))
    check_name("law", law, LAWS, f"{where} > reward")
    check_data(LAWS[law], numbers, f"{where} > reward > {law}")
    own = {"reward": LAWS[law](**numbers), "delay": _delay(file.delay, where), "place": ReturnPlace[file.place.upper()]}
    return Kind(name, **file.model_dump(exclude=set(own)) | own)


def _delay(delay: str | dict[str, tuple[int, int]], where: str) -> Delay:
    if isinstance(delay, str):
        return NEVER
    law, (a, b) = next(iter(delay.items()))
    check_name("delay", law, ("uniform", "normal"), f"{where} > delay")
    return Delay(DelayLaw[law.upper()], a, b)


def _region(name: str, box: RegionFile, names: tuple[str, ...], file: WorldFile, where: str) -> Region:
    check_each_name("object", box.density, names, f"{where} > density")
    empty = Region(**box.model_dump(exclude={"density"}), name=name)
    room = empty.count_room((file.size[0] // 2, file.size[1] // 2))
    layers = tuple((names.index(k), count_objects(freq, room, empty.cells)) for k, freq in box.density.items())
    return replace(empty, layers=layers)


def make_gymnasium(env: Forager, render_mode: str | None = None) -> gymnasium.Env[Any, Any] | None:
    """Return a Gymnasium environment with the same episodes on the host engine; None without the extra `fast`."""
    from harvestgym.forager.gym_env import ForagerGym
    from harvestgym.forager.host_engine.numba_support import FAST

    return ForagerGym.of(env, render_mode) if FAST else None


def policies(env: Forager) -> dict[str, Policy]:
    """Return the policies that can read a world's observations, with the navigator as "expert"; none if it has a hint.

    A world with `objects` observations also has the planner, which only knows the rewards of the first step.
    """
    if not _can_navigate(env) or (MODES[env.mode].has_colors and env.world.teleport_every):
        return {}
    default = navigator(env)
    baseline = {"planner": planner(env)} if MODES[env.mode].has_channels else {}
    rules = {"navigator": default} | baseline
    expert = default if env.expert is None else build_rule(env.expert, make_rule_families(env), rules)
    return {"expert": expert} | baseline


def _can_navigate(env: Forager) -> bool:
    """Return whether the navigator can read the observations of a world, which must show the cells around the agent."""
    mode = MODES[env.mode]
    return not env.hint[0] and (mode.has_channels or mode.has_colors) and min(env.aperture) >= 3


def make_rule_families(env: Forager) -> dict[str, RuleFamily]:
    """Make the rule families of a world for `harvestgym tune`: the navigator, with extra numbers for random rewards."""
    if not _can_navigate(env):
        return {}
    numbers = {
        "discount": NumberRange(0.5, 0.99, DISCOUNT),
        "enough": NumberRange(0.0, 1.0, 0.0),
        "crowd": NumberRange(0.0, 0.5, 0.0),
        "straight": NumberRange(0.0, 0.5, 0.0, choices=(0.0, 0.5)),
    }
    if any(isinstance(kind.reward, Fourier) for kind in env.world.kinds):
        numbers |= {"unknown": NumberRange(0.0, 2.0, 1.0), "doubt": NumberRange(0.0, 1.0, 0.0)}
    return {"navigator": RuleFamily(numbers, lambda given: navigator(env, **dict[str, Any](given)))}


def summary(env: Forager, episodes: Any) -> dict[str, np.ndarray]:
    """Return, by episode, the mean reward per step, the objects collected, and the last running rate and regret."""
    length = np.maximum(np.asarray(episodes.length), 1)
    info = episodes.info
    return {
        "reward per step": np.asarray(episodes.returns) / length,
        "objects collected": np.asarray(info["collected"]),
        "last reward per step": np.asarray(info["reward_rate"]),
        "last biome regret": np.asarray(info["biome_regret"]),
    }


def record(env: Forager, state: ForagerState, action: Any, timestep: Any, params: ForagerParams) -> dict[str, Any]:
    """Return the recorded values of a step; for a small world, also the whole map."""
    place = {"x#cell": state.x.astype(np.int32), "y#cell": state.y.astype(np.int32), "clock#step": state.clock[1]}
    small = env.world.cells <= SMALL_WORLD
    seen = {"view": state.view} | ({"world": env.cells(state).astype(np.int8)} if small else {})
    return place | seen | {name: timestep.info[name] for name in RECORDED_INFO}


def figure(env: Forager, record: Mapping[str, np.ndarray]) -> Any:
    """Draw an episode as a Matplotlib figure: where the agent went, and the charts of its scene."""
    path = Line("", record["y#cell"], "", style="dots", x=record["x#cell"])
    way = Chart("Path (later steps are lighter)", "y, north (cells)", 0, (path,), {}, across="x, east (cells)")
    return draw_figure([way, *chart_rewards(env, record)], "step")
