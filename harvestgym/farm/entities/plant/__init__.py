"""The crops in a field."""

from .plant import Plant

__all__ = ["Plant"]
