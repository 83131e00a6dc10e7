"""Code that depends on how JAX and XLA work inside. What depends on their internals is optional.

`HARVESTGYM_XLA=off` switches all pieces off, and a piece that fails is replaced by plain `jax.jit` with one logged
warning (`fallback`). The pieces are `fusion` (how XLA fuses operations on a CPU), `compilation` (how programs are
compiled and where they are cached), `dispatch` (the thread that runs them) and `library_fusions` (exact reductions).
`setup` applies those that change settings of JAX. `processes` refuses to start JAX where it would hang.
"""
