"""Fertilizers, which release nutrients into the soil."""

from .fertilizer import Fertilizer as Fertilizer
