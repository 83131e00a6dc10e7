"""Commands for weather files: `weather show` and `weather get`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvestgym.core.errors import check_extras, check_parent, check_suffix, mismatch

from .console import print_table

group = typer.Typer(no_args_is_help=True, help="Show a weather file, or download a public record.")


@group.command("show")
def show_weather(
    file: Annotated[Path, typer.Argument(help="a weather file in any known format (docs/weather.md)")],
    column: Annotated[
        list[str], typer.Option(help="the meaning of a column, such as wind='U km/h at 10 m', or Datum=Date")
    ] = [],  # noqa: B006
    rain: Annotated[str, typer.Option(help="rain in mm, occurrence (0/1), or auto")] = "auto",
    fill: Annotated[
        int | None, typer.Option(help="fill in up to this many missing days per year with estimates")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="picture to write, *.png; needs the extra `plot`")] = None,
) -> None:
    """Report the format, period, gaps and ranges of a weather file."""
    from harvestgym.farm.weather_data import records, table

    if wrong := [each for each in column if "=" not in each]:
        raise mismatch("--column", "NAME=MEANING", repr(wrong[0]), "wind='U km/h at 10 m'")
    if picture is not None:
        check_extras("--picture", plot="matplotlib")
        check_parent(check_suffix(picture, ".png"))
    record = table.read_record(file, rain, columns=dict(each.split("=", 1) for each in column))  # pyright: ignore
    notes = list(records.list_findings(record))
    if fill is not None:
        record = table.fill_record(record, fill)
        notes.append("filled: the table above includes estimates for the missing days")
    elif record.describe_gaps():
        notes.append(f"a farm rejects this file, because values are missing; try {table.FILLING}")
    print_table(records.summarise_record(record))
    typer.echo("\n".join(notes))
    if picture is not None:
        records.draw_record(record, picture)


@group.command("get")
def get_weather(
    name: Annotated[str, typer.Argument(help="name of the record; if omitted, all names are listed")] = "",
    folder: Annotated[Path, typer.Option(help="folder for the file")] = Path(),
) -> None:
    """Download a public weather record and print its licence; needs the extra `download`. Existing files are kept."""
    from harvestgym.evaluate.export import check_folder
    from harvestgym.farm.weather_data.records import download_record, list_records

    if not name:
        typer.echo("\n".join(f"{each}  {of.about}" for each, of in list_records().items()))
        return
    check_folder("--folder", folder)
    path = download_record(name, folder)
    record = list_records()[name]
    typer.echo(f"{path}: {record.about}; licence: {record.licence}")
    if record.settings:
        typer.echo(f"use it as [Weather, {{extends: base, {record.settings}}}]")
