"""Recorded demonstrations as Parquet files and Minari datasets."""
