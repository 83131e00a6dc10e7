"""The `harvestgym` command line: one module per group of commands."""

from .app import app

__all__ = ["app"]
