"""The weeds of a field."""

from .weeds import Weeds

__all__ = ["Weeds"]
