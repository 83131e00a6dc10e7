"""Code that depends on JAX and XLA internals.

`HARVESTGYM_XLA=off` switches off the optional modules: `fusion` (fewer and larger kernels on a CPU) and `setup` (two
settings of the process: the folder for compiled programs, and the thread that runs programs on a CPU). If one of them
fails, plain JAX replaces it, with one logged warning (`setup.report`).

The other modules have no replacement and are always on: `compilation` (a line on stderr if compiling is slow, one
program for several devices), `process_checks` (an error in a forked process that would hang, and a limit on compiled
programs) and `tracing` (whether JAX is tracing a value).

Importing the package runs no code here and changes no setting, except that `process_checks` registers a fork callback.
"""
