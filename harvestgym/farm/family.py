"""The farm family: farms from the catalogue and from files, and the functions that every family offers.

The functions of a family are `policies`, `risk`, `summary`, `derive_samples`, `record`, `flows`, `figure`, `scene`,
`timeline`, `describe`, `explain`, `explain_policy` and `find_variable`; `registry.family_function` finds them by name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jax import Array

from harvestgym.core.env import Env
from harvestgym.core.errors import check_name, mismatch, name_file, require, unknown
from harvestgym.core.loading import LazyMapping
from harvestgym.core.policy import Policy
from harvestgym.core.pytree import Meta
from harvestgym.core.risk import Measure
from harvestgym.core.rollout import Episodes
from harvestgym.core.tuning.rule_family import read_tuned
from harvestgym.farm.build.compile import build
from harvestgym.farm.build.compile import build_text as build_text
from harvestgym.farm.build.context_compiler import replace_part
from harvestgym.farm.build.farm_writer import write_farm as write_farm
from harvestgym.farm.build.reset_options import set_options as set_options
from harvestgym.farm.engine.formula_compiler import find_one_item
from harvestgym.farm.engine.model import FarmModel
from harvestgym.farm.engine.reward_terms import LIFE, RESOURCES
from harvestgym.farm.entities.plant.plant import Plant
from harvestgym.farm.entities.soil.soil import Soil
from harvestgym.farm.formula_parser import is_variable, parse_formula
from harvestgym.farm.learn.action_wrappers import WRAPPERS, wrap_actions
from harvestgym.farm.learn.map_farm import MapFarm
from harvestgym.farm.paper.farm_gym.folder import read_any_data
from harvestgym.farm.policies.expert_rules import compile_policy, list_harvest_rules
from harvestgym.farm.policies.rule_numbers import list_thresholds, replace_numbers
from harvestgym.farm.policies.rule_numbers import make_rule_families as make_rule_families
from harvestgym.farm.view.describe import describe as describe
from harvestgym.farm.view.describe import say_goal as say_goal
from harvestgym.farm.view.diagnosis import count_orders
from harvestgym.farm.view.diagnosis import explain as explain
from harvestgym.farm.view.diagnosis import watch as watch
from harvestgym.farm.view.events import find_events as find_events
from harvestgym.farm.view.figure import figure as figure
from harvestgym.farm.view.recorder import flows as flows
from harvestgym.farm.view.recorder import record as record
from harvestgym.farm.view.scene import scene as scene
from harvestgym.farm.view.timeline import timeline as timeline
from harvestgym.farm.view.words import say_cause

from .farm_file import expand_presets
from .schema import FarmSpec, farm_spec
from .spelling import merge_farms

CATALOGUE = Path(__file__).with_name("catalogue")

SCORED = {"bio": LIFE, "resource": RESOURCES, "soil": ["Soil"], "plant": ["Plant"]}
"""The tallies and kinds of entity that some weights of the score need to have an effect."""

NEVER_SOWN = "never sown"
"""Text shown instead of the cause of death for a crop that is never grown."""


def make(name: str, entities: Mapping[str, Any] | None = None, interface: str | None = None, **overrides: Any) -> Any:
    """Make a farm from the catalogue.

    Args:
        name: the file's name, such as `bean-1x1-v0`.
        entities: other parameter sets for some entities, `{"Weather-0": "lille"}` or, with several fields,
            `{"Field-1/Soil-0": {"extends": "clay", "depth#m": 0.8}}`; or single parameters, `{"Soil-0/depth#m": 0.8}`.
        interface: "map" for maps and three-part orders (`farm.learn.map_farm`), "discrete", "multidiscrete" or
            "box" for actions as numbers (`wrap_actions`); by default the farm itself.
        overrides: entries to merge into the farm file (`mode="fo"`, `rules={"horizon#day": 90}`).

    Raises:
        ConfigError: lists the path of every mistake and the nearest valid name.
    """
    path = CATALOGUE / f"{name}.yaml"
    if not path.is_file():
        raise unknown("farm", name, (p.stem for p in CATALOGUE.glob("*-v*.yaml")))
    return from_yaml(path, entities, interface, **overrides)


def from_yaml(
    path: str | Path, entities: Mapping[str, Any] | None = None, interface: str | None = None, **overrides: Any
) -> Env[Any, Any]:
    """Make a farm from a file, with the same changes as `make`; raise ConfigError if it is missing or has mistakes.

    A weather table named in the file is read from the file's folder; a table named in the arguments is read from the
    working folder. The expert's rules use the numbers in the tuned file (`harvestgym tune`), if it exists.
    """
    given = overrides if entities is None else {**overrides, "entities": entities}
    known = ("entities", "interface", "render_mode", *FarmSpec.model_fields)
    data, name = read_any_data(Path(path)), Path(path).name
    presets = farm_spec(data, name).presets if given.keys() - set(known) else {}
    overrides = expand_presets(presets, given, known)
    entities = overrides.pop("entities", None)
    spec = farm_spec(merge_farms(data, overrides), name)
    with nullcontext() if overrides or entities is not None else name_file(Path(path)):
        model = build(spec if entities is None else replace_sets(spec, entities))
    if "expert" not in overrides and (tuned := read_tuned(Path(path))) is not None:
        rules = replace_numbers(model.spec.expert, tuned.numbers, f"{path} > tuned expert")
        model = replace(model, spec=model.spec.model_copy(update={"expert": rules}))
    return model if interface is None else wrap(model, interface)


def wrap(model: FarmModel, interface: str) -> Env[Any, Any]:
    """Wrap a farm in one of the interfaces that `make` offers."""
    check_name("interface", interface, ("map", *WRAPPERS))
    return MapFarm(model) if interface == "map" else wrap_actions(model, interface)


def replace_sets(spec: FarmSpec, entities: Mapping[str, Any]) -> FarmSpec:
    """Replace the parameter sets of the named entities."""
    require(isinstance(entities, Mapping), "entities", "a mapping such as {'Weather-0': 'lille'}", repr(entities))
    fields = dict(spec.fields)
    for target, which in sorted(entities.items(), key=lambda entry: str(entry[0]).count("/")):  # sets before parameters
        field, _, entity = str(target).partition("/")
        if field not in spec.fields and (not entity or "#" in str(target).rpartition("/")[2]):
            field, entity = "", str(target)  # the farm has only one field
        if not field and len(spec.fields) > 1:
            hint = f"a name such as 'Field-0/Weather-0', with a field from {list(spec.fields)}"
            raise mismatch("entities", "a field", "none", hint)
        field = field or next(iter(spec.fields))
        check_name("field", field, spec.fields, "entities")
        fields[field] = replace_part(fields[field], entity, which, "entities")
    return spec.model_copy(update={"fields": fields})


def policies(env: Env[Any, Any]) -> Mapping[str, Policy]:
    """Return the policies that a farm has: its expert, and one that only harvests; none for a wrapped farm."""
    if not isinstance(env, FarmModel):
        return {}
    rules = {"expert": env.spec.expert, "harvest": list_harvest_rules(env)}
    return LazyMapping({name: partial(compile_policy, env, found) for name, found in rules.items() if found})


def risk(env: FarmModel) -> Measure | None:
    """Return the score's risk measure, if it has one."""
    return env.spec.scoring.risk


