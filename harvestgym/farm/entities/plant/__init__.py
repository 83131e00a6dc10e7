"""The crops in a field."""

from .plant import Plant as Plant
