"""The weather of a field: observed days of a site, or days generated from its climate."""

from .weather import Weather

__all__ = ["Weather"]
