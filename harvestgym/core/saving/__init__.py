"""Save environments to files in the middle of an episode: the file format and the encoding of values."""
