"""The command `play`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .console import SEED_LIMITS, Id

group = typer.Typer()


@group.command()
def play(
    id: Id,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any free port")] = 8080,
    host: Annotated[str, typer.Option(help="default: this machine only; 0.0.0.0 accepts others")] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="open a browser")] = True,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the first episode of a tab")] = 0,
    horizon: Annotated[int | None, typer.Option(min=1, help="days, years or steps; default: those of the id")] = None,
    out: Annotated[Path, typer.Option(help="folder for saved episodes")] = Path(),
) -> None:
    """Play an environment yourself in the browser."""
    from harvestgym.play import run

    run(id, host, port, seed, horizon, out, show=browser, say=typer.echo)
