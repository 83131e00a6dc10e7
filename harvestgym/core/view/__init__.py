"""Renderer-independent views of an environment: scenes, timelines and tables."""