def find_unsown(env: FarmModel) -> list[tuple[str, str]]:
    """Return the field and name of each crop that never grows: it has no initial stage, and nothing sows it."""
    crops = {v.where: env.params.fields[v.field].entities[v.entity] for v in env.variables}
    sown = {row.names for row in env.actions.rows if row.action.name == "sow"}
    begun = [(s.variable, v) for s, v in zip(env.starts, env.params.starts, strict=True) if s.variable.attr == "stage"]
    sown |= {variable.where for variable, values in begun if np.any(np.asarray(values) > 0)}
    return [where for where, entity in crops.items() if type(entity) is Plant and where not in sown]


def list_notes(env: FarmModel) -> list[str]:
    """Return one sentence for each setting that is valid but probably unintended."""
    why = "it has no stage in rules > init, and there is no intervention `sow`"
    unsown = [f"{field}/{crop} is {NEVER_SOWN}: {why}" for field, crop in find_unsown(env)]
    return [*unsown, *(f"{path} has no effect: {reason}" for path, reason in _list_idle(env)), *dict(env.unread)]


def _list_idle(env: FarmModel) -> Iterator[tuple[str, str]]:
    """Yield the path of each entry that has no effect, and the reason."""
    score, kinds = env.spec.scoring, [slot.kind for slot in env.names.slots.values()]
    counted = {*env.tallies, *(base.__name__ for kind in kinds for base in kind.__mro__)}
    for name, needed in SCORED.items():
        if name in score.model_fields_set and getattr(score, name) and counted.isdisjoint(needed):
            yield f"scoring > {name}", f"the farm has no {', '.join(needed)}"
    if env.spec.rules.observations and env.spec.mode != "ao":
        yield "rules > observations", f"observations are requested in mode 'ao' only, not in {env.spec.mode!r}"
    for name, field in env.spec.fields.items():
        if field.own_weather and (len(env.spec.fields) == 1 or not any(kind.shared for kind in kinds)):
            yield f"fields > {name} > own_weather", "no other field has the same weather"


