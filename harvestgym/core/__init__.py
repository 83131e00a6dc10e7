"""Code shared by all families: the environment contract, pytrees, randomness, spaces, wrappers and rollouts."""
