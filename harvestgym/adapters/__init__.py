"""Thin shells between the core and other libraries, one file each, imported when asked for."""
