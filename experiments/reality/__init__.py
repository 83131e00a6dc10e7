"""Comparisons of the models with measured data, by the frozen `protocol.md`."""
