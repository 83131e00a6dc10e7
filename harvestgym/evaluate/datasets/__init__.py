"""Recorded demonstrations as Parquet files."""
