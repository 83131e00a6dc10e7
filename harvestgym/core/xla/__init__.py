"""Code that depends on how JAX and XLA work inside.

`HARVESTGYM_XLA=off` switches the optional modules off, and one that fails is replaced by plain JAX with one logged
warning (`fallback`): `fusion` (how XLA fuses operations on a CPU) and `setup` (the two settings of the process: the
folder of compiled programs, and the thread that runs programs on a CPU).

The others have nothing to replace them and are always on: `compilation` (programs compile with one line on stderr if
that takes long), `memory` (a process does not hold too many programs), `processes` (a forked process is refused where
it would hang), `sharding` (one program for several devices) and `tracing` (whether JAX traces a value).

Nothing here runs, and no setting is changed, when the package is imported, except that `processes` asks to be called
after a fork.
"""
