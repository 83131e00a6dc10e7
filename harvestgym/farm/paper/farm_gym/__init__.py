"""The files of Farm-Gym, the authors' own implementation of the paper: read as they are, and converted to one file."""
