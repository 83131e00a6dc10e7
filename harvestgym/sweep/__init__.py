"""Sweeps: many cases as data, run in one process or on a Ray cluster, one Parquet file per case, resumable.

`engine` runs cases, `result_folder` reads their rows as one table, `grid` makes the cases of a file. A case (`cases`)
names its code by strings, so that it can be sent to another process; this package imports no environment.
"""
