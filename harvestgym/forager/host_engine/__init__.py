"""The forager on the host, compiled by numba: fast single episodes and threaded batches."""
