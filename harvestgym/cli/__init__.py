"""The `harvestgym` command line."""

from .app import app

__all__ = ["app"]
