"""The weather over a field: days observed at a site, or generated from its climate."""

from .weather import Weather as Weather
