"""The pollinators of a field."""

from .pollinators import Pollinators as Pollinators
