"""Host only: scenes of `core.scene` become pixels, SVG, text, films and pages."""
