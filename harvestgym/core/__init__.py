"""What every family shares: the contract, pytrees, responses, randomness, spaces, wrappers, rollouts."""
