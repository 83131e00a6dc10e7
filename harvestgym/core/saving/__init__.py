"""Save environments to files in mid-episode: the file format and the encoding of values."""
