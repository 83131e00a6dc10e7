"""What feeds the soil."""

from .fertilizer import Fertilizer

__all__ = ["Fertilizer"]
