"""Parts that the commands share: arguments, tables and progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from harvestgym.core.view.tables import Table

PIPE_WIDTH = 200
"""Columns of the tables of `show` in a file or a pipe."""

Id = Annotated[str, typer.Argument(help="an id of `harvestgym list`, or the path of a farm file, my-farm.yaml")]
PolicyName = Annotated[str, typer.Option(help="expert, random, none, or another policy of the id")]
SEED_LIMITS: dict[str, Any] = {"min": 0, "max": 2**32 - 1}
"""Limits of an option that is a seed."""

StartBar = Callable[[str, int | None], Callable[[int], None]]
"""Adds a progress bar (name, total or None) and returns the function that advances it."""


def make_console(pipe_width: int | None = None) -> Console:
    """Return a console on standard output, `pipe_width` columns wide where that is not a terminal."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal or pipe_width is None else Console(width=pipe_width)


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table; its names are not broken over lines where that leaves room for the rest."""
    from rich.table import Table as RichTable

    console = console or make_console()
    drawn = RichTable(title=table.title, title_justify="left", row_styles=["", "dim"])
    for i, column in enumerate(table.columns):
        widest = max((len(row[i]) for row in table.rows), default=0)
        drawn.add_column(column, overflow="fold", no_wrap=column == "name" and widest <= 0.6 * console.width)
    for row in table.rows:
        drawn.add_row(*row)
    console.print(drawn)


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[StartBar]:
    """Show progress bars on a terminal, and remove them at the end; yields the function that adds a bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal, transient=True) as progress:

        def start(name: str, total: int | None) -> Callable[[int], None]:
            return partial(progress.advance, progress.add_task(name, total=total))

        yield start
