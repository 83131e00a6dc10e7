"""Commands about environments: `list`, `show`, `check` and `schema`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from harvestgym import registry
from harvestgym.core.errors import ConfigError, check_name

from .console import PIPE_WIDTH, Id, make_console, print_table

group = typer.Typer()


@group.command("list")
def list_ids(
    family: Annotated[str | None, typer.Argument(help="farm, fishing or forager")] = None,
    tag: Annotated[str | None, typer.Option(help="only ids with this tag, such as watering or schedule")] = None,
) -> None:
    """List the registered ids; adds descriptions when printed to a terminal."""
    if family is not None:
        check_name("family", family, registry.FAMILIES)
    found = registry.ids(family, tag)
    if sys.stdout.isatty():
        print_ids(found)
    else:
        typer.echo("\n".join(found))


def print_ids(ids: list[str]) -> None:
    """Print each id and its description on one line, cut at the width of the terminal."""
    console, width = make_console(), max(map(len, ids), default=0)
    for id in ids:
        line = f"{id:{width}}  {registry.doc(id)}"
        console.print(line, no_wrap=True, overflow="ellipsis", markup=False, highlight=False)


@group.command()
def show(id: Id) -> None:
    """Show the variables, actions, observation and parameters of an id, with unit, range and source."""
    env, console = registry.make(id), make_console(PIPE_WIDTH)
    console.print(f"[bold]{id}[/bold]  {registry.doc(id, env)}")
    for table in registry.family_function(id, "describe")(env):
        print_table(table, console)


@group.command()
def check(id: Id) -> None:
    """Check an environment against the contract and report what is wrong."""
    from harvestgym.testing import check_env

    try:
        check_env(registry.make(id))
    except AssertionError as error:
        raise ConfigError(f"{id}: {error}") from None
    typer.echo(f"{id}: keeps the contract")


@group.command()
def schema() -> None:
    """Print the JSON Schema of a farm file, for editors that complete and check YAML."""
    from harvestgym.farm.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
