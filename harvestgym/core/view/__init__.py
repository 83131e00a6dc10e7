"""The neutral form of what a family shows: scenes, timelines and tables, without pixels."""
