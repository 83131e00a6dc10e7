"""Cides, which kill weeds, pests or other targets on the field, and some of the soil life."""

from .cide import Cide

__all__ = ["Cide"]
