"""Commands for the cache of compiled programs: `cache show` and `cache clear`."""

from __future__ import annotations

from pathlib import Path

import typer

group = typer.Typer(no_args_is_help=True, help="Show or clear the cache of compiled programs.")


@group.command("show")
def show_cache() -> None:
    """Show the folder for compiled programs, its size and its size limit."""
    from harvestgym.core.xla.setup import CACHE_LIMIT, list_programs

    folder = _find_folder()
    programs = list_programs(folder)
    size = sum(status.st_size for _, status in programs)
    typer.echo(f"{folder}: {len(programs)} programs, {size / 2**20:.0f} MiB of at most {CACHE_LIMIT / 2**20:.0f} MiB")


@group.command("clear")
def clear_cache() -> None:
    """Remove all compiled programs; they are recompiled when needed."""
    from harvestgym.core.xla.setup import trim_cache

    folder = _find_folder()
    typer.echo(f"{folder}: removed {trim_cache(folder, limit=-1)} programs")


def _find_folder() -> Path:
    from harvestgym.core.errors import ConfigError
    from harvestgym.core.xla.setup import CACHE_VARIABLE, cache_folder

    folder = cache_folder()
    if folder is None:
        raise ConfigError(f"cache: expected a folder, got a cache that is switched off; try unsetting {CACHE_VARIABLE}")
    return folder
