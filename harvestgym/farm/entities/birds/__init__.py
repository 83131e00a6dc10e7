"""The birds over a field."""

from .birds import Birds

__all__ = ["Birds"]
