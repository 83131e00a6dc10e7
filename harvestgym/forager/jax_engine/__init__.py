"""The forager under JAX: batched, jittable, vmappable."""
