"""The dynamics of a farm on arrays: actions, observations, days, scores and rules."""
