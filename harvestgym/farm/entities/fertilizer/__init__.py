"""Fertilizers, which release nutrients into the soil."""

from .fertilizer import Fertilizer

__all__ = ["Fertilizer"]
