"""Environments saved to files in the middle of an episode: the file, and how the values in it are encoded."""
