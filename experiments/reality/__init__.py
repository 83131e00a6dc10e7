"""Comparisons with measured data, by the frozen protocol in `protocol.md`."""
