"""The weeds in a field."""

from .weeds import Weeds as Weeds
