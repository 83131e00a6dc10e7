"""Code that depends on JAX or XLA internals, with a fallback and an off switch."""
