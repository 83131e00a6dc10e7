"""Commands that compare: `study` and `leaderboard`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from harvestgym.core.errors import ConfigError, check_extras, check_name
from harvestgym.core.loading import load_object
from harvestgym.core.yaml_io import parse
from harvestgym.evaluate import studies
from harvestgym.evaluate.export import check_folder

from .console import COMPILING, SEED_LIMITS, Address, Engine, NumCpus, NumGpus, check_engine, print_table, progress_bars

group = typer.Typer()


@group.command()
def study(
    name: Annotated[str, typer.Argument(help=f"one of {', '.join(studies.list_studies())}")],
    replicates: Annotated[int | None, typer.Option(min=1, help="number of episodes; default: the study's own")] = None,
    out: Annotated[Path | None, typer.Option(help="folder for the table (Parquet) and a picture")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="CPU threads; default: one per core")] = None,
    seed: Annotated[int | None, typer.Option(**SEED_LIMITS, help="of the episodes; default: the study's own")] = None,
    more: Annotated[list[str] | None, typer.Option("--set", help="a further argument, NAME=VALUE: side=1000")] = None,
    work: Annotated[Path | None, typer.Option(help="folder from which an interrupted study goes on")] = None,
    engine: Engine = "local",
    address: Address = None,
) -> None:
    """Run a study and print its tables; its episodes run in one batch."""
    if out is not None:
        check_folder("--out", out)
        check_extras("--out", data="pyarrow", plot="matplotlib")
    if jobs is not None:
        os.environ["NPROC"] = str(jobs)  # XLA sizes its thread pool by this when it starts
    run_study = studies.load_study(name)
    options = {k: v for k, v in (("replicates", replicates), ("seed", seed)) if v is not None}
    options |= dict(_parse_argument(text, name, run_study) for text in more or [])
    options |= _place_cases(name, run_study, work, engine, address)
    with progress_bars() as start_bar:
        found = run_study(out=out, progress=start_bar(f"study {name}", None, COMPILING), **options)
    for table in found if isinstance(found, list) else [found]:
        print_table(table)
    if out is not None:
        typer.echo(f"wrote {', '.join(sorted(str(path) for path in out.iterdir()))}")


def _place_cases(
    study: str, run_study: Callable[..., Any], work: Path | None, engine: str, address: str | None
) -> dict[str, Any]:
    """Return the arguments of a study that runs as a sweep; ConfigError if it runs in one batch."""
    from harvestgym.sweep import EngineOptions

    if work is None and engine == "local":
        return {}
    if "options" not in inspect.signature(run_study).parameters:
        raise ConfigError(f"{study}: expected no --work or --engine, as it runs in one batch, got one")
    if work is not None:
        check_folder("--work", work)
    check_engine(engine, work is not None)
    return {"work": work, "options": EngineOptions(engine, address)}


def _parse_argument(text: str, study: str, run_study: Callable[..., Any]) -> tuple[str, Any]:
    """Split NAME=VALUE; the value is YAML."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"--set: expected NAME=VALUE, got {text!r}")
    check_name(
        "argument", name, set(inspect.signature(run_study).parameters) - {"out", "progress", "work", "options"}, study
    )
    return name, parse(value, f"--set {name}")


@group.command()
def leaderboard(
    ids: Annotated[list[str] | None, typer.Option(help="ids, or farm, fishing, forager; default: all")] = None,
    seasons: Annotated[int | None, typer.Option(min=2, help="default: 1000, or 100 where they are long")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="NAME=file.py:function of id and environment")] = None,
    planned: Annotated[int, typer.Option(min=0, help="seasons of blind and foresight rows; 0: none")] = 16,
    out: Annotated[Path | None, typer.Option(help="folder for leaderboard.md, .json and .parquet, or docs")] = None,
    work: Annotated[Path | None, typer.Option(help="folder from which an interrupted run goes on")] = None,
    engine: Engine = "local",
    address: Address = None,
    num_cpus: NumCpus = 1,
    num_gpus: NumGpus = 0,
) -> None:
    """Compare policies on held-out seasons of each id; rows of other ids in OUT stay."""
    from harvestgym.evaluate.leaderboard import page, run, store
    from harvestgym.evaluate.leaderboard.cases import collect_rows, list_cases
    from harvestgym.sweep import EngineOptions, run_cases

    for option, folder in (("--out", out), ("--work", work)):
        if folder is not None:
            check_folder(option, folder)
    check_engine(engine, work is not None)
    entrants = dict(map(_parse_entrant, policy or []))
    for target in entrants.values():
        load_object(target)  # a mistake is one error here, not a failure of every id
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
    """Split NAME=TARGET."""
    name, _, target = text.partition("=")
    if not name or not target:
        raise ConfigError(f"--policy: expected NAME=file.py:function or NAME=package.module:function, got {text!r}")
    return name, target
