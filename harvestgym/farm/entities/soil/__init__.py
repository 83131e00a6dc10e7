"""The soil of each plot."""

from .soil import Soil

__all__ = ["Soil"]
