"""Rendering on the host: scenes of `core.view.scene` as pixels, SVG, text, videos and pages."""
