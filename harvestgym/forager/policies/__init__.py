"""Reference policies of the forager."""
