"""Facilities that are built on or around a field."""

from .facility import Facility as Facility
