"""The parts that all families share: the contract, pytrees, responses, randomness, spaces, wrappers, rollouts."""
