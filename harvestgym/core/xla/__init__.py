"""Code that depends on how JAX and XLA work inside.

`HARVESTGYM_XLA=off` switches the optional modules off, and one that fails is replaced by plain JAX with one logged
warning (`fallback`): `fusion` (how XLA fuses operations on a CPU), `compilation` (how programs are compiled and where
they are cached), `dispatch` (the thread that runs them) and `generators` (random bits that are not JAX's own). `setup`
applies those that change settings of JAX.

The others have nothing to replace them and are always on: `library_fusions` (large reductions are exact), `memory` (a
process does not hold too many programs), `processes` (JAX is not started where it would hang), `sharding` (one program
for several devices) and `tracing` (whether JAX traces a value).
"""
