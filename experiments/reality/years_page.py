"""The page of the docs on part B, from its results."""
