"""Pest insects."""

from .pests import Pests

__all__ = ["Pests"]
