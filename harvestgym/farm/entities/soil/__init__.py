"""The soil of each plot."""

from .soil import Soil as Soil
