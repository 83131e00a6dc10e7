"""The files of Farm-Gym, the implementation by the paper's authors: read unchanged, and converted to one file."""
