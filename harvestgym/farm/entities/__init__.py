"""The kinds of entity on a farm, one folder each."""
