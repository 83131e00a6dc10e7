"""Measure ids on this machine, from the root of a clone: `python -m experiments.bench farm/full-1x1-v0 --out FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import jax
import typer

from experiments.speed import interfaces
from harvestgym.cli.app import CommandGroup
from harvestgym.cli.console import COMPILING, print_table, progress_bars

DEFAULT = ["farm/full-1x1-v0"]

OPTIONS_ANYWHERE = {"allow_interspersed_args": True}
app = typer.Typer(cls=CommandGroup, add_completion=False, subcommand_metavar="", context_settings=OPTIONS_ANYWHERE)


@app.callback(invoke_without_command=True)
def measure_ids(
    ids: Annotated[list[str], typer.Argument(help="ids of `harvestgym list`")] = DEFAULT,
    batches: Annotated[
        list[int] | None,
        typer.Option(min=1, help="also measure a vector environment and a rollout of this size; repeatable"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="file for the figures as JSON")] = None,
) -> None:
    """Measure ids on this machine: start-up time, steps per second and memory by interface, and the parts of a step."""
    more = [(kind, number) for number in batches or () for kind in (interfaces.VECTOR, interfaces.ROLLOUT)]
    cases = [*interfaces.DEFAULT_CASES, *more]
    figures: dict[str, Any] = {}
    with progress_bars() as start_bar:
        for id in ids:
            advance, speeds = start_bar(f"measuring {id}", len(cases), COMPILING), []
            for interface, num_envs in cases:
                speeds.append(interfaces.measure_speed(id, interface, num_envs))
                advance(1)
            figures[id] = {"interfaces": [speed._asdict() for speed in speeds]}
            print_table(interfaces.make_speed_table(id, speeds))
            print_table(interfaces.make_step_table(id, speeds[0].step_us))
    if out is not None:
        machine = {"jax": jax.__version__, "device": str(jax.devices()[0])}
        out.write_text(json.dumps(machine | figures, indent=2) + "\n")


if __name__ == "__main__":
    app()