def explain_policy(env: FarmModel, name: str) -> list[str]:
    """Return a sentence for each condition of the expert on an amount of water that its soil never or always holds."""
    rules = enumerate(env.spec.expert if name == "expert" and not env.contexts.draws else (), start=1)
    named = ((f"rule {i} of the expert ({r.do or f'observe {r.observe}'})", text) for i, r in rules for text in r.when)
    return [f"{rule}: {said}" for rule, text in named for said in _list_idle_limits(env, text)]


def _list_idle_limits(env: FarmModel, condition: str) -> Iterator[str]:
    """Yield a sentence for each comparison of soil water with an amount that the crops on the soil cannot extract."""
    for name, of, number in list_thresholds(parse_formula(condition)):
        node = of.args[0] if isinstance(of, ast.Call) and ast.unparse(of.func) != "sum" else of
        if not is_variable(getattr(node, "value", node)):
            continue
        variable = find_one_item(env.names, node, "expert").variable
        field = env.params.fields[variable.field]
        soil = field.entities[variable.entity]
        if isinstance(soil, Soil) and variable.attr == "water":
            capacity, wilting = map(float, soil.bucket(field.place))
            if not wilting < number.value < capacity:
                often = "always" if ("<" in name) == (number.value >= capacity) else "never"
                holds = f"a plot holds {wilting:g} L (wilting point) to {capacity:g} L (field capacity)"
                yield f"`{name} {number.value:g}` is almost {often} true, because {holds}"


def find_variable(
    env: FarmModel, field: str, entity: str, variable: str, where: str
) -> tuple[Callable[[Any, Any], Array], Meta]:
    """Find a variable by name, for monitoring; return a function that reads it and the metadata of the variable."""
    found = env.names.variable(field, entity, variable, where)
    return partial(env.value, found), found.meta


def costs(env: FarmModel, episodes: Episodes) -> dict[str, Any]:
    """Return the cost of each constraint in each season, as a share of its limit."""
    totals = [name for name in episodes.info if name.startswith("total/")]
    return env.params.score.constrain({name.removeprefix("total/"): episodes.info[name] for name in totals})


def summary(env: FarmModel, episodes: Episodes) -> dict[str, np.ndarray]:
    """Return, for each season, yields, the water used, the number of orders, and the cause of death on each plot.

    A crop's yield is per m2 of the whole field, including plots with other crops or none.
    """
    info, unsown = episodes.info, find_unsown(env)
    out = {"yield kg": info["total/harvest#kg"]} if "total/harvest#kg" in info else {}
    out |= {"water used L": info["total/water#L"]} if "total/water#L" in info else {}
    out |= costs(env, episodes) | count_orders(episodes)
    for variable in env.variables:
        name = f"{'/'.join(variable.where)}/{variable.attr}"
        if name not in info:
            continue
        entity = variable.where[1] if len(env.fields) == 1 else "/".join(variable.where)
        values = np.asarray(info[name]).reshape(len(episodes.returns), -1)
        if variable.attr == "harvest_weight":
            out[f"{entity} yield kg/m2"] = values.mean(1) / float(env.params.fields[variable.field].place.surface)
        elif variable.attr == "cause_of_death":
            found = np.asarray([say_cause(label) for label in variable.meta.labels])[values.astype(int)]
            out[f"{entity} cause of death"] = np.full(found.shape, NEVER_SOWN) if variable.where in unsown else found
    return {name: np.asarray(values) for name, values in out.items()}


def derive_samples(env: FarmModel, numbers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the numbers of seasons (lengths first) and their conversions, also without failed harvests.

    Water is also in mm, the mean over all fields, and yields in t/ha.
    """
    area = sum(float(field.place.surface) * np.prod(field.place.shape) for field in env.params.fields)
    out = {**numbers} | {name.replace("kg/m2", "t/ha"): 10 * numbers[name] for name in numbers if "kg/m2" in name}
    out |= {"water used mm": numbers["water used L"] / area} if "water used L" in numbers else {}
    harvested, length = numbers.get("yield kg", np.zeros(0)) > 0, next(iter(numbers))
    if harvested.all() or not harvested.any():
        return out
    names = [name for name in out if name == length or "yield" in name]
    return out | {f"{name}, harvested seasons": out[name][harvested] for name in names}
