"""The command `convert`, which converts the files of a Farm-Gym farm to a single file."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Annotated

import typer

from .console import check_new_yaml

group = typer.Typer()


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
