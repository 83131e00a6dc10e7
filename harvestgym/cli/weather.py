"""The command that converts public weather files, `weather ghcn` for daily records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

group = typer.Typer(no_args_is_help=True, help="Convert public weather files for farms: ghcn.")


@group.command("ghcn")
def convert_station(
    file: Annotated[Path, typer.Argument(help="GHCN-Daily station file: ID.dly, ID.csv or ID.csv.gz")],
    out: Annotated[Path, typer.Option(help="weather table to write (CSV)")],
    missing: Annotated[int, typer.Option(min=0, max=365, help="maximum missing days per element and year")] = 10,
) -> None:
    """Write the longest run of complete years of a GHCN-Daily station as a weather table."""
    from harvestgym.farm.weather_data.ghcn import read_station

    table = read_station(file, missing)
    table.write(out)
    filled = ", ".join(f"{count} of {name}" for name, count in table.filled.items() if count)
    typer.echo(f"{table.dates[0].year} to {table.dates[-1].year}, {len(table.dates)} days; filled: {filled or 'none'}")
    typer.echo(f"wrote {out}; use it as [Weather, {{extends: base, table: {out}, rain: mm}}]")
