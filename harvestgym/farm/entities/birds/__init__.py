"""The birds over a field."""

from .birds import Birds as Birds
