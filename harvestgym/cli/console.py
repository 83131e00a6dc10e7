"""Code shared by the commands: arguments, tables and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harvestgym.core.errors import MAX_SEED, check_extras, check_parent, check_suffix
from harvestgym.core.loading import allow_modules
from harvestgym.evaluate.export import StartBar, check_new
from harvestgym.registry import FARM_SUFFIXES

if TYPE_CHECKING:
    from rich.console import Console

    from harvestgym.core.view.tables import ResultTable, Table

PIPE_WIDTH = 200
"""Width of output to a file or a pipe, in columns."""

Id = Annotated[str, typer.Argument(help="an id from `harvestgym list`, or the path of a file, such as my-farm.yaml")]
PolicyName = Annotated[str, typer.Option(help="expert, random, mixed, none, or another policy for the id")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        callback=lambda names: allow_modules(names or ()) or names,
        help="a module or file.py that you trust; files may then name its classes; repeat for several",
    ),
]
"""Modules to import before the command runs."""
SEED_LIMITS: dict[str, Any] = {"min": 0, "max": MAX_SEED}
"""Limits of seed options."""
Host = Annotated[str, typer.Option(help="address; default: this machine only; 0.0.0.0 accepts other machines")]

Engine = Annotated[str, typer.Option(help="local, or ray (a cluster or the cores of this machine)")]
Address = Annotated[str | None, typer.Option(help="Ray cluster: auto, or HOST:PORT; default: Ray on this machine")]
NumCpus = Annotated[float, typer.Option(min=0, help="CPUs per Ray task")]
NumGpus = Annotated[float, typer.Option(min=0, help="GPUs per Ray task")]

COMPILING = "compiling, then running"
"""Text of a progress bar until the first compiled call returns."""


def check_engine(engine: str, writes: bool) -> None:
    """Raise ConfigError, with the install command, if an extra is missing for the engine or for writing results."""
    check_extras("sweep", **({"data": "pyarrow"} if writes else {}), **({"ray": "ray"} if engine == "ray" else {}))


def check_new_yaml(path: Path) -> None:
    """Raise ConfigError unless `path` names a new YAML file in an existing folder."""
    check_new(check_parent(check_suffix(path, *FARM_SUFFIXES, exact=True)))  # farms are recognised by these suffixes


def make_console() -> Console:
    """Return a console for standard output; it is `PIPE_WIDTH` columns wide unless it is a terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def print_table(table: Table, console: Console | None = None, cut: bool = False) -> None:
    """Print a table; `cut` truncates each row to one line. Names are wrapped only if the table is too wide."""
    from rich.table import Table as RichTable
    from rich.text import Text

    console = console or make_console()
    console.print(table.title, soft_wrap=True, markup=False)
    drawn = RichTable(show_header=bool(table.columns), row_styles=["", "dim"])
    for i, column in enumerate(table.columns or ("",) * len(table.rows[0])):
        cells = [row[i] for row in table.rows]
        short = column == "name" and max(map(len, cells)) <= 0.6 * console.width
        numeric = not any(cell.strip("+-.0123456789e%") for cell in cells)  # numbers, or empty
        justify = "right" if i and numeric else "left"
        drawn.add_column(Text(column), justify=justify, no_wrap=short and not cut)
    for row in table.rows:
        drawn.add_row(*(Text(cell, overflow="ellipsis" if cut else "fold", no_wrap=cut or None) for cell in row))
    console.print(drawn)


def print_result(result: ResultTable, table: Table | None = None) -> None:
    """Print the table of a result, by default `to_table()`, and the lines below it."""
    print_table(table or result.to_table())
    for line in result.describe():
        typer.echo(line)


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[StartBar]:
    """Show progress bars on a terminal and remove them at the end; yield the function that adds a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeElapsedColumn, TimeRemainingColumn

    share = TaskProgressColumn(show_speed=True)  # shows no percentage for a bar without a total
    columns = ("{task.description}", BarColumn(), TimeElapsedColumn(), share, TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as progress:

        def start(name: str, total: int | None, first: str = "", /) -> Callable[[int], None]:
            task = progress.add_task(f"{name}: {first}" if first else name, total=None)
            return lambda parts: progress.update(task, description=name, total=total, advance=parts)

        yield start


@contextmanager
def progress_bar(name: str, total: int | None = None, first: str = COMPILING) -> Iterator[Callable[[int], None]]:
    """Show a single progress bar; yield the function that advances it."""
    with progress_bars() as start_bar:
        yield start_bar(name, total, first)
