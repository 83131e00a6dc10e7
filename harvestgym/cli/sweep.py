"""Commands for sweeps: `sweep run FILE` runs a sweep, `sweep status DIR` counts its finished cases."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harvestgym.core.errors import mismatch
from harvestgym.evaluate.export import check_folder

from .console import (
    COMPILING,
    Address,
    Allow,
    Engine,
    NumCpus,
    NumGpus,
    check_engine,
    print_table,
    progress_bars,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harvestgym.sweep.cases import EpisodeCase
    from harvestgym.sweep.engine import SweepReport

SUMMARY = "summary.png"
MOST_SHOWN = 20
"""Maximum number of failures to print."""


group = typer.Typer(no_args_is_help=True, help="Run the cases in a file, or count the finished ones.")


@group.command("run")
def run_sweep(
    file: Annotated[Path, typer.Argument(help="a YAML file with ids, overrides, policies and seeds")],
    out: Annotated[
        Path | None, typer.Option(help="folder for one Parquet file per case; existing files are kept")
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    max_retries: Annotated[int, typer.Option(min=0, help="retries for a failed case")] = 3,
    num_cpus: NumCpus = 1,
    num_gpus: NumGpus = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="count the cases and compilations without running them")
    ] = False,
    allow: Allow = None,
) -> None:
    """Run the cases in a file whose results are not in the folder yet."""
    from harvestgym.sweep.batches import EngineOptions
    from harvestgym.sweep.engine import sweep
    from harvestgym.sweep.grid import read_sweep_file
    from harvestgym.sweep.result_folder import find_status

    cases = read_sweep_file(file, allow or ())
    if dry_run:
        _print_plan(cases, out)
        return
    if out is None:
        raise mismatch("--out", "a folder", "none", "--out results, or --dry-run")
    check_folder("--out", out)
    check_engine(engine, writes=True)
    with progress_bars() as start_bar:
        bar = start_bar("sweep", len(cases), COMPILING)
        try:
            options = EngineOptions(engine, address, max_retries, num_cpus, num_gpus, tuple(allow or ()))
            report = sweep(cases, out, options, bar)
        except KeyboardInterrupt:
            found = find_status(out)
            typer.echo(f"interrupted: {found.done} of {found.total} cases are done; run it again to continue", err=True)
            raise typer.Exit(130) from None
    _print_report(report, out, set().union(*(case.shown for case in cases)))


@group.command("status")
def print_status(out: Annotated[Path, typer.Argument(help="the folder of a sweep")]) -> None:
    """Count the finished, failed and missing cases of a sweep."""
    from harvestgym.sweep.result_folder import find_status

    found = find_status(out)
    missing = found.total - found.done - len(found.failures)
    typer.echo(f"{found.done} of {found.total} cases done, {len(found.failures)} failed, {missing} missing")
    for path in found.incomplete:
        typer.echo(f"damaged: {path}; the next sweep will run its case again")
    _print_failures(found.failures)
    if found.failures or missing:
        raise typer.Exit(1)


def _print_plan(cases: Sequence[EpisodeCase], out: Path | None) -> None:
    """Print the number of cases, episodes, groups, batches and compiled programs."""
    from harvestgym.evaluate.episode_runner import prepare_setting
    from harvestgym.sweep.batches import make_batches
    from harvestgym.sweep.result_folder import find_result_path, is_complete

    structures = set()
    with progress_bars() as start_bar:
        advance = start_bar("building environments", len(cases))
        for case in cases:
            structures.add(prepare_setting(case).structure)
            advance(1)
    episodes, groups = sum(case.episodes for case in cases), len({case.batch_key for case in cases})
    parts = f"{groups} groups, {len(make_batches(cases))} batches, {len(structures)} compilations"
    typer.echo(f"{len(cases)} cases, {episodes} episodes, {parts}")
    if out is not None:
        done = sum(is_complete(find_result_path(out, case)) for case in cases)
        typer.echo(f"{done} of {len(cases)} cases are done in {out}")


def _print_report(report: SweepReport, out: Path, shown: set[str]) -> None:
    """Print and draw a summary of the rows by the labels in `shown`, and list the failures."""
    from harvestgym.evaluate.sweep_summary import draw_summary, make_summary_table
    from harvestgym.sweep.result_folder import read, read_labels

    done = report.total - len(report.failures)
    if done:
        rows, labels = read(out), read_labels(out)
        rows = rows.select([name for name in rows.column_names if name in shown or name not in labels])
        print_table(make_summary_table(rows, labels, f"{done} cases"))
        if find_spec("matplotlib") is not None:
            draw_summary(rows, labels, out / SUMMARY)
            typer.echo(f"wrote {out / SUMMARY}")
    typer.echo(f"{report.ran} cases run, {report.found} found in {out}, {len(report.failures)} failed")
    _print_failures({str(case): message for case, message in report.failures.items()})
    if report.failures:
        raise typer.Exit(1)


def _print_failures(failures: Mapping[str, str]) -> None:
    for case, message in list(failures.items())[:MOST_SHOWN]:
        typer.echo(f"failed: {case}: {message}")
    if len(failures) > MOST_SHOWN:
        typer.echo(f"and {len(failures) - MOST_SHOWN} more")
