"""The page on which a person plays, and the server that shows it."""
