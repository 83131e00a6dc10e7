"""Host only: scenes of `core.marks` become pixels, SVG, text, films and pages."""
