"""Adapters to other libraries, one file per library, imported on request."""
