"""Shared parts of all families: the contract, pytrees, randomness, spaces, wrappers, rollouts."""
