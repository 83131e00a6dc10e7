"""Commands that describe environments and their files: `list`, `show`, `check`, `schema` and `convert`."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harvestgym import registry
from harvestgym.core.errors import ConfigError, check_each_name, check_name, mismatch

from .console import PIPE_WIDTH, Allow, Id, check_new_yaml, make_console, print_table

if TYPE_CHECKING:
    from harvestgym.core.env import Env
    from harvestgym.core.view.tables import Table

group = typer.Typer()

SECTIONS = {
    "entities": "entities of a farm, laws of a fishery, objects and regions of a forager",
    "rules": "rules, score and random contexts of a farm",
    "actions": "the action space and the meaning of its numbers",
    "observations": "the observation space and the meaning of its numbers",
    "state": "variables of the state",
    "parameters": "parameters, with ranges or sources",
}
"""The sections of `harvestgym show` and their contents."""

CHECKED = 10
"""Number of episodes that `check` runs to find refused orders and slow growth."""

MOST_ROWS = 12
"""Maximum number of rows per table in the overview of `show`."""


@group.command("list")
def list_ids(
    family: Annotated[str | None, typer.Argument(help="farm, fishing or forager")] = None,
    tag: Annotated[str | None, typer.Option(help="only ids with this tag, such as watering or schedule")] = None,
    multi_agent: Annotated[
        bool, typer.Option("--multi-agent", help="multi-agent ids, made by harvestgym.make_parallel")
    ] = False,
) -> None:
    """List the registered ids; on a terminal, also their descriptions."""
    if family is not None:
        check_name("family", family, registry.FAMILIES)
    if multi_agent and tag is not None:
        raise mismatch("--tag", "no tag with --multi-agent, because these ids have none", "both", "only one")
    if multi_agent:
        from harvestgym.adapters.pettingzoo import describe_parallel

        found = {id: doc for id, doc in describe_parallel().items() if family in (None, id.partition("/")[0])}
    else:
        found = {id: registry.doc(id) for id in registry.ids(family, tag)}
    if sys.stdout.isatty():
        print_ids(found)
        if not multi_agent:
            if family in (None, "forager"):
                typer.echo(f"\nForagers never end; try a truncated twin: forager/weather-{registry.FIRST_STEPS}-v0")
            typer.echo("\nFor ids with several agents: harvestgym list --multi-agent")
    else:
        typer.echo("\n".join(found))


def print_ids(docs: dict[str, str]) -> None:
    """Print each id and its description on one line, cut to the width of the terminal."""
    from rich.console import Console

    console, width = Console(), max(map(len, docs), default=0)
    for id, doc in docs.items():
        console.print(f"{id:{width}}  {doc}", no_wrap=True, overflow="ellipsis", markup=False, highlight=False)


@group.command()
def show(
    id: Id,
    sections: Annotated[list[str] | None, typer.Argument(help=f"all, or some of {', '.join(SECTIONS)}")] = None,
    allow: Allow = None,
) -> None:
    """Describe an environment: an overview, or the requested sections with units, ranges and sources."""
    env, console = registry.make(id), make_console()
    tables = registry.family_function(id, "describe")(env)
    offered = [name for name in SECTIONS if any(name in table.sections for table in tables)]
    check_each_name(f"section of {id}", sections or (), [*offered, "all"])
    console.print(f"{id}  {registry.doc(id, env)}", markup=False, highlight=False)
    if text := registry.hard(id):
        console.print(f"Why it is hard: {text}", markup=False, highlight=False)
    wanted = offered if "all" in (sections or ()) else sections
    for table in tables if wanted else _make_overview(env, tables, offered):
        if not wanted or set(wanted) & set(table.sections):
            print_table(table, console, cut=not wanted)


def _make_overview(env: Env[Any, Any], tables: list[Table], offered: list[str]) -> list[Table]:
    """Return short tables of the spaces, entities and sections."""
    from harvestgym.core.spaces import summarise_space
    from harvestgym.core.view.tables import Table

    spaces = [(name, summarise_space(getattr(env, f"{name}_space"), PIPE_WIDTH)) for name in ("action", "observation")]
    parts = [table._replace(rows=table.rows[:MOST_ROWS]) for table in tables if "entities" in table.sections]
    rows = {name: sum(len(table.rows) for table in tables if name in table.sections) for name in offered}
    more = [*((name, SECTIONS[name], str(number)) for name, number in rows.items()), ("all", "all sections", "")]
    overview = Table("Gymnasium spaces", ("name", "space"), spaces)
    return [overview, *parts, Table("Sections, for `harvestgym show ID SECTION`", ("section", "shows", "rows"), more)]


@group.command()
def check(id: Id, allow: Allow = None) -> None:
    """Check that an environment satisfies the environment contract, and report violations."""
    from harvestgym.testing import check_env

    env = registry.make(id)
    try:
        check_env(env)
    except AssertionError as error:
        raise ConfigError(f"{id}: {error}") from None
    typer.echo(f"{id}: meets the contract")
    for note in [*registry.family_function(id, "list_notes", lambda env: [])(env), *_explain_policy(id, env)]:
        typer.echo(f"{id}: {note}")


def _explain_policy(id: str, env: Env[Any, Any]) -> list[str]:
    """Describe problems in a few seasons of the expert, or of random actions if there is no expert."""
    from harvestgym.evaluate.run import evaluate_id

    policy = "expert" if "expert" in registry.family_function(id, "policies", lambda env: {})(env) else "random"
    watched = registry.family_function(id, "watch", lambda env: env)(env)
    return [f"{policy}: {note}" for note in evaluate_id(id, policy, CHECKED, env=watched).notes]


@group.command()
def schema() -> None:
    """Print the JSON Schema of a farm file, for editors that complete and check YAML."""
    from harvestgym.farm.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


@group.command()
def convert(
    source: Annotated[Path, typer.Argument(help="a farm file of Farm-Gym, or the folder that contains it")],
    out: Annotated[Path, typer.Option(help="the farm file to write, *.yaml; never overwritten")],
) -> None:
    """Convert Farm-Gym's files to one farm file, and list what was kept, changed and lost."""
    from harvestgym.farm.build.compile import build
    from harvestgym.farm.build.farm_writer import write_farm
    from harvestgym.farm.farm_file import anchor
    from harvestgym.farm.paper.farm_gym.folder import find_farm_file, read_farm_gym
    from harvestgym.farm.schema import farm_spec

    check_new_yaml(out)
    path = find_farm_file(source)
    data, report = read_farm_gym(path)
    moved = deepcopy(data)
    anchor(data, path.resolve().parent)
    anchor(moved, path.resolve().parent, out.resolve().parent)  # weather tables stay where they are
    spec = build(farm_spec(data, path.name)).spec
    fields = farm_spec(moved, path.name).fields
    out.write_text(write_farm(spec.model_copy(update={"fields": fields})), encoding="utf-8")
    typer.echo(f"wrote {out}; try `harvestgym run {out} --policy random`")
    typer.echo("kept     " + ", ".join(f"{what}: {number}" for what, number in report.kept.items()))
    for kind, lines in (("changed", report.changed), ("lost", report.lost)):
        typer.echo("".join(f"{kind:9}{line}\n" for line in lines), nl=False)
