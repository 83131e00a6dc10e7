"""Code that depends on internals of JAX and XLA.

`HARVESTGYM_XLA=off` switches off the optional modules. If one of them fails, plain JAX replaces it, with one logged
warning (`fallback`): `fusion` (how XLA fuses operations on a CPU) and `setup` (the two settings of the process: the
folder of compiled programs, and the thread that runs programs on a CPU).

The others have no replacement and are always on: `compilation` (a line on stderr if compiling takes long, one program
for several devices), `processes` (an error in a forked process that would hang, and a limit on compiled programs) and
`tracing` (whether JAX traces a value).

Importing the package runs nothing here and changes no setting, except that `processes` registers a callback for
forks.
"""
