"""The crops of a field."""

from .plant import Plant

__all__ = ["Plant"]
