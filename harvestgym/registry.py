"""From an id to an environment: specs are data, families are named by strings and loaded when asked for.

Importing this module lists the catalogue folders (file names only) and imports neither JAX nor a family.
"""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from harvestgym.core.errors import ConfigError, check_name, unknown
from harvestgym.core.loading import load_object

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from harvestgym.core.env import Env

FAMILIES = ("farm", "fishing", "forager")
"""Each family is a package with a `catalogue/` of YAML files and a module `family`.

The module gives `make(name, **overrides)`, `policies(env)`, `summary(env, episodes)`, `record(...)`, `figure(env,
record)` and `describe(env)`; and may give `gymnasium_face(env, render_mode)`, a Gymnasium environment of its own
that lives as the functional one does, only faster (None where it cannot), and `risk(env)`, the risk measure by which
its score asks to be read.
"""


FILES = (".yaml", ".yml")
"""How an id ends that is the path of a farm file of one's own."""


@dataclass(frozen=True)
class EnvSpec:
    """How to build an environment: `entry_point(**kwargs)` returns an `Env`. Round-trips through JSON.

    `kwargs` are JSON values, so that a spec can be sent to another process and kept beside results.
    """

    id: str
    entry_point: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    def make(self, **overrides: Any) -> Env[Any, Any]:
        """The functional environment, with some keyword arguments changed.

        Switches JAX's persistent compilation cache on, see `harvestgym.core.xla.compile_cache`.
        """
        from harvestgym.core.xla import compile_cache

        compile_cache.enable()
        return load_object(self.entry_point)(**(self.kwargs | overrides))

    def to_json(self) -> str:
        """The spec as JSON text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> EnvSpec:
        """The spec of a JSON text."""
        return cls(**json.loads(text))


_SPECS: dict[str, EnvSpec] = {}


def family_function(id: str, name: str, default: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of the module that makes an id (`policies`, `summary`, `record`, `figure`), or the default."""
    module = spec(id).entry_point.partition(":")[0]
    if default is not None and not hasattr(importlib.import_module(module), name):
        return default
    return load_object(f"{module}:{name}")


def register(id: str, entry_point: str, **kwargs: Any) -> EnvSpec:
    """Add an id of your own: `entry_point` is `module:function` returning an `Env`; `kwargs` are JSON values."""
    known = EnvSpec(id, entry_point, kwargs)
    json.dumps(kwargs)
    _SPECS[id] = known
    gymnasium.register(
        id=id,
        entry_point="harvestgym.registry:_make_gymnasium",
        vector_entry_point="harvestgym.registry:_make_gymnasium_vec",
        kwargs={"harvest_id": id},
        order_enforce=True,
    )
    return known


def spec(id: str) -> EnvSpec:
    """The spec of an id, or of the path of a farm file; ConfigError with the nearest id if there is none."""
    if isinstance(id, str) and id.endswith(FILES):
        return EnvSpec(id, "harvestgym.farm.family:from_yaml", {"path": id})
    if not isinstance(id, str) or id not in _SPECS:
        if difflib.get_close_matches(str(id), _SPECS, n=1, cutoff=0.5):
            raise unknown("environment", id, _SPECS)
        hint = f"`harvestgym list` names the {len(_SPECS)} there are, and a farm file of yours ends in .yaml"
        raise ConfigError(f"unknown environment {id!r}; {hint}")
    return _SPECS[id]


def doc(id: str, env: object = None) -> str:
    """What a catalogue file, or a farm file, says of itself, in a line; or what the class of `env`, if any, says."""
    said = str(_told(id).get("doc", "")).strip()
    return said or ("" if env is None else (type(env).__doc__ or "").partition("\n")[0])


def tags(id: str) -> list[str]:
    """By what a catalogue file, or a farm file, wants to be found, what is hard in it first of all."""
    return list(_told(id).get("tags", []))


def _told(id: str) -> dict[str, Any]:
    from .core import yaml_io

    family, _, name = spec(id).id.partition("/")
    path = Path(id if id.endswith(FILES) else Path(__file__).with_name(family) / "catalogue" / f"{name}.yaml")
    return yaml_io.read(path) if path.is_file() else {}


def ids(family: str | None = None, tag: str | None = None) -> list[str]:
    """All registered ids, or those of one family, or with a tag. ConfigError for a tag that none of them has."""
    found = sorted(i for i in _SPECS if family is None or i.partition("/")[0] == family)
    if tag is None:
        return found
    tagged = {id: tags(id) for id in found}
    known = sorted({name for names in tagged.values() for name in names})
    if not known:
        raise ConfigError(f"no id of the family {family!r} has a tag, found {tag!r}; ask without a tag")
    check_name("tag", tag, known)
    return [id for id in found if tag in tagged[id]]


def make(id: str, **overrides: Any) -> Env[Any, Any]:
    """The functional environment of an id, or of the path of a farm file, `my-farm.yaml`."""
    return spec(id).make(**overrides)


def make_vec(
    id: str, num_envs: int, autoreset_mode: str = "NextStep", render_mode: str | None = None, **overrides: Any
) -> VectorEnv[Any, Any, Any]:
    """A `gymnasium.vector.VectorEnv` whose batch lives on the device; modes as Gymnasium names them."""
    from harvestgym.gym.env import VecEnv

    return VecEnv(make(id, **overrides), num_envs, autoreset_mode=autoreset_mode, render_mode=render_mode)


def _make_gymnasium(harvest_id: str, render_mode: str | None = None, **overrides: Any) -> gymnasium.Env[Any, Any]:
    from harvestgym.gym.env import GymEnv

    env = make(harvest_id, **overrides)
    faster = family_function(harvest_id, "gymnasium_face", lambda env, render_mode: None)(env, render_mode)
    return GymEnv(env, render_mode=render_mode) if faster is None else faster


def _make_gymnasium_vec(harvest_id: str, num_envs: int = 1, **overrides: Any) -> VectorEnv[Any, Any, Any]:
    return make_vec(harvest_id, num_envs, **overrides)


def register_catalogues() -> None:
    """Register every catalogue file `<family>/catalogue/<name>-v<N>.yaml` as `<family>/<name>-v<N>`."""
    for family in FAMILIES:
        folder = Path(__file__).with_name(family) / "catalogue"
        for name in sorted(path.stem for path in folder.glob("*-v[0-9]*.yaml")):
            register(f"{family}/{name}", f"harvestgym.{family}.family:make", name=name)
