"""The HarvestGym command line. `harvestgym COMMAND --help` describes a command."""

from __future__ import annotations

import errno
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from harvestgym.core.errors import ConfigError

from . import cache, environments, new, run, serve, sweep, weather


class CommandGroup(TyperGroup):
    """A group of commands that prints user errors and file errors as one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            _fail(str(error))
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader closed the pipe
            _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))


def _fail(message: str) -> NoReturn:
    typer.echo(f"harvestgym: {message}", err=True)
    raise typer.Exit(2)


app = typer.Typer(
    cls=CommandGroup, add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_show_locals=False
)
app.add_typer(environments.group)
app.add_typer(run.group)
app.add_typer(new.group, name="new")
app.add_typer(cache.group, name="cache")
app.add_typer(serve.group, name="serve")
app.add_typer(sweep.group, name="sweep")
app.add_typer(weather.group, name="weather")


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False) -> None:
    """Show the version if requested. Warnings are printed as one line, without a place in the code."""
    warnings.formatwarning = lambda message, *_args, **_named: f"harvestgym: {message}\n"
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"harvestgym {version_of('harvestgym')}")
        raise typer.Exit
