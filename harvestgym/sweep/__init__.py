"""Resumable sweeps: many cases as data, run in one process or on a Ray cluster, with one Parquet file per case.

`engine` runs cases, `result_folder` reads their rows as one table, and `grid` makes the cases of a file. A case
(`cases`) refers to its code by strings, so that it can be sent to another process; this package imports no environment.
"""
