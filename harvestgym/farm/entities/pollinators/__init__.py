"""The pollinators of a field."""

from .pollinators import Pollinators

__all__ = ["Pollinators"]
