"""Evaluation of policies: returns, risk measures, tables, plots, datasets."""
