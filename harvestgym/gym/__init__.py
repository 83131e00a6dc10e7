"""Gymnasium environments and vector environments over the functional contract."""
