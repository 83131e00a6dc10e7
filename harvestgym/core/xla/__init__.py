"""Code that depends on how JAX and XLA work inside. What depends on their internals is optional.

`HARVESTGYM_XLA=off` switches all pieces off, and a piece that fails is replaced by plain `jax.jit` with one logged
warning (`fallback`). The pieces are `fusion` (how XLA fuses operations on a CPU) and `compilation` (how programs are
compiled and where they are cached). `processes` refuses to start JAX where it would hang.
"""
