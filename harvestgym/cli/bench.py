"""The commands about the speed on this machine: `bench` and `cache`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from .console import COMPILING, print_table, progress_bars

DEFAULT = ["farm/full-1x1-v1"]

group = typer.Typer()
cache = typer.Typer(no_args_is_help=True, help="Show or clear the cache of compiled programs.")


@group.command("bench")
def measure_ids(
    ids: Annotated[list[str], typer.Argument(help="ids of `harvestgym list`")] = DEFAULT,
    batches: Annotated[
        list[int] | None, typer.Option(min=1, help="also a vector and a rollout of so many environments; repeatable")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="file for the figures as JSON")] = None,
) -> None:
    """Measure ids on this machine: start, steps per second and memory by interface, and the parts of a step."""
    import jax

    from harvestgym.evaluate import bench

    cases = [*bench.DEFAULT_CASES, *((kind, n) for n in batches or () for kind in (bench.VECTOR, bench.ROLLOUT))]
    figures: dict[str, Any] = {}
    with progress_bars() as start_bar:
        for id in ids:
            advance, speeds = start_bar(f"measuring {id}", len(cases), COMPILING), []
            for interface, num_envs in cases:
                speeds.append(bench.measure_speed(id, interface, num_envs))
                advance(1)
            figures[id] = {"interfaces": [speed._asdict() for speed in speeds]}
            print_table(bench.make_speed_table(id, speeds))
            print_table(bench.make_step_table(id, speeds[0].step_us))
    if out is not None:
        machine = {"jax": jax.__version__, "device": str(jax.devices()[0])}
        out.write_text(json.dumps(machine | figures, indent=2) + "\n")


@cache.command("show")
def show_cache() -> None:
    """Show the folder of compiled programs, its size and its limit."""
    from harvestgym.core.xla.setup import CACHE_LIMIT, list_programs

    folder = _find_folder()
    programs = list_programs(folder)
    size = sum(status.st_size for _, status in programs)
    typer.echo(f"{folder}: {len(programs)} programs, {size / 2**20:.0f} MiB of at most {CACHE_LIMIT / 2**20:.0f} MiB")


@cache.command("clear")
def clear_cache() -> None:
    """Remove all compiled programs; they are compiled again when needed."""
    from harvestgym.core.xla.setup import trim_cache

    folder = _find_folder()
    typer.echo(f"{folder}: removed {trim_cache(folder, limit=-1)} programs")


def _find_folder() -> Path:
    from harvestgym.core.errors import ConfigError
    from harvestgym.core.xla.setup import CACHE_VARIABLE, cache_folder

    folder = cache_folder()
    if folder is None:
        raise ConfigError(f"cache: expected a folder, got a cache that is switched off; unset {CACHE_VARIABLE}")
    return folder
