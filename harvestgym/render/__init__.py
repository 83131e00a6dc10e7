"""Host only: scenes of `core.view.scene` become pixels, SVG, text, films and pages."""
