"""The weather of a field: a site's real days replayed, or days generated after its climate."""

from .weather import Weather

__all__ = ["Weather"]
