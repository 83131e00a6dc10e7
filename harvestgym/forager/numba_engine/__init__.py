"""The forager on the host, compiled by numba: fast single lives and threaded batches."""
