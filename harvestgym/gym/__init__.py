"""Gymnasium environments and vector environments for functional environments."""
