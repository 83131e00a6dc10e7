"""Facilities that are built on or around a field."""

from .facility import Facility

__all__ = ["Facility"]
