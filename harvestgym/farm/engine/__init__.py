"""The dynamics of a farm: actions, observations, one day, scores and rules as arrays."""
