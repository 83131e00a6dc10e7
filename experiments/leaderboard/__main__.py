"""Make the leaderboard, from the root of a clone: `python -m experiments.leaderboard --out docs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.leaderboard import page, run, store
from experiments.leaderboard.cases import collect_rows, list_cases
from harvestgym.cli.app import CommandGroup
from harvestgym.cli.console import (
    COMPILING,
    Address,
    Engine,
    NumCpus,
    NumGpus,
    check_engine,
    print_table,
    progress_bars,
)
from harvestgym.core.errors import ConfigError
from harvestgym.core.loading import load_object
from harvestgym.evaluate.export import check_folder
from harvestgym.sweep.batches import EngineOptions
from harvestgym.sweep.engine import run_cases

app = typer.Typer(cls=CommandGroup, add_completion=False, subcommand_metavar="")


@app.callback(invoke_without_command=True)
def board(
    ids: Annotated[list[str] | None, typer.Option(help="ids, or farm, fishing, forager; default: all")] = None,
    seasons: Annotated[
        int | None, typer.Option(min=2, help="number of seasons; default: 1000, or 100 if they are long")
    ] = None,
    policy: Annotated[list[str] | None, typer.Option(help="NAME=file.py:function of id and environment")] = None,
    planned: Annotated[
        int, typer.Option(min=0, help="number of seasons for the blind and foresight rows; 0 for none")
    ] = 16,
    out: Annotated[Path | None, typer.Option(help="folder for leaderboard.md, .json and .parquet, or docs")] = None,
    work: Annotated[Path | None, typer.Option(help="folder from which an interrupted run continues")] = None,
    engine: Engine = "local",
    address: Address = None,
    num_cpus: NumCpus = 1,
    num_gpus: NumGpus = 0,
) -> None:
    """Compare policies on held-out seasons of each id; OUT keeps its rows of other ids."""
    for option, folder in (("--out", out), ("--work", work)):
        if folder is not None:
            check_folder(option, folder)
    check_engine(engine, work is not None)
    entrants = dict(map(_parse_entrant, policy or []))
    for target in entrants.values():
        load_object(target)  # a mistake raises one error here, instead of a failure for every id
    cases = list_cases(run.expand_ids(ids or []), seasons, entrants, planned)
    options, done, failures = EngineOptions(engine, address, num_cpus=num_cpus, num_gpus=num_gpus), {}, {}
    with progress_bars() as start_bar:
        advance = start_bar("leaderboard", len(cases), COMPILING)
        for case, outcome in run_cases(cases, work, options):
            advance(1)
            if outcome.columns is None:
                failures[case] = outcome.error
                continue
            done[case] = outcome.columns
            if out is not None:
                whole = store.merge_rows(store.read_rows(out), collect_rows(done, cases))
                store.write_rows(out, whole)
                page.write_page(out, whole)
    print_table(page.make_table(store.merge_rows([], collect_rows(done, cases))))
    for case, message in failures.items():
        typer.echo(f"failed: {case}: {message}", err=True)
    if failures:
        raise typer.Exit(1)


def _parse_entrant(text: str) -> tuple[str, str]:
    """Return the name and the target of a text NAME=TARGET."""
    name, _, target = text.partition("=")
    if not name or not target:
        raise ConfigError(f"--policy: expected NAME=file.py:function or NAME=package.module:function, got {text!r}")
    return name, target


if __name__ == "__main__":
    app()
