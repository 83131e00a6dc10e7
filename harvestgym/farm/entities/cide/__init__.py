"""What kills weeds, pests or another pest of the field, and some of the soil life."""

from .cide import Cide

__all__ = ["Cide"]
