"""Cides, which kill weeds, pests or other targets on the field, and part of the soil microlife."""

from .cide import Cide as Cide
