"""Registry of environment ids: specs are data, and code is named by strings that are loaded when used.

Importing this module lists the catalogue folders (file names only) and imports neither JAX nor a family.
"""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from harvestgym.core.errors import ConfigError, UnknownKeywordError, check_name
from harvestgym.core.loading import load_object
from harvestgym.core.xla.processes import check_process

if TYPE_CHECKING:
    from gymnasium.vector import VectorEnv

    from harvestgym.core.env import Env

FAMILIES = ("farm", "fishing", "forager")
"""Packages with a `catalogue/` of YAML files and a module `family`.

The module has `make(name, **overrides)`, `policies(env)`, `summary(env, episodes)`, `record(...)`, `figure(env,
record)` and `describe(env)`. It may have `make_gymnasium(env, render_mode)`, a faster Gymnasium environment with the
same episodes (None where there is none), `risk(env)`, the risk measure of the environment's score,
`make_rule_families(env)`, the rules that `harvestgym tune` searches, and `list_notes(env)`, sentences for
`harvestgym check`.
"""

FARM_SUFFIXES = (".yaml", ".yml")
"""Suffixes of an id that is the path of a file of your own: a farm, a fishery or a forager."""

MAX_SEED = 2**32 - 1
"""The greatest seed of an episode; greater ones are taken modulo 2^32."""

FAMILY_KEYS = {"fishing": {"law", "noise", "problem", "Tmax"}, "forager": {"kinds", "aperture", "density", "regions"}}
"""Keys by which a file is known as that of a fishery or of a forager; every other file is that of a farm."""


@dataclass(frozen=True)
class EnvSpec:
    """Recipe of an environment: `entry_point(**kwargs)` returns an `Env`.

    `kwargs` are JSON values, so that a spec can be sent to another process and stored with results.
    """

    id: str
    entry_point: str
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The part of the id before the slash; of a file that of its reader."""
        return self.entry_point.split(".")[1] if self.id.endswith(FARM_SUFFIXES) else self.id.partition("/")[0]

    def make(self, **overrides: Any) -> Env[Any, Any]:
        """Make the functional environment, with some keyword arguments changed.

        Sets JAX up as `harvestgym.core.xla.setup` says: a persistent cache, and the thread of calls on the CPU.
        """
        from harvestgym.core.xla.setup import set_up_jax

        check_process()
        set_up_jax()
        return load_object(self.entry_point)(**(self.kwargs | overrides))


_SPECS: dict[str, EnvSpec] = {}


def family_function(id: str, name: str, default: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return a function (`policies`, `summary`, `record`, `figure`) from the family module of an id, or the default."""
    module = spec(id).entry_point.partition(":")[0]
    if default is not None and not hasattr(importlib.import_module(module), name):
        return default
    return load_object(f"{module}:{name}")


def register(id: str, entry_point: str, **kwargs: Any) -> EnvSpec:
    """Add your own id: `entry_point` is `module:function` returning an `Env`; `kwargs` are JSON values."""
    known = EnvSpec(id, entry_point, kwargs)
    json.dumps(kwargs)
    _SPECS[id] = known
    gymnasium.register(
        id=id,
        entry_point="harvestgym.gym.env:make_env",
        vector_entry_point="harvestgym.gym.vector_env:make_vec",
        kwargs={"harvest_id": id},
        order_enforce=True,
    )
    return known


def unregister(id: str) -> None:
    """Remove an id, here and from Gymnasium."""
    del _SPECS[id], gymnasium.registry[id]


def spec(id: str) -> EnvSpec:
    """Return the spec of an id, or of the path of your own file; ConfigError with the nearest id if there is none."""
    if isinstance(id, str) and id.endswith(FARM_SUFFIXES):
        return EnvSpec(id, f"harvestgym.{find_family(id)}.family:from_yaml", {"path": id})
    if not isinstance(id, str) or id not in _SPECS:
        names = {known.rpartition("/")[2]: known for known in _SPECS}  # all ids of a family begin alike
        if close := difflib.get_close_matches(str(id).rpartition("/")[2], names, n=1, cutoff=0.5):
            raise ConfigError(f"environment: expected a known name, got {id!r}; try {names[close[0]]!r}")
        hint = f"try `harvestgym list`, which prints all {len(_SPECS)} ids, or the path of a farm file, *.yaml"
        raise ConfigError(f"environment: expected a known name, got {id!r}; {hint}")
    return _SPECS[id]


