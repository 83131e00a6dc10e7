"""Commands that write new files: `new farm`, `new fishery`, `new forager` and `new entity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_FARM = "farm/bean-clay-1x1-v1"
DEFAULT_FISHERY = "fishing/logistic-v0"
DEFAULT_FORAGER = "forager/flowers-v1"

group = typer.Typer(no_args_is_help=True, help="Create a farm, fishery, forager or entity from a working template.")


@group.command("farm")
def new_farm(
    file: Annotated[Path, typer.Argument(help="the file to write, my-farm.yaml")],
    like: Annotated[str, typer.Option(help="the farm to copy, an id of `harvestgym list farm`")] = DEFAULT_FARM,
) -> None:
    """Write a farm file: a complete copy of a catalogue farm. Never overwrites."""
    from .new_files import write_new_farm

    typer.echo(f"wrote {write_new_farm(file, like)}; try `harvestgym run {file} --policy expert`")


@group.command("fishery")
def new_fishery(
    file: Annotated[Path, typer.Argument(help="the file to write, my-fishery.yaml")],
    like: Annotated[
        str, typer.Option(help="id of the fishery to copy, see `harvestgym list fishing`")
    ] = DEFAULT_FISHERY,
) -> None:
    """Write a fishery file: a complete copy of a catalogue fishery. Never overwrites."""
    from .new_files import write_new_fishery

    typer.echo(f"wrote {write_new_fishery(file, like)}; try `harvestgym run {file} --policy expert`")


@group.command("forager")
def new_forager(
    file: Annotated[Path, typer.Argument(help="the file to write, my-forager.yaml")],
    like: Annotated[
        str, typer.Option(help="id of the forager to copy, see `harvestgym list forager`")
    ] = DEFAULT_FORAGER,
) -> None:
    """Write a forager file: a complete copy of a catalogue forager. Never overwrites."""
    from .new_files import write_new_forager

    typer.echo(f"wrote {write_new_forager(file, like)}; try `harvestgym run {file} --policy expert`")


@group.command("entity")
def new_entity(
    name: Annotated[str, typer.Argument(help="name of the kind, GreenManure or green_manure")],
    folder: Annotated[Path, typer.Option(help="folder for the files")] = Path(),
) -> None:
    """Write a new kind of entity: a module, its parameter sets and a passing test. Never overwrites."""
    from .new_files import write_new_entity

    module, sets, test = write_new_entity(name, folder)
    typer.echo(f"wrote {module}, {sets} and {test}; try `pytest {test}`")
