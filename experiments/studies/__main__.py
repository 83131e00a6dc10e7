"""Run a study, from the root of a clone: `python -m experiments.studies NAME --out results`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import studies
from harvestgym.cli.app import CommandGroup
from harvestgym.cli.console import (
    COMPILING,
    SEED_LIMITS,
    Address,
    Engine,
    NumGpus,
    check_engine,
    print_table,
    progress_bars,
)
from harvestgym.core.errors import ConfigError, check_extras, check_name
from harvestgym.core.yaml_io import parse
from harvestgym.evaluate.export import check_folder
from harvestgym.sweep.batches import LOCAL, EngineOptions

app = typer.Typer(cls=CommandGroup, add_completion=False, no_args_is_help=True, help=__doc__)


def study(
    context: typer.Context,
    replicates: Annotated[int | None, typer.Option(min=1, help="number of episodes; default: the study's own")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the table (Parquet) and a picture")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="CPU threads; default: one per core")] = None,
    seed: Annotated[
        int | None, typer.Option(**SEED_LIMITS, help="seed of the episodes; default: the study's own")
    ] = None,
    more: Annotated[list[str] | None, typer.Option("--set", help="another argument, such as side=1000")] = None,
    work: Annotated[Path | None, typer.Option(help="folder from which an interrupted study resumes")] = None,
    engine: Engine = "local",
    address: Address = None,
    num_gpus: NumGpus = 0,
) -> None:
    """Run the study and print its tables."""
    name = str(context.info_name)
    if out is not None:
        check_folder("--out", out)
        check_extras("--out", data="pyarrow", plot="matplotlib")
    if jobs is not None:
        os.environ["NPROC"] = str(jobs)  # XLA sizes its thread pool by this at startup
    run_study = studies.load_study(name)
    options = {k: v for k, v in (("replicates", replicates), ("seed", seed)) if v is not None}
    options |= dict(_parse_argument(text, name, run_study) for text in more or [])
    options |= _place_cases(name, run_study, work, EngineOptions(engine, address, num_gpus=num_gpus))
    with progress_bars() as start_bar:
        found = run_study(out=out, progress=start_bar(f"study {name}", None, COMPILING), **options)
    for table in found if isinstance(found, list) else [found]:
        print_table(table)
    if out is not None:
        typer.echo(f"wrote {', '.join(sorted(str(path) for path in out.iterdir()))}")


def _place_cases(name: str, run_study: Callable[..., Any], work: Path | None, options: EngineOptions) -> dict[str, Any]:
    """Return the sweep arguments of a study; raises ConfigError if the study runs in a single batch."""
    if work is None and options == LOCAL:
        return {}
    if "options" not in inspect.signature(run_study).parameters:
        raise ConfigError(f"{name}: expected no --work or --engine, because the study runs in one batch, got one")
    if work is not None:
        check_folder("--work", work)
    check_engine(options.engine, work is not None)
    return {"work": work, "options": options}


def _parse_argument(text: str, study: str, run_study: Callable[..., Any]) -> tuple[str, Any]:
    """Return the name and the value of a text NAME=VALUE, where the value is YAML."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set: expected NAME=VALUE, got {text!r}")
    check_name(
        "argument", name, set(inspect.signature(run_study).parameters) - {"out", "progress", "work", "options"}, study
    )
    return name, parse(value, f"--set {name}")


for each in studies.list_studies():
    app.command(each)(study)

if __name__ == "__main__":
    app()
