"""The classes, files and tuples of the Farm-Gym paper: `Farm`, `Field`, `BasicRule`, `BasicScore`."""
