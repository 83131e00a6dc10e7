"""The kinds of the farm, one folder each."""
