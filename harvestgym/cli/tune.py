"""The command that tunes experts: `tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harvestgym import registry

from .console import COMPILING, SEED_LIMITS, Id, progress_bars

group = typer.Typer()


@group.command("tune")
def tune_expert(
    id: Id,
    seed: Annotated[int, typer.Option(**SEED_LIMITS, help="seed of the search and of its training seasons")] = 0,
    candidates: Annotated[int, typer.Option(min=32, help="candidates of each rule")] = 480,
    seasons: Annotated[int, typer.Option(min=2, help="training seasons for each candidate")] = 48,
    out: Annotated[Path | None, typer.Option(help="file; default: tuned/NAME.yaml next to the id's file")] = None,
) -> None:
    """Tune the rules of an id on its training split; the best one becomes its expert.

    Differential evolution searches the numbers of each rule, all candidates of a generation in one batch.
    """
    from harvestgym.core.config import locate_tuned
    from harvestgym.evaluate.tune import Budget, find_rules, tune_rules

    families, _ = find_rules(id, registry.make(id))
    with progress_bars() as start_bar:
        advance = start_bar(f"tuning {id}", candidates * max(len(families), 1), COMPILING)
        best = tune_rules(id, seed, Budget(candidates, seasons), advance)
    path = locate_tuned(registry.locate_file(id)) if out is None else out
    best.write(path)
    numbers = ", ".join(f"{name} = {value:g}" for name, value in best.numbers.items()) or "no numbers"
    typer.echo(f"{best.rule}: {numbers}")
    typer.echo(f"training return {best.made['training return']:g}; wrote {path}")
