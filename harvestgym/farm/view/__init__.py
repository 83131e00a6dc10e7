"""Views of a recorded farm: pictures, tables and a timeline."""
