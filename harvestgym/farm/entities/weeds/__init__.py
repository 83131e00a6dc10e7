"""The weeds in a field."""

from .weeds import Weeds

__all__ = ["Weeds"]
