"""Pest insects."""

from .pests import Pests as Pests
