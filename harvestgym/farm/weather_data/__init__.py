"""Readers of weather: tables of daily observations, GHCN-Daily stations, monthly normals."""
