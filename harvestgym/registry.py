"""Registry of environment ids: specs are data that refer to code by strings, so that code is loaded only when used.

Importing this module lists the catalogue folders (file names only); it imports neither JAX nor a family.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from harvestgym.core.errors import ConfigError, UnknownKeywordError, check_name, mismatch, require
from harvestgym.core.loading import allow_modules, load_object
from harvestgym.core.xla.process_checks import check_process

if TYPE_CHECKING:
    from harvestgym.core.env import Env

FAMILIES = ("farm", "fishing", "forager")
"""Packages with a `catalogue/` of YAML files and a module `family`.

The module has `make(name, **overrides)`, `policies(env)`, `summary(env, episodes)`, `record(...)`, `figure(env,
record)` and `describe(env)`. It may have `make_gymnasium(env, render_mode)`, a faster Gymnasium environment with the
same episodes (None if there is none), `risk(env)`, the risk measure for the environment's score, `derive_samples(env,
numbers)`, the numbers that an evaluation shows, `make_rule_families(env)`, the rules that `harvestgym tune` optimises,
and `list_notes(env)`, sentences for `harvestgym check`.
"""

FARM_SUFFIXES = (".yaml", ".yml")
"""Suffixes of ids that are paths to your own files: a farm, a fishery or a forager."""

PARALLEL = {
    "farm/shared-water-v0": "harvestgym.adapters.pettingzoo:make_shared_water",
    "fishing/commons-v0": "harvestgym.fishing.family:make_commons",
    "fishing/fleets-v0": "harvestgym.adapters.pettingzoo:make_fleets",
    "forager/several-v0": "harvestgym.adapters.pettingzoo:make_foragers",
}
"""The ids of multi-agent environments, for `harvestgym.make_parallel`, and the functions that make them."""

FIRST_STEPS = 5_000
"""Number of steps for which an endless episode is evaluated and recorded, and after which its twin id truncates it."""

FAMILY_KEYS = {"fishing": {"law", "noise", "problem", "Tmax"}, "forager": {"kinds", "aperture", "density", "regions"}}
"""Keys that identify a fishery file or a forager file; every other file is a farm file."""


@dataclass(frozen=True)
class EnvSpec:
    """The spec of an environment: `entry_point(**kwargs)` returns an `Env`.

    `kwargs` are JSON values, so that a spec can be sent to another process and stored with results. The spec of a twin,
    which truncates an endless environment, contains the id of this environment.
    """

    id: str
    entry_point: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The part of the id before the slash; for a file, the family that reads it."""
        return self.entry_point.split(".")[1] if self.id.endswith(FARM_SUFFIXES) else self.id.partition("/")[0]

    def make(self, **overrides: Any) -> Env[Any, Any]:
        """Make the functional environment, with some keyword arguments overridden.

        Sets up JAX as described in `harvestgym.core.xla.setup`: a persistent cache and the thread for calls on the CPU.
        The argument `allow` imports modules (`harvestgym.core.loading.allow_modules`).
        """
        from harvestgym.core.xla.setup import set_up_jax

        check_process()
        set_up_jax()
        arguments = self.kwargs | overrides
        allow_modules(arguments.pop("allow", ()))
        return load_object(self.entry_point)(**arguments)


_SPECS: dict[str, EnvSpec] = {}


def family_function(id: str, name: str, default: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function (`policies`, `summary`, `record`, `figure`) of an id, which takes the environment first.

    It is in the module of the entry point or, for your own id, in the family module of the environment that it
    receives. If it is in neither, or the name is not registered, the default is called.
    """
    if default is not None and not id.endswith(FARM_SUFFIXES) and id not in _SPECS:
        return default
    target = f"{spec(id).entry_point.rpartition(':')[0]}:{name}"
    try:
        return load_object(target)
    except ConfigError:
        return partial(_call_family, target, default)


def _call_family(target: str, default: Callable[..., Any] | None, env: Any, *more: Any) -> Any:
    name = target.rpartition(":")[2]
    found = getattr(importlib.import_module(env.family), name, default) if env.family else default
    return (found or load_object(target))(env, *more)


def register(id: str, entry_point: str, **kwargs: Any) -> EnvSpec:
    """Register your own id: `entry_point` is a `module:function` that returns an `Env`; `kwargs` are JSON values."""
    json.dumps(kwargs)
    return _add(id, EnvSpec(id, entry_point, kwargs))


def _add(id: str, known: EnvSpec, steps: int | None = None) -> EnvSpec:
    _SPECS[id] = known
    gymnasium.register(
        id=id,
        entry_point="harvestgym.gym.env:make_env",
        vector_entry_point="harvestgym.gym.vector_env:make_vec",
        kwargs={"harvest_id": id},
        max_episode_steps=steps,
        order_enforce=True,
    )
    return known


def unregister(id: str) -> None:
    """Remove an id, here and from Gymnasium."""
    del _SPECS[id], gymnasium.registry[id]


def spec(id: str) -> EnvSpec:
    """Return the spec of an id or of a path to your own file; ConfigError with the nearest id if it is unknown."""
    if isinstance(id, str) and id.endswith(FARM_SUFFIXES):
        return EnvSpec(id, f"harvestgym.{find_family(id)}.family:from_yaml", {"path": id})
    if not isinstance(id, str) or id not in _SPECS:
        if str(id) in PARALLEL:
            hint = f"harvestgym.make_parallel({id!r}), which needs the extra `multi`"
            raise mismatch(id, "an environment with one agent", "a game of several players", hint)
        names = {known.rpartition("/")[2]: known for known in _SPECS}  # all ids of a family have the same prefix
        close = difflib.get_close_matches(str(id).rpartition("/")[2], names, n=1, cutoff=0.5)
        hint = f"`harvestgym list`, which prints all {len(ids())} ids, or the path of a farm file, *.yaml"
        raise mismatch("environment", "a known name", repr(id), repr(names[close[0]]) if close else hint)
    return _SPECS[id]


def find_family(path: str | Path) -> str:
    """Return the family of a file, determined by its keys; "farm" if it is missing or has no keys of other families."""
    from .core import yaml_io  # PyYAML, which a plain import does not need

    data = yaml_io.read_file(Path(path)) if Path(path).is_file() else {}
    data = data if isinstance(data, dict) else {}
    base, _, _ = str(data.get("extends")).partition("/")
    if base in FAMILIES:
        return base
    keys = set(data)
    counts = {family: len(keys & known) for family, known in FAMILY_KEYS.items() if "fields" not in keys}
    return max(counts, key=lambda family: counts[family]) if any(counts.values()) else "farm"


def doc(id: str, env: object = None) -> str:
    """Return the description in an environment's file or, without one, the goal of `env` in sentences."""
    goal = () if env is None else family_function(id, "say_goal", lambda env: [])(env)
    return str(_description(id).get("doc", "")).strip() or " ".join(f"{line.removesuffix('.')}." for line in goal)


def hard(id: str) -> str:
    """Return the line in an environment's file that explains why it is hard; empty if there is none."""
    return str(_description(id).get("hard", "")).strip()


def headline(id: str, env: object = None) -> str:
    """Return the first sentence on what is hard in an environment or, if there is none, of its description."""
    return re.split(r"(?<=[.?]) (?=[A-Z])", hard(id) or doc(id, env))[0]


def tags(id: str) -> list[str]:
    """Return the tags of a catalogue or farm file."""
    return list(_description(id).get("tags", []))


def locate_file(id: str) -> Path:
    """Return the path of the file of an id, whether it exists or not."""
    family, _, name = spec(id).id.partition("/")
    return Path(id if id.endswith(FARM_SUFFIXES) else _catalogue(family) / f"{name}.yaml")


def _description(id: str) -> dict[str, Any]:
    from .core import yaml_io  # PyYAML, which a plain import does not need

    path = locate_file(id)
    return yaml_io.read_file(path) if path.is_file() else {}


def ids(family: str | None = None, tag: str | None = None) -> list[str]:
    """Return all ids except twins, or those in a family or with a tag. Raises ConfigError if no id has the tag."""
    found = sorted(i for i, known in _SPECS.items() if i == known.id and family in (None, i.partition("/")[0]))
    if tag is None:
        return found
    tagged = {id: tags(id) for id in found}
    known = sorted({name for names in tagged.values() for name in names})
    require(known, "tag", f"None, because the ids of {family} have no tags", repr(tag))
    check_name("tag", tag, known)
    return [id for id in found if tag in tagged[id]]


def make(id: str, **overrides: Any) -> Env[Any, Any]:
    """Make the functional environment for an id or the path of your own file, `my-farm.yaml`.

    Args:
        id: a registered id or a path.
        overrides: arguments of its family's `make` (in `farm.family`, `fishing.family`, `forager.family`) except
            `name`: entries that replace those in the file and, for farms, `entities` and `interface`. In addition,
            `allow` is a list of modules to import (`["mine"]`, `["mine.py"]`), so that a file may name their classes.

    Raises:
        ConfigError: for an unknown id or argument, with the nearest valid name, or for an invalid value.
    """
    if "render_mode" in overrides:
        hint = f"try gymnasium.make('harvestgym:{id}', render_mode=...)"
        raise UnknownKeywordError(f"make() got an unexpected keyword argument 'render_mode'; {hint}")
    return spec(id).make(**overrides)


def register_catalogues() -> None:
    """Register every catalogue file `<family>/catalogue/<name>-v<N>.yaml` as `<family>/<name>-v<N>`.

    Foragers are endless: each has a twin `forager/<name>-5000-v<N>` that truncates its episodes.
    """
    for family in FAMILIES:
        for name in sorted(path.stem for path in _catalogue(family).glob("*-v[0-9]*.yaml")):
            known = register(f"{family}/{name}", f"harvestgym.{family}.family:make", name=name)
            if family == "forager":
                twin = replace(known, kwargs=known.kwargs | {"horizon": FIRST_STEPS})
                _add(f"-{FIRST_STEPS}-v".join(known.id.rsplit("-v", 1)), twin, FIRST_STEPS)


def _catalogue(family: str) -> Path:
    return Path(__file__).with_name(family) / "catalogue"