def find_family(path: str | Path) -> str:
    """Return the family of a file by its keys; that of a farm if it is missing or can be no other."""
    from .core import yaml_io  # PyYAML, which a plain import does without

    data = yaml_io.read_file(Path(path)) if Path(path).is_file() else {}
    keys = set(data) if isinstance(data, dict) else set()
    counts = {family: len(keys & known) for family, known in FAMILY_KEYS.items() if "fields" not in keys}
    return max(counts, key=lambda family: counts[family]) if any(counts.values()) else "farm"


def doc(id: str, env: object = None) -> str:
    """Return the description in a catalogue or farm file, on one line; without one, that of the class of `env`."""
    text = str(_description(id).get("doc", "")).strip()
    return text or ("" if env is None else (type(env).__doc__ or "").partition("\n")[0])


def hard(id: str) -> str:
    """Return what is hard about an environment, from its own file, on one line; empty without such an entry."""
    return str(_description(id).get("hard", "")).strip()


def tags(id: str) -> list[str]:
    """Return the tags of a catalogue or farm file."""
    return list(_description(id).get("tags", []))


def locate_file(id: str) -> Path:
    """Return the path of the file of an id, whether it exists or not."""
    family, _, name = spec(id).id.partition("/")
    return Path(id if id.endswith(FARM_SUFFIXES) else _catalogue(family) / f"{name}.yaml")


def _description(id: str) -> dict[str, Any]:
    from .core import yaml_io  # PyYAML, which a plain import does without

    path = locate_file(id)
    return yaml_io.read_file(path) if path.is_file() else {}


def ids(family: str | None = None, tag: str | None = None) -> list[str]:
    """Return all ids, or those of a family, or with a tag. ConfigError for a tag that none of them has."""
    found = sorted(i for i in _SPECS if family is None or i.partition("/")[0] == family)
    if tag is None:
        return found
    tagged = {id: tags(id) for id in found}
    known = sorted({name for names in tagged.values() for name in names})
    if not known:
        raise ConfigError(f"{family}: expected no tag, as no id has one, got {tag!r}")
    check_name("tag", tag, known)
    return [id for id in found if tag in tagged[id]]


def make(id: str, **overrides: Any) -> Env[Any, Any]:
    """Make the functional environment of an id, or of the path of a file of your own, `my-farm.yaml`.

    Args:
        id: a registered id or a path.
        overrides: arguments of the `make` of its family (`farm.family`, `fishing.family`, `forager.family`) except
            `name`: entries of the file in place of its own, and for farms `entities` and `interface`.

    Raises:
        ConfigError: for an unknown id or argument, with the nearest valid name, or for a mistake in a value.
    """
    if "render_mode" in overrides:
        hint = f"try gymnasium.make('harvestgym:{id}', render_mode=...)"
        raise UnknownKeywordError(f"make() got an unexpected keyword argument 'render_mode', of Gymnasium only; {hint}")
    return spec(id).make(**overrides)


def make_vec(
    id: str, num_envs: int, autoreset_mode: str = "NextStep", render_mode: str | None = None, **overrides: Any
) -> VectorEnv[Any, Any, Any]:
    """Make a `gymnasium.vector.VectorEnv` whose batch lives on the device, with one of Gymnasium's autoreset modes.

    Further arguments are `max_episode_steps` and `wrappers` of the functional environment, and those of `make`.
    """
    make_batch = load_object("harvestgym.gym.vector_env:make_vec")
    return make_batch(id, num_envs, autoreset_mode, render_mode, **overrides)


def register_catalogues() -> None:
    """Register every catalogue file `<family>/catalogue/<name>-v<N>.yaml` as `<family>/<name>-v<N>`."""
    for family in FAMILIES:
        for name in sorted(path.stem for path in _catalogue(family).glob("*-v[0-9]*.yaml")):
            register(f"{family}/{name}", f"harvestgym.{family}.family:make", name=name)


def _catalogue(family: str) -> Path:
    return Path(__file__).with_name(family) / "catalogue"
